/* epoch.c -- see epoch.h. */
#include "agent/context/epoch.h"

#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "model/catalog/learnt.h"
#include "model/provider/target.h"

static void epoch_begin(chela_run *run, const char *reason) {
    struct ch_epoch *e = &run->session->epoch;
    e->n++;
    e->news = e->n > 1 ? reason : NULL; /* the first one is no change */
    ch_run_journal_epoch(run, reason);
}

/* The model binds reasoning to system prompt, tools and earlier messages. */
static bool binds(const chela_run *run) {
    return run->target && run->target->facts.flags & CH_M_BINDS;
}

/* Messages from the start whose reasoning the next request leaves out. */
static size_t left_behind(const chela_run *run) {
    const struct ch_epoch *e = &run->session->epoch;
    return binds(run) ? CH_MAX(e->unbound, e->stale) : e->unbound;
}

static uint64_t hash_of_tools(const struct ch_model_request *req) {
    uint64_t h = ch_hash(0, req->server_tools);
    for (size_t i = 0; i < req->ntools; i++) {
        h = ch_hash(h, req->tools[i].name);
        h = ch_hash(h, req->tools[i].description);
        h = ch_hash(h, req->tools[i].schema) + req->tools[i].deferred;
        h = ch_hash(h, req->tools[i].callers);
        if (req->tools[i].strict)
            h = ch_hash(h, CH_SV("strict"));
    }
    return h;
}

static struct ch_epoch_prefix prefix_of(const struct ch_model_request *req) {
    const struct ch_endpoint *ep = req->endpoint;
    return (struct ch_epoch_prefix){
        .service = ch_hash(ch_hash(0, ch_sv_str(ep->provider)), ch_sv_str(ep->codec->name)),
        .system = ch_hash(0, req->system),
        .tools = hash_of_tools(req),
    };
}

/* The first difference, or NULL. */
static const char *difference(const struct ch_epoch_prefix *a, const struct ch_epoch_prefix *b) {
    return !a->service               ? "unknown"
           : a->service != b->service ? "model"
           : a->system != b->system ? "system"
           : a->tools != b->tools   ? "tools"
                                    : NULL;
}

/* A model that binds reasoning is asked. Meanwhile another model may have been asked with another
 * prompt, so what counts is the last request to one that binds. True: that began differently. */
static bool epoch_rebind(chela_run *run, const struct ch_epoch_prefix *now) {
    struct ch_epoch *e = &run->session->epoch;
    if (!binds(run) || (e->bound.system == now->system && e->bound.tools == now->tools))
        return false;
    if (e->bound.service)
        e->stale = run->session->transcript.n;
    e->bound = *now;
    return true;
}

void ch_epoch_restored(chela_session *s) {
    const struct ch_transcript *t = &s->transcript;
    size_t replies = 0;
    for (size_t i = 0; i < t->n; i++)
        replies += t->msgs[i]->kind == CH_MSG_ASSISTANT;
    if (s->epoch.n || !replies)
        return;
    s->epoch.n = 1;
    s->epoch.stale = t->n;
}

void ch_epoch_settle(chela_run *run, struct ch_model_request *req) {
    struct ch_epoch *e = &run->session->epoch;
    e->unbound = CH_MIN(e->unbound, req->nmessages);
    e->stale = CH_MIN(e->stale, req->nmessages);
    if (e->revision != req->revision || e->target != run->target) {
        struct ch_epoch_prefix now = prefix_of(req);
        const char *reason = e->n ? difference(&e->prefix, &now) : "start";
        bool rebound = epoch_rebind(run, &now);
        e->prefix = now;
        e->revision = req->revision;
        e->target = run->target;
        if (reason || rebound)
            epoch_begin(run, reason ? reason : "model");
    }
    req->unbound = left_behind(run);
}

void ch_epoch_rewritten(chela_run *run, const char *reason) {
    struct ch_epoch *e = &run->session->epoch;
    size_t n = run->session->transcript.n;
    e->unbound = e->unbound ? n : 0; /* counted the messages of another history */
    e->stale = n;
    epoch_begin(run, reason);
}

void ch_epoch_condensed(chela_run *run, size_t inserted) {
    struct ch_epoch *e = &run->session->epoch;
    e->unbound += e->unbound > inserted;
    e->stale += e->stale > inserted;
    epoch_begin(run, "compaction");
}

bool ch_epoch_refused(chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t held = 0;
    for (size_t i = left_behind(run); i < t->n; i++)
        for (uint32_t k = 0; k < t->msgs[i]->nblocks; k++)
            held += t->msgs[i]->blocks[k].type == CH_BLOCK_REASONING ||
                    (t->msgs[i]->kind == CH_MSG_ASSISTANT && t->msgs[i]->blocks[k].extra.n);
    if (!held)
        return false;
    run->session->epoch.unbound = t->n;
    epoch_begin(run, "refused_block");
    return true;
}

bool ch_epoch_tell(chela_run *run) {
    struct ch_epoch *e = &run->session->epoch;
    const char *reason = CH_TAKE(e->news);
    struct chela_event ev = {.type = CHELA_EV_EPOCH, .epoch = {e->n, reason}};
    return !reason || ch_emit(run, &ev);
}

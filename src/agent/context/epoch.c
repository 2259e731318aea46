/* epoch.c -- see epoch.h. */
#include "agent/context/epoch.h"

#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "model/catalog/learnt.h"
#include "model/provider/target.h"

/* Begins an epoch. unbound: messages from the start whose reasoning is not sent again. */
static void epoch_begin(chela_run *run, const char *reason, size_t unbound) {
    struct ch_epoch *e = &run->session->epoch;
    e->n++;
    e->unbound = CH_MAX(e->unbound, unbound);
    e->news = e->n > 1 ? reason : NULL; /* the first one is no change */
    ch_run_journal_epoch(run, reason);
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
    return a->service != b->service  ? "model"
           : a->system != b->system ? "system"
           : a->tools != b->tools   ? "tools"
                                    : NULL;
}

/* Messages whose reasoning a change of the prefix leaves behind. */
static size_t bound_messages(const chela_run *run) {
    const struct ch_target *t = run->target;
    bool binds = t && t->facts.flags & CH_M_BINDS;
    return binds ? run->session->transcript.n : 0;
}

void ch_epoch_settle(chela_run *run, struct ch_model_request *req) {
    struct ch_epoch *e = &run->session->epoch;
    e->unbound = CH_MIN(e->unbound, req->nmessages);
    if (e->revision != req->revision || e->target != run->target) {
        struct ch_epoch_prefix now = prefix_of(req);
        const char *reason = e->n ? difference(&e->prefix, &now) : "start";
        bool same_service = e->prefix.service == now.service;
        e->prefix = now;
        e->revision = req->revision;
        e->target = run->target;
        if (reason)
            epoch_begin(run, reason, e->n && same_service ? bound_messages(run) : 0);
    }
    req->unbound = e->unbound;
}

void ch_epoch_rewritten(chela_run *run, const char *reason) {
    run->session->epoch.unbound = 0; /* counts the messages of another history */
    epoch_begin(run, reason, bound_messages(run));
}

bool ch_epoch_refused(chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    size_t held = 0;
    for (size_t i = run->session->epoch.unbound; i < t->n; i++)
        for (uint32_t k = 0; k < t->msgs[i]->nblocks; k++)
            held += t->msgs[i]->blocks[k].type == CH_BLOCK_REASONING ||
                    (t->msgs[i]->kind == CH_MSG_ASSISTANT && t->msgs[i]->blocks[k].extra.n);
    if (!held)
        return false;
    epoch_begin(run, "refused_block", t->n);
    return true;
}

bool ch_epoch_tell(chela_run *run) {
    struct ch_epoch *e = &run->session->epoch;
    const char *reason = CH_TAKE(e->news);
    struct chela_event ev = {.type = CHELA_EV_EPOCH, .epoch = {e->n, reason}};
    return !reason || ch_emit(run, &ev);
}

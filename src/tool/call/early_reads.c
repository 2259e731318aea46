/* early_reads.c -- see early_reads.h.
 *
 * Until the batch takes a call over, the call's owner is this file: it keeps the last line of
 * progress, and a call that has ended keeps its outcome. */
#include "tool/call/early_reads.h"

#include "base/limits.h"
#include "base/mem.h"
#include "tool/call/call.h"

struct early_read {
    struct ch_block block; /* texts in the arena */
    chela_call *call;      /* owned; NULL: taken */
    struct ch_buf progress;
};

struct ch_early_reads {
    struct ch_call_env env;
    const struct ch_batch_ops *ops;
    void *user;
    struct ch_arena arena;
    size_t n, max;
    struct early_read *reads[]; /* in the arena */
};

#define TYPICAL_ROOM 448 /* of one call and its texts, mostly */

static void early_on_event(chela_call *call) {
    (void)call; /* the batch sees the state of the call */
}

static void early_on_progress(chela_call *call, struct ch_sv text) {
    const struct ch_early_reads *e = call->owner;

    for (size_t i = 0; i < e->n; i++)
        if (e->reads[i]->call == call) {
            ch_buf_clear(&e->reads[i]->progress);
            ch_buf_add_sv(&e->reads[i]->progress, text);
        }
}

static void early_on_used(chela_call *call, int64_t tokens) {
    const struct ch_early_reads *e = call->owner;

    if (e->ops->used)
        e->ops->used(tokens, e->user);
}

static bool early_on_said(const chela_call *call, struct ch_sv url) {
    const struct ch_early_reads *e = call->owner;

    return e->ops->said(url, e->user);
}

struct ch_early_reads *ch_early_reads_new(const struct ch_batch_opts *opts) {
    size_t max = CH_MIN(opts->parallel ? opts->parallel : CH_DEFAULT_PARALLEL, opts->max_calls);
    size_t size = sizeof(struct ch_early_reads) + max * sizeof(struct early_read *);
    struct ch_early_reads *e = ch_malloc(size + TYPICAL_ROOM);
    char *room = (char *)e + size;

    *e = (struct ch_early_reads){.arena = {.at = room, .end = room + TYPICAL_ROOM}, .max = max};
    e->env = ch_call_env_of(opts);
    e->env.ended = e->env.rested = early_on_event;
    e->env.progress = early_on_progress;
    e->env.used = early_on_used;
    e->env.said = opts->ops->said ? early_on_said : NULL;
    e->env.puts_questions = opts->ops->question != NULL;
    e->ops = opts->ops;
    e->user = opts->user;
    return e;
}

static const struct ch_tool *early_tool(const struct ch_early_reads *e, const char *name) {
    const struct ch_tool *own = e->env.own ? ch_registry_find(e->env.own, ch_sv_str(name)) : NULL;

    return own ? own : ch_registry_find(e->env.registry, ch_sv_str(name));
}

/* Tools that people, the host or another run answer, and calls that wait for hours, begin with the
 * complete reply. */
static bool may_begin(const struct ch_tool *t) {
    static const unsigned not_early = CHELA_TOOL_SEQUENTIAL | CHELA_TOOL_CLIENT | CHELA_TOOL_HUMAN |
                                      CHELA_TOOL_RISKY | CHELA_TOOL_CONFIRM | CHELA_TOOL_ACTION;

    return t && t->ops && t->effect == CHELA_EFFECT_READ && !(t->flags & not_early) &&
           t->retry.backoff_ms == 0 && !ch_tool_is_run(t);
}

void ch_early_reads_offer(struct ch_early_reads *e, size_t index, const struct ch_block *call) {
    if (index != e->n || e->n == e->max)
        return;
    struct early_read *r = e->reads[e->n] = CH_ARENA_NEW(&e->arena, struct early_read);
    *r = (struct early_read){.block = {.type = CH_BLOCK_TOOL_CALL,
                                       .runner = call->runner,
                                       .id = ch_arena_sv(&e->arena, call->id),
                                       .name = ch_arena_sv(&e->arena, call->name),
                                       .text = ch_arena_sv(&e->arena, call->text)}};
    r->call = ch_call_new(&e->env, e, &r->block, e->n);
    if (call->id.n && may_begin(early_tool(e, r->call->name)))
        ch_call_prepare(r->call);
    if (r->call->state != CH_CALL_READY) {
        ch_call_abandon(CH_TAKE(r->call));
        e->max = e->n;
        return;
    }
    e->n++;
    ch_call_run(r->call);
}

chela_call *ch_early_reads_take(struct ch_early_reads *e, size_t index,
                                const struct ch_block *call, const struct ch_call_env *env,
                                void *owner) {
    struct early_read *r = e && index < e->n ? e->reads[index] : NULL;

    if (!r || !ch_sv_eq(r->block.id, call->id) || !ch_sv_eq(r->block.name, call->name) ||
        !ch_sv_eq(r->block.text, call->text) || r->block.runner != call->runner || call->flags ||
        r->call->wait.due)
        return NULL;
    r->call->env = env;
    r->call->owner = owner;
    return CH_TAKE(r->call);
}

struct ch_sv ch_early_reads_progress(const struct ch_early_reads *e, size_t index) {
    return ch_buf_sv(&e->reads[index]->progress);
}

void ch_early_reads_close(struct ch_early_reads *e) {
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++) {
        if (e->reads[i]->call)
            ch_call_abandon(e->reads[i]->call);
        ch_buf_release(&e->reads[i]->progress);
    }
    ch_arena_release(&e->arena);
    ch_free(e);
}

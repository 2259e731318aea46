/* calls.c -- lists the model calls of all sessions, each once (chela/trace.h).
 *
 * A copy of a session has the records of the original: the same run, position and time. */
#include "agent/journal/journal.h"
#include "base/entry.h"
#include "base/mem.h"
#include "base/mix.h"
#include "chela/trace.h"
#include "json/json.h"
#include "store/store.h"
#include "trace/seen.h"

struct call_reading {
    const char *session, *agent; /* of the record */
    struct ch_arena arena;       /* the parsed record; cleared at the next one */
    struct ch_seen seen;
    int64_t since;
    uint64_t before; /* hash of the previous record's session, and its time */
    int64_t last;
    chela_model_call_fn *fn;
    void *user;
    int stop;
};

/* The low bits keep the records of a run side by side in the set: a search in a large set costs
 * a cache miss. */
static uint64_t identity(const struct chela_store_record *r, const struct ch_json *v) {
    uint64_t run = ch_mix_text(0, ch_json_get_str(v, "run"));
    uint64_t whole = ch_mix(ch_mix(run, (uint64_t)r->ts), r->seq << 8 | r->type);
    return whole << 24 | ((run + r->seq) & 0xffffff);
}

static void pass_call(struct call_reading *rd, struct chela_model_call call,
                      const struct ch_json *used) {
    call.session = rd->session;
    call.agent = rd->agent;
    call.input = ch_json_int(ch_json_get(used, "input"), 0);
    call.output = ch_json_int(ch_json_get(used, "output"), 0);
    call.cache_read = ch_json_int(ch_json_get(used, "cache_read"), 0);
    if (!rd->stop)
        rd->stop = rd->fn(&call, rd->user);
}

/* Steps of a plan are messages that no model wrote: they have no model. */
static void pass_message(struct call_reading *rd, const struct chela_store_record *r,
                         const struct ch_json *v) {
    const struct ch_json *m = ch_json_get(v, "message"), *e = ch_json_get(v, "embedding");
    const struct ch_json *used = ch_json_get(v, "usage");
    struct ch_sv model = ch_json_get_str(m ? m : v, "model"), embeds = ch_json_get_str(e, "model");
    int64_t ms = rd->last ? CH_MAX(r->ts - rd->last, 0) : 0;
    if (model.n && used)
        pass_call(rd,
                  (struct chela_model_call){.model = ch_arena_str(&rd->arena, model),
                                            .ts = r->ts,
                                            .ms = ms,
                                            .calls = 1,
                                            .cost = ch_json_double(ch_json_get(v, "cost"), -1)},
                  used);
    if (embeds.n)
        pass_call(rd,
                  (struct chela_model_call){
                      .model = ch_arena_str(&rd->arena, embeds),
                      .ts = r->ts,
                      .calls = (unsigned)ch_json_int(ch_json_get(e, "calls"), 1),
                      .cost = -1},
                  e);
}

/* The cost of a run is in the record of its end; a paused run is recorded again. */
static void pass_end(struct call_reading *rd, const struct chela_store_record *r,
                     const struct ch_json *v) {
    const struct ch_json *cost = ch_json_get(v, "cost");
    struct ch_sv status = ch_json_get_str(v, "status");
    if (cost && !ch_sv_is(status, "running") && !ch_sv_is(status, "paused"))
        pass_call(rd,
                  (struct chela_model_call){.ts = r->ts, .cost = ch_json_double(cost, 0)}, NULL);
}

static bool has_text(const struct chela_store_record *r, const char *text) {
    return memmem(r->data, r->n, text, strlen(text)) != NULL;
}

/* REQUEST: when the call began. Each run begins with a STATE. */
static const uint64_t call_types = (uint64_t)1 << CH_REC_MESSAGE | (uint64_t)1 << CH_REC_STATE |
                                   (uint64_t)1 << CH_REC_ROLE | (uint64_t)1 << CH_REC_REQUEST;

/* True: the record may be of a model call or of the end of a run. Most records are neither, and
 * are not parsed. */
static bool may_cost(const struct chela_store_record *r) {
    if (r->type == CH_REC_STATE)
        return has_text(r, "\"cost\"");
    bool message = r->type == CH_REC_MESSAGE || r->type == CH_REC_ROLE;
    return message && (has_text(r, "\"usage\"") || has_text(r, "\"embedding\""));
}

static int calls_on_record(const char *key, const char *agent,
                           const struct chela_store_record *r, void *user) {
    struct call_reading *rd = user;
    const struct ch_json *v;
    bool call = r->type != CH_REC_STATE;
    rd->session = key;
    rd->agent = agent;
    uint64_t of = ch_mix_text(1, ch_sv_str(key));
    if (of != rd->before)
        rd->last = 0;
    ch_arena_clear(&rd->arena);
    if (r->ts >= rd->since && may_cost(r) &&
        ch_json_parse(&rd->arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL) == 0 &&
        ch_seen_add(&rd->seen, identity(r, v))) {
        if (call)
            pass_message(rd, r, v);
        else
            pass_end(rd, r, v);
    }
    rd->last = r->ts;
    rd->before = of;
    return rd->stop;
}

int chela_trace_calls(chela_store *store, int64_t since, size_t sessions, chela_model_call_fn *fn,
                      void *user, struct chela_error *err) {
    CH_NEEDS(store, err);
    struct call_reading rd = {.since = since, .fn = fn, .user = user};
    struct ch_store_scan scan = {.since = since, .types = call_types, .limit = sessions};
    int rc = ch_store_scan(store, &scan, calls_on_record, &rd, err);
    ch_arena_release(&rd.arena);
    ch_seen_release(&rd.seen);
    return rc;
}

/* calls.c -- lists the model calls of all sessions, each once (chela/trace.h).
 *
 * A copy of a session has the records of the original: the same run, position and time. */
#include "agent/journal/journal.h"
#include "base/mem.h"
#include "chela/trace.h"
#include "json/json.h"
#include "model/message/ids.h"

struct call_session {
    char *key, *agent; /* owned */
};

/* Hashes of records; 0: a free place. */
struct call_set {
    uint64_t *slots; /* owned */
    size_t n, cap;   /* cap: a power of two */
};

struct call_reading {
    struct call_session *sessions; /* owned */
    size_t n, cap;
    const struct call_session *at;
    struct call_set seen;
    int64_t since, last;
    chela_model_call_fn *fn;
    void *user;
    int stop;
};

static bool set_put(struct call_set *s, uint64_t hash) {
    size_t i = (size_t)hash & (s->cap - 1);
    while (s->slots[i] && s->slots[i] != hash)
        i = (i + 1) & (s->cap - 1);
    bool added = !s->slots[i];
    s->slots[i] = hash;
    s->n += added;
    return added;
}

/* True: the set did not have the hash. */
static bool set_add(struct call_set *s, uint64_t hash) {
    struct call_set old = *s;
    if (2 * s->n >= s->cap) {
        s->cap = s->cap ? 2 * s->cap : 256;
        s->slots = ch_alloc(s->cap * sizeof(*s->slots));
        s->n = 0;
        for (size_t i = 0; i < old.cap; i++)
            if (old.slots[i])
                set_put(s, old.slots[i]);
        ch_free(old.slots);
    }
    return set_put(s, hash ? hash : 1);
}

static uint64_t identity(const struct chela_store_record *r, const struct ch_json *v) {
    uint64_t place[] = {r->seq, (uint64_t)r->ts, r->type};
    uint64_t h = ch_hash(1, ch_json_get_str(v, "run"));
    return ch_hash(h, ch_sv((const char *)place, sizeof(place)));
}

static void pass_call(struct call_reading *rd, struct chela_model_call call,
                      const struct ch_json *used) {
    call.session = rd->at->key;
    call.agent = rd->at->agent;
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
    CH_ARENA_AUTO arena = {0};
    struct ch_sv model = ch_json_get_str(m ? m : v, "model"), embeds = ch_json_get_str(e, "model");
    int64_t ms = rd->last ? CH_MAX(r->ts - rd->last, 0) : 0;
    if (model.n && ch_json_get(v, "usage"))
        pass_call(rd,
                  (struct chela_model_call){.model = ch_arena_str(&arena, model),
                                            .ts = r->ts,
                                            .ms = ms,
                                            .calls = 1,
                                            .cost = ch_json_double(ch_json_get(v, "cost"), -1)},
                  ch_json_get(v, "usage"));
    if (embeds.n)
        pass_call(rd,
                  (struct chela_model_call){
                      .model = ch_arena_str(&arena, embeds),
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

/* True: the record may be of a model call or of the end of a run. Most records are neither, and
 * are not parsed. */
static bool may_cost(const struct chela_store_record *r) {
    if (r->type == CH_REC_STATE)
        return has_text(r, "\"cost\"");
    bool message = r->type == CH_REC_MESSAGE || r->type == CH_REC_ROLE;
    return message && (has_text(r, "\"usage\"") || has_text(r, "\"embedding\""));
}

static int calls_on_record(const struct chela_store_record *r, void *user) {
    struct call_reading *rd = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    bool call = r->type != CH_REC_STATE;
    if (r->ts >= rd->since && may_cost(r) &&
        ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL) == 0 &&
        set_add(&rd->seen, identity(r, v))) {
        if (call)
            pass_message(rd, r, v);
        else
            pass_end(rd, r, v);
    }
    if (r->type != CH_REC_PART)
        rd->last = r->ts;
    return rd->stop;
}

static int calls_on_session(const struct chela_store_session *s, void *user) {
    struct call_reading *rd = user;
    if (s->updated < rd->since)
        return 0;
    if (rd->n == rd->cap) {
        rd->cap = rd->cap ? 2 * rd->cap : 64;
        rd->sessions = ch_realloc(rd->sessions, rd->cap * sizeof(*rd->sessions));
    }
    rd->sessions[rd->n++] = (struct call_session){ch_strdup(s->key), ch_strdup(s->agent)};
    return 0;
}

int chela_trace_calls(chela_store *store, int64_t since, size_t sessions, chela_model_call_fn *fn,
                      void *user, struct chela_error *err) {
    struct call_reading rd = {.since = since, .fn = fn, .user = user};
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = sessions);
    int rc = chela_store_list(store, &filter, calls_on_session, &rd, err);
    for (size_t i = 0; i < rd.n; i++) {
        rd.at = &rd.sessions[i];
        rd.last = 0;
        if (rc == 0 && !rd.stop)
            rc = chela_store_records(store, rd.at->key, 1, calls_on_record, &rd, err);
        if (rc == CHELA_ENOENT)
            rc = 0; /* deleted meanwhile */
        ch_free(rd.sessions[i].key);
        ch_free(rd.sessions[i].agent);
    }
    ch_free(rd.sessions);
    ch_free(rd.seen.slots);
    return rc;
}

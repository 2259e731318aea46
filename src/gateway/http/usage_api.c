/* usage_api.c -- GET /api/usage?days=N: the model calls of these days, one by
 * one, with what each used and how long it took.
 *
 * Read from the journals, of the newest sessions and up to a number of calls.
 * A call took the time since the record before it, for the journal holds what
 * came of a call and not when it was sent. What runs cost is told in sum, as
 * far as prices are known. */
#include "base/error.h"
#include "base/limits.h"
#include "gateway/request/lookup.h"
#include "gateway/http/routes.h"

struct session {
    char *key, *agent; /* owned */
};

struct usage {
    struct ch_lookup *lookup;
    struct session *sessions; /* owned */
    size_t nsessions;
    const struct session *at; /* being read */
    int64_t since, last;      /* ms: of interest; of the record before */
    size_t ncalls;
    double cost;
    bool priced; /* some run's cost is known */
};

static int note_session(const struct chela_store_session *s, void *user) {
    struct usage *u = user;
    if (s->updated < u->since)
        return 0;
    u->sessions = ch_realloc(u->sessions, (u->nsessions + 1) * sizeof(*u->sessions));
    u->sessions[u->nsessions++] =
        (struct session){.key = ch_strdup(s->key), .agent = ch_strdup(s->agent)};
    return 0;
}

/* used: what it used. */
static void add_call(struct usage *u, int64_t ts, int64_t took_ms, struct ch_sv model,
                     const struct ch_json *used) {
    struct ch_buf *out = &u->lookup->out;
    struct ch_jw w = ch_jw(out);
    if (!used || !model.n || u->ncalls == CH_LIMIT_USAGE_CALLS)
        return; /* the steps of a plan are calls that no model made */
    if (u->ncalls++)
        ch_buf_addc(out, ',');
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "ts", ts);
    ch_jw_kint(&w, "ms", took_ms);
    ch_jw_kcstr(&w, "session", u->at->key);
    ch_jw_kcstr(&w, "agent", u->at->agent);
    ch_jw_kstr(&w, "model", model);
    ch_jw_kint(&w, "input", ch_json_int(ch_json_get(used, "input"), 0));
    ch_jw_kint(&w, "output", ch_json_int(ch_json_get(used, "output"), 0));
    ch_jw_kint(&w, "cache_read", ch_json_int(ch_json_get(used, "cache_read"), 0));
    ch_jw_end(&w, '}');
}

static void add_calls(struct usage *u, const struct chela_store_record *r,
                      const struct ch_json *data) {
    const struct ch_json *message = ch_json_get(data, "message");
    const struct ch_json *embedding = ch_json_get(data, "embedding");
    add_call(u, r->ts, u->last ? CH_MAX(r->ts - u->last, 0) : 0,
             ch_json_get_str(message ? message : data, "model"), ch_json_get(data, "usage"));
    add_call(u, r->ts, 0, ch_json_get_str(embedding, "model"), embedding);
}

/* A paused run states its cost again when it ends. */
static void add_cost(struct usage *u, const struct ch_json *data) {
    const struct ch_json *cost = ch_json_get(data, "cost");
    struct ch_sv status = ch_json_get_str(data, "status");
    if (!cost || ch_sv_is(status, "running") || ch_sv_is(status, "paused"))
        return;
    u->priced = true;
    u->cost += ch_json_double(cost, 0);
}

static int read_record(const struct chela_store_record *r, void *user) {
    CH_ARENA_AUTO arena = {0};
    struct usage *u = user;
    const char *type = chela_store_record_name(r->type);
    const struct ch_json *data;
    bool call = strcmp(type, "message") == 0 || strcmp(type, "role") == 0;
    bool state = strcmp(type, "state") == 0;
    if ((call || state) && r->ts >= u->since &&
        ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &data, NULL, NULL) == 0) {
        if (call)
            add_calls(u, r, data);
        else
            add_cost(u, data);
    }
    u->last = r->ts;
    return 0;
}

static int read_sessions(struct usage *u, struct chela_error *err) {
    int rc = 0;
    for (size_t i = 0; i < u->nsessions; i++) {
        u->at = &u->sessions[i];
        u->last = 0;
        if (rc == 0 && u->ncalls < CH_LIMIT_USAGE_CALLS)
            rc = chela_store_records(u->lookup->store, u->at->key, 1, read_record, u, err);
        if (rc == CHELA_ENOENT)
            rc = 0; /* deleted meanwhile */
        ch_free(u->sessions[i].key);
        ch_free(u->sessions[i].agent);
    }
    ch_free(u->sessions);
    return rc;
}

static int ask_usage(struct ch_lookup *l, struct chela_error *err) {
    struct usage u = {.lookup = l, .since = l->number};
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = CH_LIMIT_LISTED);
    ch_buf_add_str(&l->out, "{\"calls\":[");
    int rc = chela_store_list(l->store, &filter, note_session, &u, err);
    int read = read_sessions(&u, rc < 0 ? NULL : err);
    if (u.priced)
        ch_buf_addf(&l->out, "],\"cost_usd\":%.6f}", u.cost);
    else
        ch_buf_add_str(&l->out, "],\"cost_usd\":null}");
    return rc < 0 ? rc : read;
}

static void told_usage(struct ch_visit *v, struct ch_lookup *l) {
    ch_visit_json(v, 200, &l->out);
}

void ch_usage(struct ch_visit *v) {
    int64_t days = ch_visit_number(v, "days", 30, 3650);
    int64_t now = ch_now_ms(ch_loop_clock(v->gw->rt->loop));
    ch_lookup(v, ch_sv(NULL, 0), now - days * 24 * 3600 * 1000, ask_usage, told_usage);
}

/* usage_api.c -- GET /api/usage?days=N: the model calls of the last N days, each with its
 * tokens and duration.
 *
 * The calls are read from the journals of the newest sessions, up to a limit. The duration
 * of a call is the time since the preceding record, because the journal does not hold when
 * a call began. The cost of the runs is summed up, as far as prices are known. */
#include "gateway/http/usage_api.h"

#include "base/error.h"
#include "base/limits.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"

struct usage_session {
    char *key, *agent; /* owned */
};

struct usage_report {
    struct ch_store_lookup *lookup;
    struct usage_session *sessions; /* owned */
    size_t nsessions;
    const struct usage_session *at; /* being read */
    int64_t since, last;            /* ms: beginning of the period; time of the preceding record */
    size_t ncalls;
    double cost;
    bool priced; /* the cost of at least one run is known */
};

static int usage_api_note_session(const struct chela_store_session *s, void *user) {
    struct usage_report *u = user;
    if (s->updated < u->since)
        return 0;
    u->sessions = ch_realloc(u->sessions, (u->nsessions + 1) * sizeof(*u->sessions));
    u->sessions[u->nsessions++] =
        (struct usage_session){.key = ch_strdup(s->key), .agent = ch_strdup(s->agent)};
    return 0;
}

/* used: the token counts. */
static void usage_api_add_call(struct usage_report *u, int64_t ts, int64_t took_ms,
                               struct ch_sv model, const struct ch_json *used) {
    struct ch_buf *out = &u->lookup->out;
    struct ch_jw w = ch_jw(out);
    if (!used || !model.n || u->ncalls == CH_LIMIT_USAGE_CALLS)
        return; /* the steps of a plan are not model calls */
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

static void usage_api_add_calls(struct usage_report *u, const struct chela_store_record *r,
                                const struct ch_json *data) {
    const struct ch_json *message = ch_json_get(data, "message");
    const struct ch_json *embedding = ch_json_get(data, "embedding");
    usage_api_add_call(u, r->ts, u->last ? CH_MAX(r->ts - u->last, 0) : 0,
                       ch_json_get_str(message ? message : data, "model"),
                       ch_json_get(data, "usage"));
    usage_api_add_call(u, r->ts, 0, ch_json_get_str(embedding, "model"), embedding);
}

/* Ignores paused runs, whose cost is recorded again at the end. */
static void add_cost(struct usage_report *u, const struct ch_json *data) {
    const struct ch_json *cost = ch_json_get(data, "cost");
    struct ch_sv status = ch_json_get_str(data, "status");
    if (!cost || ch_sv_is(status, "running") || ch_sv_is(status, "paused"))
        return;
    u->priced = true;
    u->cost += ch_json_double(cost, 0);
}

static int usage_api_read_record(const struct chela_store_record *r, void *user) {
    CH_ARENA_AUTO arena = {0};
    struct usage_report *u = user;
    const char *type = chela_store_record_name(r->type);
    const struct ch_json *data;
    bool call = strcmp(type, "message") == 0 || strcmp(type, "role") == 0;
    bool state = strcmp(type, "state") == 0;
    if ((call || state) && r->ts >= u->since &&
        ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &data, NULL, NULL) == 0) {
        if (call)
            usage_api_add_calls(u, r, data);
        else
            add_cost(u, data);
    }
    u->last = r->ts;
    return 0;
}

static int read_sessions(struct usage_report *u, struct chela_error *err) {
    int rc = 0;
    for (size_t i = 0; i < u->nsessions; i++) {
        u->at = &u->sessions[i];
        u->last = 0;
        if (rc == 0 && u->ncalls < CH_LIMIT_USAGE_CALLS)
            rc =
                chela_store_records(u->lookup->store, u->at->key, 1, usage_api_read_record, u, err);
        if (rc == CHELA_ENOENT)
            rc = 0; /* deleted meanwhile */
        ch_free(u->sessions[i].key);
        ch_free(u->sessions[i].agent);
    }
    ch_free(u->sessions);
    return rc;
}

static int query_usage(struct ch_store_lookup *l, struct chela_error *err) {
    struct usage_report u = {.lookup = l, .since = l->number};
    struct chela_store_filter filter = {.limit = CH_LIMIT_LISTED};
    ch_buf_add_str(&l->out, "{\"calls\":[");
    int rc = chela_store_list(l->store, &filter, usage_api_note_session, &u, err);
    int read = read_sessions(&u, rc < 0 ? NULL : err);
    if (u.priced)
        ch_buf_addf(&l->out, "],\"cost_usd\":%.6f}", u.cost);
    else
        ch_buf_add_str(&l->out, "],\"cost_usd\":null}");
    return rc < 0 ? rc : read;
}

static void respond_usage(struct ch_request *req, struct ch_store_lookup *l) {
    ch_request_respond_json(req, 200, &l->out);
}

void ch_usage_get(struct ch_request *req) {
    int64_t days = ch_request_query_number(req, "days", 30, 3650);
    int64_t now = ch_now_ms(ch_loop_clock(req->gw->rt->loop));
    ch_store_lookup_start(req, ch_sv(NULL, 0), now - days * 24 * 3600 * 1000, query_usage,
                          respond_usage);
}

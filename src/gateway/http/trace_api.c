/* trace_api.c -- /api/sessions/{key}/requests: the requests to models of a session, as the
 * journal holds them; /api/sessions/{key}/setups: the shared parts of requests. */
#include "gateway/http/trace_api.h"

#include "chela/trace.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"

static void respond_json(struct ch_request *req, struct ch_store_lookup *l) {
    ch_request_respond_json(req, 200, &l->out);
}

/* --- all requests */

static int add_request(const struct chela_span *s, void *user) {
    struct ch_store_lookup *l = user;
    struct ch_jw w = ch_jw(&l->out);
    if (!s->request || s->depth)
        return 0;
    w.comma = l->number++ > 0;
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "request", s->request);
    ch_jw_kcstr(&w, "run", s->run);
    ch_jw_kint(&w, "turn", s->turn);
    ch_jw_kint(&w, "attempt", s->attempt);
    if (s->role)
        ch_jw_kcstr(&w, "role", s->role);
    ch_jw_kcstr(&w, "model", s->model);
    ch_jw_kcstr(&w, "setup", s->setup);
    ch_jw_kint(&w, "ts", s->start);
    ch_jw_kint(&w, "ms", s->end - s->start);
    ch_jw_kint(&w, "messages", (int64_t)s->messages);
    ch_jw_kint(&w, "bytes", (int64_t)s->bytes);
    ch_jw_kbool(&w, "failed", s->failed);
    ch_jw_kcstr(&w, "stop", s->stop);
    ch_jw_kint(&w, "input", s->input);
    ch_jw_kint(&w, "output", s->output);
    ch_jw_kint(&w, "cache_read", s->cache_read);
    if (s->cost >= 0)
        ch_jw_kdouble(&w, "cost_usd", s->cost);
    ch_jw_end(&w, '}');
    return 0;
}

static int query_requests(struct ch_store_lookup *l, struct chela_error *err) {
    ch_buf_add_str(&l->out, "{\"requests\":[");
    int rc = chela_trace_spans(l->store, l->key, NULL, add_request, l, err);
    ch_buf_add_str(&l->out, "]}");
    return rc;
}

void ch_trace_requests_list(struct ch_request *req) {
    ch_store_lookup_start(req, req->param, 0, query_requests, respond_json);
}

/* --- one request */

static int query_request(struct ch_store_lookup *l, struct chela_error *err) {
    char *out;
    size_t n;
    int rc = chela_trace_request(l->store, l->key, (unsigned)l->number, CHELA_REQUEST_JSON, &out,
                                 &n, err);
    if (rc < 0)
        return rc;
    ch_buf_add(&l->out, out, n);
    chela_free(out);
    return 0;
}

void ch_trace_request_get(struct ch_request *req) {
    ch_store_lookup_start(req, req->param, req->number, query_request, respond_json);
}

/* --- setups */

static int add_part(const struct chela_setup_part *p, void *user) {
    struct ch_store_lookup *l = user;
    struct ch_jw w = ch_jw(&l->out);
    w.comma = l->number++ > 0;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "setup", p->setup);
    ch_jw_kcstr(&w, "kind", p->kind);
    if (p->name)
        ch_jw_kcstr(&w, "name", p->name);
    if (p->origin)
        ch_jw_kcstr(&w, "origin", p->origin);
    ch_jw_kint(&w, "bytes", (int64_t)p->bytes);
    if (p->tokens)
        ch_jw_kint(&w, "tokens", (int64_t)p->tokens);
    if (p->of)
        ch_jw_kint(&w, "of", (int64_t)p->of);
    ch_jw_kcstr(&w, "text", p->text);
    ch_jw_end(&w, '}');
    return 0;
}

static int query_setups(struct ch_store_lookup *l, struct chela_error *err) {
    ch_buf_add_str(&l->out, "{\"parts\":[");
    int rc = chela_trace_setups(l->store, l->key, add_part, l, err);
    ch_buf_add_str(&l->out, "]}");
    return rc;
}

void ch_trace_setups_get(struct ch_request *req) {
    ch_store_lookup_start(req, req->param, 0, query_setups, respond_json);
}

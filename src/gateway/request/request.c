/* request.c -- see request.h.
 *
 * Host, origin, path, token, method and content type are checked as soon as the head of a
 * request is complete; a refused request costs no more than its head. Only then is the body
 * read and parsed as JSON. */
#include "gateway/request/request.h"

#include <stdarg.h>

#include "agent/handle/listener.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random_id.h"
#include "gateway/request/auth.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/http_route.h"
#include "gateway/request/idempotency.h"
#include "net/ws_peer.h"

/* --- the end of a request */

/* Listeners are told about a request that belongs to a trace. */
static void request_tell(const struct ch_request *req, int64_t ms) {
    const chela_runtime *rt = req->gw->rt;
    int64_t now = ch_now_ms(ch_loop_clock(rt->loop));
    if (req->caller)
        ch_listeners_left(rt, &(struct ch_listener_request){.method = req->route->method,
                                                            .route = req->route->path,
                                                            .status = req->status,
                                                            .start = now - ms,
                                                            .end = now,
                                                            .caller = req->caller,
                                                            .inside = req->traceparent.p});
}

/* With telemetry, what the request causes is below the request. */
static void request_enter(struct ch_request *req) {
    char inside[CH_LISTENER_CONTEXT];
    if (!req->traceparent.n ||
        !ch_listeners_entered(req->gw->rt, req->traceparent, inside))
        return;
    req->caller = ch_arena_str(&req->arena, req->traceparent);
    req->traceparent = ch_sv_str(ch_arena_str(&req->arena, ch_sv_str(inside)));
}

static void request_free(struct ch_request *req) {
    chela_gateway *gw = req->gw;
    int64_t ms = ch_mono_ms(ch_loop_clock(gw->rt->loop)) - req->started;
    request_tell(req, ms);
    ch_log(CH_LOG_INFO, "gateway", "%s %s %d %lld ms%s", req->route->method, req->route->path,
           req->status, (long long)ms, req->id ? req->id : "");
    gw->counters.requests[req->status / 100 % 6]++;
    ch_list_del(&req->link);
    gw->nrequests--;
    ch_arena_release(&req->arena);
    ch_free(req);
}

static void request_on_gone(struct ch_exchange *x, void *user) {
    struct ch_request *req = user;
    (void)x;
    req->x = NULL;
    req->status = 499;
    if (req->on_disconnect)
        req->on_disconnect(req);
    ch_idempotency_leave(req);
    request_free(req);
}

static void add_security_headers(struct ch_exchange *x) {
    ch_exchange_header(x, "X-Content-Type-Options", "nosniff");
    ch_exchange_header(x, "Cache-Control", "no-store");
}

struct error_type {
    int status;
    const char *type;
};

static const char *find_error_type(const struct error_type *types, size_t n, int status) {
    for (size_t i = 0; i < n; i++)
        if (types[i].status == status)
            return types[i].type;
    return NULL;
}

static const char *openai_error_type(int status) {
    static const struct error_type types[] = {{401, "authentication_error"},
                                              {403, "permission_error"},
                                              {404, "not_found_error"},
                                              {429, "rate_limit_error"}};
    const char *type = find_error_type(types, CH_LEN(types), status);
    return type ? type : status >= 500 ? "server_error" : "invalid_request_error";
}

static const char *anthropic_error_type(int status) {
    static const struct error_type types[] = {
        {401, "authentication_error"}, {402, "billing_error"},    {403, "permission_error"},
        {404, "not_found_error"},      {409, "conflict_error"},   {413, "request_too_large"},
        {429, "rate_limit_error"},     {503, "overloaded_error"}, {504, "timeout_error"},
        {529, "overloaded_error"}};
    const char *type = find_error_type(types, CH_LEN(types), status);
    return type ? type : status >= 500 ? "api_error" : "invalid_request_error";
}

const char *ch_request_error_type(const struct ch_request *req, int status) {
    return req->is_anthropic ? anthropic_error_type(status) : openai_error_type(status);
}

/* Anthropic's clients parse {"type":"error","error":{"type","message","details"}}. */
static void write_error_json(struct ch_buf *out, int status, const char *code,
                             const char *message, bool is_anthropic) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    if (is_anthropic)
        ch_jw_kcstr(&w, "type", "error");
    ch_jw_kbegin(&w, "error", '{');
    if (is_anthropic)
        ch_jw_kcstr(&w, "type", anthropic_error_type(status));
    ch_jw_kcstr(&w, "message", message);
    if (!is_anthropic) {
        ch_jw_kcstr(&w, "type", openai_error_type(status));
        ch_jw_kcstr(&w, "param", NULL);
        ch_jw_kcstr(&w, "code", code);
    } else if (code) {
        ch_jw_kbegin(&w, "details", '{');
        ch_jw_kcstr(&w, "error_code", code);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
}

/* --- responses */

void ch_request_add_header(struct ch_request *req, const char *name, const char *value) {
    if (req->x)
        ch_exchange_header(req->x, name, value);
    ch_idempotency_add_header(req, name, value);
}

void ch_request_respond(struct ch_request *req, int status, const char *type, struct ch_sv text) {
    if (ch_idempotency_keep(req, status, type, text))
        return;
    req->status = status;
    if (req->on_response) {
        req->on_response(req, status, text);
    } else {
        if (status == 503 && !ch_exchange_has_header(req->x, "Retry-After"))
            ch_exchange_header(req->x, "Retry-After", "1");
        add_security_headers(req->x);
        ch_exchange_respond(req->x, status, type, text);
    }
    request_free(req);
}

void ch_request_respond_json(struct ch_request *req, int status, struct ch_buf *json) {
    ch_buf_addc(json, '\n');
    ch_request_respond(req, status, "application/json", ch_buf_sv(json));
}

void ch_request_fail(struct ch_request *req, int status, const char *code, const char *fmt, ...) {
    CH_BUF_AUTO message = {0}, body = {0};
    va_list ap;
    va_start(ap, fmt);
    ch_buf_vaddf(&message, fmt, ap);
    va_end(ap);
    write_error_json(&body, status, code, ch_buf_str(&message), req->is_anthropic);
    ch_request_respond_json(req, status, &body);
}

struct ch_sv ch_request_agent_id(const struct ch_request *req, const char *member) {
    const struct ch_json *v = ch_json_get(req->json, member);
    return !v || v->type == CH_JSON_STRING || v->type == CH_JSON_NULL
               ? ch_json_str(v)
               : CH_SV("(not a text)");
}

static bool request_has_type(const struct ch_json *v, struct ch_sv type) {
    int64_t n;
    return ch_sv_is(type, ch_json_type_name(v->type)) ||
           (ch_sv_is(type, "integer") && ch_json_as_int(v, &n));
}

static const struct ch_json *request_member(const struct ch_json *v, struct ch_sv path) {
    while (v && path.p)
        v = ch_json_get_sv(v, ch_sv_split(&path, '.'));
    return v;
}

int ch_request_check_types(const struct ch_json *object, const char *where, const char *members,
                           struct chela_error *err) {
    struct ch_sv rest = ch_sv_str(members);
    if (!ch_json_is(object, CH_JSON_OBJECT))
        return ch_fail(err, CHELA_EINVAL, "`%s` must be of type object", where);
    while (rest.p) {
        struct ch_sv other = ch_sv_split(&rest, ' '), name = ch_sv_split(&other, ':');
        struct ch_sv type = ch_sv_split(&other, '|');
        const struct ch_json *v = request_member(object, name);
        if (!v || v->type == CH_JSON_NULL || request_has_type(v, type) ||
            (other.n && request_has_type(v, other)))
            continue;
        return ch_fail(err, CHELA_EINVAL, "`%s%s%.*s` must be of type %.*s%s%.*s",
                       where ? where : "", where ? "." : "", CH_SV_FMT(name), CH_SV_FMT(type),
                       other.n ? " or " : "", CH_SV_FMT(other));
    }
    return 0;
}

int ch_request_check_each(const struct ch_json *list, const char *where, const char *members,
                          struct chela_error *err) {
    int rc = 0;
    for (CH_JSON_EACH(e, list))
        if (rc == 0)
            rc = ch_request_check_types(e, where, members, err);
    return rc;
}

/* The HTTP status for a CHELA_E* code. */
static int status_of_error(int code) {
    switch (code) {
    case CHELA_EINVAL:
    case CHELA_EPARSE:
        return 400;
    case CHELA_ELIMIT:
        return 413;
    case CHELA_ENOENT:
        return 404;
    case CHELA_EBUSY:
    case CHELA_ESTATE:
    case CHELA_EEXIST:
        return 409;
    case CHELA_EPERM:
        return 403;
    case CHELA_EMODEL:
    case CHELA_ENET:
        return 502;
    case CHELA_ETIMEOUT:
        return 504;
    case CHELA_EBUDGET:
        return 429;
    case CHELA_EOVERLOAD:
        return 503;
    default:
        return 500;
    }
}

void ch_request_fail_with(struct ch_request *req, const struct chela_error *err) {
    bool spent = err->code == CHELA_EBUDGET;
    CH_BUF_AUTO seconds = {0};
    if (spent) {
        ch_buf_addf(&seconds, "%ld", (err->retry_after_ms + 999) / 1000);
        ch_request_add_header(req, "Retry-After", ch_buf_str(&seconds));
    }
    ch_request_fail(req, status_of_error(err->code), spent ? "budget_exceeded" : NULL, "%s",
                    err->message);
}

void ch_request_begin_stream(struct ch_request *req) {
    if (req->streams)
        return;
    req->status = 200;
    req->streams = true;
    add_security_headers(req->x);
    ch_exchange_header(req->x, "X-Accel-Buffering", "no");
    ch_exchange_stream(req->x, 200, "text/event-stream");
}

int ch_request_send_event(struct ch_request *req, const char *name, const char *id,
                          struct ch_sv data) {
    CH_BUF_AUTO out = {0};
    if (!req->x)
        return CHELA_ESTATE;
    if (id)
        ch_buf_addf(&out, "id: %s\n", id);
    if (name)
        ch_buf_addf(&out, "event: %s\n", name);
    ch_buf_add_str(&out, "data: ");
    ch_buf_add_sv(&out, data);
    ch_buf_add_str(&out, "\n\n");
    return ch_request_write(req, ch_buf_sv(&out));
}

int ch_request_write(struct ch_request *req, struct ch_sv bytes) {
    ch_idempotency_add_bytes(req, bytes);
    return ch_exchange_write(req->x, bytes);
}

void ch_request_forget_texts(struct ch_request *req) {
    if (req->caller) /* the end of the request reports its trace context */
        return;
    ch_arena_release(&req->arena);
    req->param = req->query = req->session = req->last_id = ch_sv(NULL, 0);
    req->traceparent = req->body = ch_sv(NULL, 0);
    req->json = NULL;
    req->id = NULL;
}

void ch_request_end_stream(struct ch_request *req) {
    ch_idempotency_end_stream(req);
    ch_exchange_end(req->x);
    request_free(req);
}

void ch_requests_keep_alive(chela_gateway *gw) {
    int64_t old = ch_mono_ms(ch_loop_clock(gw->rt->loop)) - CH_DEFAULT_PULSE_MS;
    for (CH_LIST_EACH(k, &gw->requests)) {
        struct ch_request *req = CH_CONTAINER(k, struct ch_request, link);
        if (req->quiet && req->x && req->started <= old)
            ch_request_begin_stream(req);
        if (req->streams && req->x && !req->peer)
            ch_exchange_write(req->x, CH_SV(": still here\n\n"));
    }
}

void ch_requests_expel(chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->requests)) {
        struct ch_request *req = CH_CONTAINER(k, struct ch_request, link);
        if (req->peer)
            ch_ws_peer_close(req->peer, CH_WS_POLICY, "the token was changed");
        else if (req->streams && req->x && !(req->route->flags & CH_ROUTE_OPEN))
            ch_exchange_expel(req->x);
    }
}

/* --- the query */

struct ch_sv ch_request_query(struct ch_request *req, const char *name) {
    struct ch_sv query = req->query;
    while (query.p) {
        struct ch_sv value = ch_sv_split(&query, '&'), key = ch_sv_split(&value, '=');
        if (ch_sv_is(key, name))
            return value;
    }
    return ch_sv(NULL, 0);
}

bool ch_request_query_number(struct ch_request *req, const char *name, int64_t otherwise,
                             int64_t max, int64_t *out) {
    struct ch_sv value = ch_request_query(req, name);
    int64_t n = 0;
    bool whole = value.n <= 9;
    for (size_t i = 0; whole && i < value.n; i++) {
        whole = value.p[i] >= '0' && value.p[i] <= '9';
        n = 10 * n + (value.p[i] - '0');
    }
    if (!whole) {
        ch_request_fail(req, 400, NULL, "`%s` must be a number from 0 to 999999999", name);
        return false;
    }
    *out = value.n ? CH_MIN(n ? n : CH_MIN(otherwise, 1), max) : otherwise;
    return true;
}

/* --- the head of a request */

/* Does the request come from a client of Anthropic's protocol? r NULL: to no route, such as one
 * of Anthropic's that the gateway lacks. */
static bool is_anthropic(const struct ch_http_route *r, const struct ch_inbound *in) {
    if (r && !(r->flags & CH_ROUTE_ANTHROPIC))
        return false;
    return (r && strcmp(r->method, "POST") == 0) || ch_inbound_header(in, "anthropic-version").n;
}

static const struct ch_http_route *request_route(chela_gateway *gw, struct ch_arena *a,
                                                 const struct ch_inbound *in, bool *other) {
    struct ch_sv query, param;
    struct ch_sv path = ch_http_route_decode_path(a, ch_inbound_target(in), &query);
    return path.p ? ch_http_route_find(gw->routes, ch_inbound_method(in), path, &param, other)
                  : NULL;
}

static bool speaks_anthropic(chela_gateway *gw, struct ch_exchange *x) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_inbound *in = ch_exchange_inbound(x);
    bool other = false;
    return is_anthropic(request_route(gw, &arena, in, &other), in);
}

/* The vendors' clients show the id of a response in their errors. id: " req_..." for the log;
 * empty: the route is not one of theirs. */
static void request_add_id(struct ch_exchange *x, bool anthropic, char id[CH_RANDOM_ID]) {
    *id = '\0';
    if (!ch_sv_starts(ch_inbound_target(ch_exchange_inbound(x)), "/v1/"))
        return;
    ch_random_id(" req_", id);
    ch_exchange_header(x, anthropic ? "Request-Id" : "X-Request-Id", id + 1);
}

/* The challenge of a route that accepts other bearer tokens, too. */
static const char *challenge_of(chela_gateway *gw, struct ch_exchange *x) {
    CH_ARENA_AUTO arena = {0};
    bool other = false;
    const struct ch_http_route *r = request_route(gw, &arena, ch_exchange_inbound(x), &other);
    return r && r->flags & CH_ROUTE_BEARER && gw->challenge ? gw->challenge : "Bearer";
}

static void add_allow(const chela_gateway *gw, struct ch_exchange *x) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO methods = {0};
    struct ch_sv query, target = ch_inbound_target(ch_exchange_inbound(x));
    ch_http_route_methods(gw->routes, ch_http_route_decode_path(&arena, target, &query), &methods);
    ch_exchange_header(x, "Allow", ch_buf_str(&methods));
}

/* Lets a page with an allowed origin read the response. */
static void allow_origin(const chela_gateway *gw, struct ch_exchange *x) {
    struct ch_sv origin = ch_auth_allowed_origin(&gw->auth, ch_exchange_inbound(x));
    CH_BUF_AUTO text = {0};
    if (!origin.p)
        return;
    ch_buf_add_sv(&text, origin);
    ch_exchange_header(x, "Access-Control-Allow-Origin", ch_buf_str(&text));
    ch_exchange_header(x, "Access-Control-Expose-Headers",
                       "Mcp-Session-Id, WWW-Authenticate, Retry-After, X-Should-Retry, "
                       "Idempotent-Replayed, X-Chela-Dropped, X-Chela-Warning, X-Request-Id, "
                       "Request-Id");
    ch_exchange_header(x, "Vary", "Origin");
}

void ch_request_on_refuse(struct ch_exchange *x, int status, const char *why, void *user) {
    chela_gateway *gw = user;
    bool anthropic = speaks_anthropic(gw, x);
    char id[CH_RANDOM_ID];
    CH_BUF_AUTO body = {0};
    gw->counters.refused++;
    gw->counters.requests[status / 100 % 6]++;
    add_security_headers(x);
    allow_origin(gw, x);
    if (status == 401)
        ch_exchange_header(x, "WWW-Authenticate", challenge_of(gw, x));
    if (status == 405)
        add_allow(gw, x);
    if (status == 415)
        ch_exchange_header(x, "Accept-Encoding", "identity");
    if (status == 429)
        ch_exchange_header(x, "Retry-After", "60");
    write_error_json(&body, status, status == 401 ? "invalid_api_key" : NULL, why, anthropic);
    ch_buf_addc(&body, '\n');
    request_add_id(x, anthropic, id);
    ch_log(CH_LOG_INFO, "gateway", "refused %d from %s: %s%s", status, ch_exchange_peer(x), why,
           id);
    ch_exchange_respond(x, status, "application/json", ch_buf_sv(&body));
}

/* A CORS preflight of a page with an allowed origin. */
static bool is_preflight(const struct ch_inbound *in) {
    return strcmp(ch_inbound_method(in), "OPTIONS") == 0 &&
           ch_inbound_header(in, "access-control-request-method").p;
}

/* The vendors' clients send headers about themselves, which vary with their versions. */
static void answer_preflight(const chela_gateway *gw, struct ch_exchange *x) {
    CH_BUF_AUTO headers = {0};
    ch_buf_add_sv(&headers, ch_inbound_header(ch_exchange_inbound(x),
                                              "access-control-request-headers"));
    allow_origin(gw, x);
    ch_exchange_header(x, "Access-Control-Allow-Methods", "GET, POST, DELETE");
    if (headers.n)
        ch_exchange_header(x, "Access-Control-Allow-Headers", ch_buf_str(&headers));
    ch_exchange_header(x, "Access-Control-Max-Age", "600");
    ch_exchange_respond(x, 204, NULL, ch_sv("", 0));
}

static bool is_json(struct ch_sv type) {
    struct ch_sv rest = type;
    return ch_sv_eq_nocase(ch_sv_trim(ch_sv_split(&rest, ';')), CH_SV("application/json"));
}

static bool has_small_body(const struct ch_inbound *in) {
    struct ch_sv length = ch_inbound_header(in, "content-length");
    size_t n = 0;
    for (size_t i = 0; i < length.n && n <= CH_LIMIT_CALLBACK; i++)
        n = 10 * n + (size_t)(length.p[i] - '0');
    return length.n && n <= CH_LIMIT_CALLBACK;
}

static struct ch_auth_refusal refuse_token(chela_gateway *gw, struct ch_exchange *x) {
    bool many = ch_auth_shows_token(ch_exchange_inbound(x)) &&
                ch_attempts_fail(&gw->attempts, ch_exchange_network(x),
                                 ch_mono_ms(ch_loop_clock(gw->rt->loop)));
    return many ? (struct ch_auth_refusal){429, "too many wrong tokens from this address"}
                : (struct ch_auth_refusal){401, "missing or wrong bearer token"};
}

void ch_request_refuse_token(struct ch_request *req, int status, const char *challenge,
                             const char *why) {
    struct ch_auth_refusal no = {status, why};
    if (status == 401)
        no = refuse_token(req->gw, req->x);
    req->gw->counters.refused++;
    if (no.status != 429)
        ch_request_add_header(req, "WWW-Authenticate", challenge);
    else
        ch_request_add_header(req, "Retry-After", "60");
    ch_request_fail(req, no.status, "invalid_token", "%s", no.status == 429 ? no.why : why);
}

/* Did the client send the token of the gateway, in a way that the route allows? */
static bool has_token(const chela_gateway *gw, const struct ch_http_route *r,
                      const struct ch_inbound *in) {
    return ch_auth_has_token(&gw->auth, in) ||
           (is_anthropic(r, in) && ch_auth_has_api_key(&gw->auth, in)) ||
           (r && r->flags & CH_ROUTE_SOCKET && ch_auth_has_socket_token(&gw->auth, in));
}

/* The gateway decompresses nothing: a small body could grow without bound. */
static bool is_encoded(const struct ch_inbound *in) {
    struct ch_sv coding = ch_inbound_header(in, "content-encoding");
    return coding.n && !ch_sv_eq_nocase(coding, CH_SV("identity"));
}

static struct ch_auth_refusal check_body(const struct ch_http_route *r,
                                         const struct ch_inbound *in) {
    bool reads = strcmp(r->method, "POST") != 0;
    if (reads && ch_inbound_has_body(in))
        return (struct ch_auth_refusal){400, "unexpected body"};
    if (r->flags & CH_ROUTE_SMALL && !has_small_body(in))
        return (struct ch_auth_refusal){413, "the body is too large, or has no Content-Length"};
    if (is_encoded(in))
        return (struct ch_auth_refusal){415, "a body with Content-Encoding is not supported"};
    if (!reads && !(r->flags & CH_ROUTE_RAW) && !is_json(ch_inbound_header(in, "content-type")))
        return (struct ch_auth_refusal){415, "the content type must be application/json"};
    return (struct ch_auth_refusal){0};
}

static struct ch_auth_refusal check_route(chela_gateway *gw, struct ch_exchange *x) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_inbound *in = ch_exchange_inbound(x);
    bool other = false;
    const struct ch_http_route *r = request_route(gw, &arena, in, &other);
    bool knows = has_token(gw, r, in);
    bool judged = r && r->flags & CH_ROUTE_BEARER && gw->challenge &&
                  ch_inbound_header(in, "authorization").n; /* checked by the handler */
    if (!(r && r->flags & CH_ROUTE_OPEN) && !knows && !judged)
        return refuse_token(gw, x);
    if (knows)
        ch_exchange_trust(x);
    if (!r)
        return other ? (struct ch_auth_refusal){405, "method not allowed"}
                     : (struct ch_auth_refusal){404, "no such path"};
    return check_body(r, in);
}

void ch_request_on_head(struct ch_exchange *x, void *user) {
    chela_gateway *gw = user;
    const struct ch_inbound *in = ch_exchange_inbound(x);
    struct ch_auth_refusal no = ch_auth_check(&gw->auth, in);
    if (!no.status && is_preflight(in) && ch_auth_allowed_origin(&gw->auth, in).p) {
        answer_preflight(gw, x);
        return;
    }
    if (!no.status)
        no = check_route(gw, x);
    if (no.status)
        ch_request_on_refuse(x, no.status, no.why, gw);
}

/* --- a complete request */

static struct ch_sv copy_header(struct ch_request *req, const char *name) {
    struct ch_sv value = ch_inbound_header(ch_exchange_inbound(req->x), name);
    return value.p ? ch_arena_sv(&req->arena, value) : value;
}

static struct ch_request *request_add(chela_gateway *gw) {
    struct ch_request *req = ch_alloc(sizeof(*req));
    req->gw = gw;
    req->started = ch_mono_ms(ch_loop_clock(gw->rt->loop));
    ch_list_add(&gw->requests, &req->link);
    gw->nrequests++;
    return req;
}

struct ch_request *ch_request_nested(const struct ch_request *outer,
                                     void (*answer)(struct ch_request *, int, struct ch_sv),
                                     void *asker) {
    struct ch_request *req = request_add(outer->gw);
    req->route = outer->route;
    req->on_response = answer;
    req->response_user = asker;
    return req;
}

static int64_t last_number(struct ch_sv path) {
    struct ch_sv word = CH_SV("");
    while (path.p)
        word = ch_sv_split(&path, '/');
    return ch_http_route_number(word);
}

static struct ch_request *request_new(chela_gateway *gw, struct ch_exchange *x) {
    const struct ch_inbound *in = ch_exchange_inbound(x);
    struct ch_request *req = request_add(gw);
    char id[CH_RANDOM_ID];
    bool other;
    req->x = x;
    struct ch_sv target = ch_arena_sv(&req->arena, ch_inbound_target(in));
    struct ch_sv path = ch_http_route_decode_path(&req->arena, target, &req->query);
    req->route = ch_http_route_find(gw->routes, ch_inbound_method(in), path, &req->param, &other);
    req->param = ch_http_route_param(&req->arena, req->param);
    req->number = last_number(path);
    req->is_anthropic = is_anthropic(req->route, in);
    allow_origin(gw, x);
    request_add_id(x, req->is_anthropic, id);
    req->id = ch_arena_str(&req->arena, ch_sv_str(id));
    req->session = copy_header(req, "x-chela-session");
    req->last_id = copy_header(req, "last-event-id");
    req->traceparent = copy_header(req, "traceparent");
    request_enter(req);
    req->body = ch_arena_sv(&req->arena, ch_buf_sv(&in->body));
    ch_exchange_attach(x, request_on_gone, req);
    return req;
}

void ch_request_on_complete(struct ch_exchange *x, void *user) {
    struct ch_request *req = request_new(user, x);
    struct chela_error err = {0};
    bool wants = strcmp(req->route->method, "POST") == 0 && !(req->route->flags & CH_ROUTE_RAW);
    if (wants &&
        ch_json_parse(&req->arena, req->body, CH_JSON_STRICT, &req->json, NULL, &err) < 0) {
        ch_request_fail(req, 400, NULL, "the body is not valid JSON: %s", err.message);
        return;
    }
    if (wants && !ch_json_is(req->json, CH_JSON_OBJECT)) {
        ch_request_fail(req, 400, NULL, "the body is not a JSON object");
        return;
    }
    if (req->route->flags & CH_ROUTE_KEYED ||
        (req->route->flags & CH_ROUTE_KEYED_SESSION && req->session.p))
        ch_idempotency_begin(req, NULL, req->route->run);
    else
        req->route->run(req);
}

/* request.c -- one request on its way through the gateway.
 *
 * Order matters: name and origin, path, token, method, kind of content are
 * looked at when the head is there, and a request that fails costs no more
 * than its head. Only then is the body read, and JSON made of it. */
#include <stdarg.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/request/gateway.h"
#include "net/ws_peer.h"

/* --- ends */

static void free_visit(struct ch_visit *v) {
    chela_gateway *gw = v->gw;
    int64_t ms = ch_mono_ms(ch_loop_clock(gw->rt->loop)) - v->began;
    ch_log(CH_LOG_INFO, "gateway", "%s %s %d %lld ms", v->route->method, v->route->path, v->status,
           (long long)ms);
    gw->counters.requests[v->status / 100 % 6]++;
    ch_list_del(&v->link);
    gw->nvisits--;
    ch_arena_release(&v->arena);
    ch_free(v);
}

static void on_gone(struct ch_exchange *x, void *user) {
    struct ch_visit *v = user;
    (void)x;
    v->x = NULL;
    v->status = 499;
    if (v->left)
        v->left(v);
    free_visit(v);
}

static void secure(struct ch_exchange *x) {
    ch_exchange_header(x, "X-Content-Type-Options", "nosniff");
    ch_exchange_header(x, "Cache-Control", "no-store");
}

static void say_error(struct ch_buf *out, int status, const char *code, const char *message) {
    static const struct {
        int status;
        const char *type;
    } types[] = {{401, "authentication_error"},
                 {403, "permission_error"},
                 {404, "not_found_error"},
                 {429, "rate_limit_error"}};
    const char *type = status >= 500 ? "server_error" : "invalid_request_error";
    for (size_t i = 0; i < CH_LEN(types); i++)
        if (types[i].status == status)
            type = types[i].type;
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_key(&w, "error");
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "message", message);
    ch_jw_kcstr(&w, "type", type);
    ch_jw_kcstr(&w, "param", NULL);
    ch_jw_kcstr(&w, "code", code);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
}

/* --- answers */

void ch_visit_header(struct ch_visit *v, const char *name, const char *value) {
    ch_exchange_header(v->x, name, value);
}

void ch_visit_text(struct ch_visit *v, int status, const char *type, struct ch_sv text) {
    v->status = status;
    if (v->answer) {
        v->answer(v, status, text);
    } else {
        secure(v->x);
        ch_exchange_respond(v->x, status, type, text);
    }
    free_visit(v);
}

void ch_visit_json(struct ch_visit *v, int status, struct ch_buf *json) {
    ch_buf_addc(json, '\n');
    ch_visit_text(v, status, "application/json", ch_buf_sv(json));
}

void ch_visit_fail(struct ch_visit *v, int status, const char *code, const char *fmt, ...) {
    CH_BUF_AUTO message = {0}, body = {0};
    va_list ap;
    va_start(ap, fmt);
    ch_buf_vaddf(&message, fmt, ap);
    va_end(ap);
    say_error(&body, status, code, ch_buf_str(&message));
    ch_visit_json(v, status, &body);
}

int ch_error_status(int code) {
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
    default:
        return 500;
    }
}

void ch_visit_error(struct ch_visit *v, const struct chela_error *err) {
    ch_visit_fail(v, ch_error_status(err->code), NULL, "%s", err->message);
}

void ch_visit_stream(struct ch_visit *v) {
    v->status = 200;
    v->streams = true;
    secure(v->x);
    ch_exchange_header(v->x, "X-Accel-Buffering", "no");
    ch_exchange_stream(v->x, 200, "text/event-stream");
}

int ch_visit_data(struct ch_visit *v, const char *name, const char *id, struct ch_sv data) {
    CH_BUF_AUTO out = {0};
    if (!v->x)
        return CHELA_ESTATE;
    if (id)
        ch_buf_addf(&out, "id: %s\n", id);
    if (name)
        ch_buf_addf(&out, "event: %s\n", name);
    ch_buf_add_str(&out, "data: ");
    ch_buf_add_sv(&out, data);
    ch_buf_add_str(&out, "\n\n");
    return ch_exchange_write(v->x, ch_buf_sv(&out));
}

void ch_visit_end(struct ch_visit *v) {
    ch_exchange_end(v->x);
    free_visit(v);
}

void ch_visits_pulse(chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->visits)) {
        struct ch_visit *v = CH_CONTAINER(k, struct ch_visit, link);
        if (v->streams && v->x && !v->peer)
            ch_exchange_write(v->x, CH_SV(": still here\n\n"));
    }
}

void ch_visits_expel(chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->visits)) {
        struct ch_visit *v = CH_CONTAINER(k, struct ch_visit, link);
        if (v->peer)
            ch_ws_peer_close(v->peer, CH_WS_POLICY, "the token is another one now");
        else if (v->streams && v->x && !(v->route->flags & CH_ROUTE_OPEN))
            ch_exchange_expel(v->x);
    }
}

/* --- what the query asks */

struct ch_sv ch_visit_query(struct ch_visit *v, const char *name) {
    struct ch_sv query = v->query;
    while (query.p) {
        struct ch_sv value = ch_sv_split(&query, '&'), key = ch_sv_split(&value, '=');
        if (ch_sv_is(key, name))
            return value;
    }
    return ch_sv(NULL, 0);
}

int64_t ch_visit_number(struct ch_visit *v, const char *name, int64_t otherwise, int64_t max) {
    struct ch_sv value = ch_visit_query(v, name);
    int64_t n = 0;
    if (!value.n || value.n > 9)
        return otherwise;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return otherwise;
        n = 10 * n + (value.p[i] - '0');
    }
    return CH_MIN(CH_MAX(n, 1), max);
}

/* --- the head of a request */

static void refuse(chela_gateway *gw, struct ch_exchange *x, int status, const char *why) {
    CH_BUF_AUTO body = {0};
    gw->counters.refused++;
    gw->counters.requests[status / 100 % 6]++;
    secure(x);
    if (status == 401)
        ch_exchange_header(x, "WWW-Authenticate", "Bearer");
    say_error(&body, status, status == 401 ? "invalid_api_key" : NULL, why);
    ch_buf_addc(&body, '\n');
    ch_log(CH_LOG_INFO, "gateway", "refused %d from %s: %s", status, ch_exchange_peer(x), why);
    ch_exchange_respond(x, status, "application/json", ch_buf_sv(&body));
}

/* A page of an allowed origin asks what it may send. */
static bool is_preflight(const struct ch_inbound *in) {
    return strcmp(ch_inbound_method(in), "OPTIONS") == 0 &&
           ch_inbound_header(in, "access-control-request-method").p;
}

static void allow_origin(struct ch_exchange *x, const char *origin) {
    ch_exchange_header(x, "Access-Control-Allow-Origin", origin);
    ch_exchange_header(x, "Vary", "Origin");
}

static void answer_preflight(struct ch_exchange *x, const char *origin) {
    allow_origin(x, origin);
    ch_exchange_header(x, "Access-Control-Allow-Methods", "GET, POST, DELETE");
    ch_exchange_header(x, "Access-Control-Allow-Headers",
                       "Authorization, Content-Type, X-Chela-Session, Last-Event-ID");
    ch_exchange_header(x, "Access-Control-Max-Age", "600");
    ch_exchange_respond(x, 204, NULL, ch_sv("", 0));
}

static bool is_json(struct ch_sv type) {
    struct ch_sv rest = type;
    return ch_sv_eq_nocase(ch_sv_trim(ch_sv_split(&rest, ';')), CH_SV("application/json"));
}

static bool is_small(const struct ch_inbound *in) {
    struct ch_sv length = ch_inbound_header(in, "content-length");
    size_t n = 0;
    for (size_t i = 0; i < length.n && n <= CH_LIMIT_CALLBACK; i++)
        n = 10 * n + (size_t)(length.p[i] - '0');
    return length.n && n <= CH_LIMIT_CALLBACK;
}

static struct ch_refusal check_route(chela_gateway *gw, const struct ch_inbound *in) {
    CH_ARENA_AUTO arena = {0};
    struct ch_sv query, param;
    bool other = false;
    struct ch_sv path = ch_path_decode(&arena, ch_inbound_target(in), &query);
    const struct ch_route *r =
        path.p ? ch_route_find(ch_inbound_method(in), path, &param, &other) : NULL;
    bool knows = ch_door_knows(&gw->door, in) ||
                 (r && r->flags & CH_ROUTE_SOCKET && ch_door_knows_socket(&gw->door, in));
    if (!(r && r->flags & CH_ROUTE_OPEN) && !knows)
        return (struct ch_refusal){401, "a bearer token is needed, and this is not it"};
    if (!r)
        return other ? (struct ch_refusal){405, "that is not done with this path"}
                     : (struct ch_refusal){404, "there is no such path"};
    bool reads = strcmp(r->method, "POST") != 0;
    if (reads && ch_inbound_has_body(in))
        return (struct ch_refusal){400, "a body is not expected here"};
    if (r->flags & CH_ROUTE_SMALL && !is_small(in))
        return (struct ch_refusal){413, "the body is too large, or does not say its size"};
    if (!reads && !is_json(ch_inbound_header(in, "content-type")))
        return (struct ch_refusal){415, "the content type must be application/json"};
    return (struct ch_refusal){0};
}

void ch_visit_head(struct ch_exchange *x, void *user) {
    chela_gateway *gw = user;
    const struct ch_inbound *in = ch_exchange_inbound(x);
    struct ch_refusal no = ch_door_check(&gw->door, in);
    const char *origin = ch_door_origin(&gw->door, in);
    if (!no.status && origin && is_preflight(in)) {
        answer_preflight(x, origin);
        return;
    }
    if (!no.status && origin)
        allow_origin(x, origin);
    if (!no.status)
        no = check_route(gw, in);
    if (no.status)
        refuse(gw, x, no.status, no.why);
}

/* --- all of it */

static struct ch_sv keep_header(struct ch_visit *v, const char *name) {
    struct ch_sv value = ch_inbound_header(ch_exchange_inbound(v->x), name);
    return value.p ? ch_arena_sv(&v->arena, value) : value;
}

static struct ch_visit *add_visit(chela_gateway *gw) {
    struct ch_visit *v = ch_alloc(sizeof(*v));
    v->gw = gw;
    v->began = ch_mono_ms(ch_loop_clock(gw->rt->loop));
    ch_list_add(&gw->visits, &v->link);
    gw->nvisits++;
    return v;
}

struct ch_visit *ch_visit_within(const struct ch_visit *outer,
                                 void (*answer)(struct ch_visit *, int, struct ch_sv),
                                 void *asker) {
    struct ch_visit *v = add_visit(outer->gw);
    v->route = outer->route;
    v->answer = answer;
    v->asker = asker;
    return v;
}

static struct ch_visit *new_visit(chela_gateway *gw, struct ch_exchange *x) {
    const struct ch_inbound *in = ch_exchange_inbound(x);
    struct ch_visit *v = add_visit(gw);
    bool other;
    v->x = x;
    struct ch_sv target = ch_arena_sv(&v->arena, ch_inbound_target(in));
    struct ch_sv path = ch_path_decode(&v->arena, target, &v->query);
    v->route = ch_route_find(ch_inbound_method(in), path, &v->param, &other);
    v->session = keep_header(v, "x-chela-session");
    v->last_id = keep_header(v, "last-event-id");
    v->body = ch_arena_sv(&v->arena, ch_buf_sv(&in->body));
    ch_exchange_attach(x, on_gone, v);
    return v;
}

void ch_visit_request(struct ch_exchange *x, void *user) {
    struct ch_visit *v = new_visit(user, x);
    struct chela_error err = {0};
    bool wants = strcmp(v->route->method, "POST") == 0;
    if (wants && ch_json_parse(&v->arena, v->body, CH_JSON_STRICT, &v->json, NULL, &err) < 0) {
        ch_visit_fail(v, 400, NULL, "the body is no JSON: %s", err.message);
        return;
    }
    if (wants && !ch_json_is(v->json, CH_JSON_OBJECT)) {
        ch_visit_fail(v, 400, NULL, "the body is not a JSON object");
        return;
    }
    v->route->run(v);
}

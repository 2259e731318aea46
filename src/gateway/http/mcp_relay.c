/* mcp_relay.c -- see mcp_relay.h.
 *
 *   request --> socket pair --one end, by the parent--> the other worker
 *                   '--the other end--> HTTP request --> response, copied */
#include "gateway/http/mcp_relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "mcp/mcp_server.h"
#include "mcp/mcp_server_http.h"
#include "net/http.h"
#include "net/server.h"

#define FOREVER_MS ((int64_t)365 * 24 * 3600 * 1000) /* the client decides how long it waits */

struct relay {
    struct ch_link link;
    struct ch_request *req;
    struct ch_http_call *call;
    struct ch_http_request request;
    struct ch_header headers[7];
    struct ch_sv body;  /* borrowed from the request until the response begins */
    struct ch_buf text; /* the response, or the beginning of an event */
    const char *type;   /* in the arena of the request; NULL: no head has come */
    int status;
    bool streams;
    bool answers; /* the client waits for an answer */
};

static void relay_free(struct relay *r) {
    ch_list_del(&r->link);
    if (r->call)
        ch_transport_cancel(ch_http_transport(r->req->gw->rt->http), r->call);
    ch_buf_release(&r->text);
    ch_free(r);
}

static void relay_on_disconnect(struct ch_request *req) {
    relay_free(req->user);
}

/* --- the response */

static void relay_on_head(const struct ch_http_head *head, void *user) {
    struct relay *r = user;
    struct ch_sv type = ch_header_find(head->headers, head->nheaders, "content-type");

    r->status = head->status;
    r->type = ch_arena_str(&r->req->arena, type);
    r->streams = head->status == 200 && ch_sv_starts(type, "text/event-stream");
    if (r->streams)
        ch_request_begin_stream(r->req);
}

/* The number of bytes that are whole events. */
static size_t relay_whole(struct ch_sv text) {
    size_t n = text.n;

    while (n >= 2 && !(text.p[n - 1] == '\n' && text.p[n - 2] == '\n'))
        n--;
    return n >= 2 ? n : 0;
}

/* The gateway writes comments between events, so only whole events are passed on. */
static void relay_on_data(struct ch_sv data, void *user) {
    struct relay *r = user;
    size_t seen = r->text.n ? r->text.n - 1 : 0; /* holds no whole event */
    struct ch_request *req = r->req;
    CH_BUF_AUTO events = {0};

    ch_buf_add_sv(&r->text, data);
    if (!r->streams || r->text.overflow)
        return;
    size_t n = relay_whole(ch_sv(r->text.p + seen, r->text.n - seen));
    if (n == 0)
        return;
    n += seen;
    ch_buf_add(&events, r->text.p, n);
    ch_buf_consume(&r->text, n);
    ch_request_write(req, ch_buf_sv(&events)); /* may end the relay */
}

/* The other worker has ended, and the session with it. */
static void relay_refuse(struct ch_request *req) {
    CH_BUF_AUTO out = {0};

    ch_rpc_write_error(&out, (struct ch_rpc_id){0}, CH_RPC_INVALID_REQUEST,
                       CH_SV("the session ended with its worker"), ch_sv(NULL, 0));
    ch_request_respond(req, 404, "application/json", ch_buf_sv(&out));
}

static void relay_on_done(const struct chela_error *err, void *user) {
    struct relay *r = user;
    struct ch_request *req = r->req;
    CH_BUF_AUTO text = r->text;
    const char *type = r->type;
    int status = r->status;
    bool streams = r->streams, failed = err || text.overflow;

    r->call = NULL;
    r->text = (struct ch_buf){0};
    req->on_disconnect = NULL;
    relay_free(r);
    if (failed)
        ch_log(CH_LOG_INFO, "mcp", "a request of another worker's session ended: %s",
               err ? err->message : "the response is too large");
    if (streams)
        ch_request_end_stream(req);
    else if (failed)
        relay_refuse(req);
    else
        ch_request_respond(req, status, type && *type ? type : NULL, ch_buf_sv(&text));
}

/* --- the request */

/* Headers that a session of 2025-11-25 uses. The origin was checked here. */
static size_t relay_headers(const struct ch_inbound *in, struct ch_header *out) {
    static const char *const names[] = {"authorization",  "content-type", "accept",
                                        "mcp-session-id", "last-event-id", "mcp-protocol-version",
                                        "traceparent"};
    size_t n = 0;

    for (size_t i = 0; i < CH_LEN(names); i++) {
        struct ch_sv value = ch_inbound_header(in, names[i]);
        if (value.p)
            out[n++] = (struct ch_header){ch_sv_str(names[i]), value};
    }
    return n;
}

/* One end of a new socket pair, whose other end goes to the worker; -1: failed. */
static int relay_connect(const chela_gateway *gw, size_t worker) {
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -1;
    bool passed = ch_server_pass(gw->server, (unsigned char)worker, ends[1]);
    close(ends[1]);
    if (passed)
        return ends[0];
    close(ends[0]);
    return -1;
}

size_t ch_mcp_relay_target(const struct ch_request *req) {
    const struct ch_inbound *in = ch_exchange_inbound(req->x);
    struct ch_sv id = ch_sv_trim(ch_inbound_header(in, "mcp-session-id"));
    struct ch_sv version = ch_sv_trim(ch_inbound_header(in, "mcp-protocol-version"));
    size_t n = 0, worker = 0;

    while (n < id.n && n < 3 && id.p[n] >= '0' && id.p[n] <= '9')
        worker = 10 * worker + (size_t)(id.p[n++] - '0');
    bool named = n > 0 && n < id.n && id.p[n] == CH_MCP_WORKER_END;
    return named && worker != req->gw->worker && worker <= req->gw->workers &&
                   !ch_sv_is(version, CH_MCP_MODERN)
               ? worker
               : 0;
}

void ch_mcp_relay_start(struct ch_list *relays, struct ch_request *req, size_t worker) {
    const struct ch_inbound *in = ch_exchange_inbound(req->x);
    int socket = relay_connect(req->gw, worker);

    req->on_disconnect = NULL;
    if (socket < 0) {
        ch_request_fail(req, 503, NULL, "worker %zu cannot be reached", worker);
        return;
    }
    struct relay *r = ch_alloc(sizeof(*r));
    r->req = req;
    r->body = ch_buf_sv(&in->body);
    r->answers = strcmp(ch_inbound_method(in), "GET") != 0;
    ch_buf_init(&r->text, CH_LIMIT_RPC_MESSAGE + CH_KB);
    r->request = (struct ch_http_request){
        .method = ch_inbound_method(in),
        .url = "http://127.0.0.1/mcp",
        .headers = r->headers,
        .nheaders = relay_headers(in, r->headers),
        .body = &r->body,
        .nbody = r->body.n ? 1 : 0,
        .timeouts = {.first_byte = FOREVER_MS, .idle = FOREVER_MS, .total = FOREVER_MS},
        .max_body = UINT64_MAX,
        .once = true,
        .socket = socket};
    static const struct ch_http_handler handler = {
        .on_head = relay_on_head, .on_data = relay_on_data, .on_done = relay_on_done};
    ch_list_add(relays, &r->link);
    req->user = r;
    req->on_disconnect = relay_on_disconnect;
    r->call = ch_transport_start(ch_http_transport(req->gw->rt->http), &r->request, &handler, r);
}

bool ch_mcp_relays_busy(const struct ch_list *relays) {
    for (CH_LIST_EACH(k, relays))
        if (CH_CONTAINER(k, struct relay, link)->answers)
            return true;
    return false;
}

void ch_mcp_relays_end(struct ch_list *relays) {
    struct relay *r;

    while ((r = CH_LIST_FIRST(relays, struct relay, link))) {
        r->req->on_disconnect = NULL;
        relay_free(r);
    }
}

/* session_socket.c -- see session_socket.h.
 *
 * The gateway sends the session's events, as JSON like /events. The client sends frames,
 * each the body of a POST. A frame becomes a nested request and is handled by the function
 * of that route, so it has the same meaning and the same checks. The response is sent as a
 * frame of type `ack` or `error`, with the `ref` of the client's frame.
 *
 * Frames are handled one by one, in order; a limited number of further ones is queued. A
 * session that does not exist yet is created by its first message, as with POST, and its
 * events are sent from then on. Another gateway may have created the session meanwhile, and may
 * end a run before the answer is here, so the session's tail is opened before a frame is
 * handled. */
#include "gateway/http/session_socket.h"

#include "base/error.h"
#include "base/limits.h"
#include "gateway/http/session_events.h"
#include "gateway/http/session_open.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/tail.h"
#include "gateway/request/auth.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/http_route.h"
#include "gateway/request/request.h"
#include "net/ws_peer.h"

struct session_socket {
    struct ch_request *request; /* the request that became the WebSocket */
    struct ch_ws_peer *peer;
    struct ch_lane_watcher watcher;
    const char *key;
    bool opening; /* the tail is being opened; frames wait */
    bool looked;  /* the next frame may be handled: the tail is open, or there was no session */
    struct ch_request *current; /* the nested request in progress; NULL: none */
    struct ch_list frames;      /* queued */
    size_t nframes, bytes;
    struct ch_task next;
};

struct socket_frame {
    struct ch_link link;
    size_t n;
    char text[];
};

/* --- closing */

static void drop_frame(struct session_socket *s, struct socket_frame *f) {
    ch_list_del(&f->link);
    s->nframes--;
    s->bytes -= f->n;
    ch_free(f);
}

/* A nested request in progress is completed without a response. */
static void free_socket(struct session_socket *s) {
    struct ch_request *req = s->request;
    if (s->current)
        s->current->response_user = NULL;
    for (struct socket_frame *f; (f = CH_LIST_FIRST(&s->frames, struct socket_frame, link));)
        drop_frame(s, f);
    ch_task_cancel(req->gw->rt->loop, &s->next);
    ch_lane_unwatch(&s->watcher);
    ch_ws_peer_free(s->peer);
    req->peer = NULL;
    req->on_disconnect = NULL;
    ch_free(s);
}

static void socket_on_disconnect(struct ch_request *req) {
    free_socket(req->user);
}

static void socket_on_gone(struct ch_ws_peer *p, unsigned code, void *user) {
    struct session_socket *s = user;
    struct ch_request *req = s->request;
    (void)p;
    (void)code;
    free_socket(s);
    ch_request_end_stream(req);
}

void ch_session_sockets_close(chela_gateway *gw, bool all) {
    for (CH_LIST_EACH(k, &gw->requests)) {
        struct ch_request *req = CH_CONTAINER(k, struct ch_request, link);
        const struct ch_lane *l = req->peer && !all ? ch_lane_find(gw, req->param) : NULL;
        if (!req->peer || (l && l->running))
            continue;
        ch_ws_peer_close(req->peer, CH_WS_AWAY, "the gateway is stopping");
        req->streams = false; /* draining waits for its close frame */
    }
}

/* --- sending events */

static int socket_send(void *user, const char *cursor, struct ch_sv json) {
    (void)cursor;
    return ch_ws_peer_send(user, json);
}

static void socket_on_piece(struct ch_lane_watcher *w, const char *cursor, struct ch_sv json) {
    socket_send(CH_CONTAINER(w, struct session_socket, watcher)->peer, cursor, json);
}

static void socket_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct session_socket *s = CH_CONTAINER(w, struct session_socket, watcher);
    ch_tail_write_event(w, ev, socket_send, s->peer);
    if (ev->type != CHELA_EV_RUN_END || !s->request->gw->draining)
        return;
    ch_ws_peer_close(s->peer, CH_WS_AWAY, "the gateway is stopping");
    s->request->streams = false;
}

static void socket_on_deleted(struct ch_lane_watcher *w) {
    struct session_socket *s = CH_CONTAINER(w, struct session_socket, watcher);
    ch_ws_peer_close(s->peer, CH_WS_DONE, "the session was deleted");
}

/* --- receiving frames */

/* A frame was answered, which may have created the session. */
static void socket_watch(struct session_socket *s, bool done) {
    s->looked = false;
    if (done && !s->watcher.link.next)
        ch_tail_open(s->request->gw, s->key, CH_TAIL_ALL, CH_SV(""), &s->watcher, NULL, NULL);
}

/* Puts type, status and ref before the members of the response, which is an object. */
static void socket_on_answer(struct ch_request *req, int status, struct ch_sv json) {
    struct session_socket *s = req->response_user;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (!s)
        return;
    s->current = NULL;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", status < 400 ? "ack" : "error");
    ch_jw_kint(&w, "status", status);
    if (req->ref)
        ch_jw_kvalue(&w, "ref", req->ref);
    ch_buf_addc(&out, ',');
    ch_buf_add_sv(&out, ch_sv_trim(ch_sv(json.p + 1, json.n - 1)));
    ch_ws_peer_send(s->peer, ch_buf_sv(&out));
    socket_watch(s, status < 400);
    ch_task_defer(req->gw->rt->loop, &s->next);
}

/* Writes the body of the POST that corresponds to the frame. */
static void write_post_body(struct ch_buf *out, const struct ch_json *frame, const char *mode) {
    static const char *const ours[] = {"type", "ref", "stream"};
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(k, v, frame)) {
        bool skip = mode && ch_sv_is(ch_json_str(k), "mode");
        for (size_t i = 0; i < CH_LEN(ours); i++)
            skip |= ch_sv_is(ch_json_str(k), ours[i]);
        if (skip)
            continue;
        ch_jw_key_sv(&w, ch_json_str(k));
        ch_jw_value(&w, v);
    }
    if (mode)
        ch_jw_kcstr(&w, "mode", mode);
    ch_jw_end(&w, '}');
}

/* A type of frame, and the POST that corresponds to it. */
static const struct frame_kind {
    const char *type, *path, *mode;
} kinds[] = {
    {"message", "/api/sessions/{}/messages", NULL},
    {"steer", "/api/sessions/{}/messages", "steer"},
    {"cancel", "/api/sessions/{}/cancel", NULL},
    {"approval", "/api/approvals/{}", NULL},
};

static const struct frame_kind *frame_kind_of(const struct ch_json *frame) {
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (ch_sv_is(ch_json_get_str(frame, "type"), kinds[i].type))
            return &kinds[i];
    return NULL;
}

static const struct ch_http_route *find_post_route(const struct ch_http_route *table,
                                                   const char *path) {
    const struct ch_http_route *r = table;
    while (strcmp(r->path, path) != 0 || strcmp(r->method, "POST") != 0)
        r++;
    return r;
}

static void route_frame(struct ch_request *req, struct ch_sv session) {
    const struct ch_json *frame = req->json, *ref = ch_json_get(frame, "ref");
    const struct frame_kind *k = frame_kind_of(frame);
    CH_BUF_AUTO body = {0};
    if (ref && (ref->type == CH_JSON_STRING || ref->type == CH_JSON_NUMBER))
        req->ref = ref;
    if (!k) {
        ch_request_fail(req, 400, NULL, "`type` must be message, steer, cancel or approval");
        return;
    }
    if (req->gw->draining) {
        ch_request_fail(req, 503, NULL, "the gateway is stopping");
        return;
    }
    req->route = find_post_route(req->gw->routes, k->path);
    req->param = strcmp(k->type, "approval") == 0 ? ch_json_get_str(frame, "id") : session;
    if (!req->param.n) {
        ch_request_fail(req, 400, NULL, "`id` of the approval is missing");
        return;
    }
    req->param =
        ch_arena_sv(&req->arena, req->param); /* copied: the request may outlive the socket */
    write_post_body(&body, frame, k->mode);
    ch_json_parse(&req->arena, ch_arena_sv(&req->arena, ch_buf_sv(&body)), CH_JSON_STRICT,
                  &req->json, NULL, NULL);
    req->route->run(req);
}

static void take_frame(struct session_socket *s, struct ch_sv text) {
    struct chela_error err = {0};
    struct ch_request *req = ch_request_nested(s->request, socket_on_answer, s);
    s->current = req;
    text = ch_arena_sv(&req->arena, text);
    if (ch_json_parse(&req->arena, text, CH_JSON_STRICT, &req->json, NULL, &err) < 0)
        ch_request_fail(req, 400, NULL, "the message is not valid JSON: %s", err.message);
    else if (!ch_json_is(req->json, CH_JSON_OBJECT))
        ch_request_fail(req, 400, NULL, "the message is not a JSON object");
    else
        route_frame(req, s->request->param);
}

static void socket_accept(struct session_socket *s);

/* A session that does not exist is created by a frame. */
static void socket_on_tail(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                           void *user) {
    struct session_socket *s = user;
    struct ch_request *req = s->request;
    (void)w;
    if (!s->peer && err && err->code != CHELA_ENOENT) {
        free_socket(s);
        ch_request_fail_with(req, err);
        return;
    }
    s->opening = false;
    s->looked = s->peer;
    if (!s->peer)
        socket_accept(s);
    if (gap && !err)
        ch_ws_peer_send(s->peer, CH_SV("{\"type\":\"gap\"}"));
    ch_task_defer(req->gw->rt->loop, &s->next);
}

static void socket_open_tail(struct session_socket *s, struct ch_sv after) {
    s->opening = true;
    ch_tail_open(s->request->gw, s->key, after.n ? CH_TAIL_AFTER : CH_TAIL_NOW, after, &s->watcher,
                 socket_on_tail, s);
}

/* Another gateway may have created the session meanwhile. */
static bool socket_must_look(const struct session_socket *s) {
    return !s->looked && !s->watcher.link.next;
}

static void socket_on_next(struct ch_task *t) {
    struct session_socket *s = CH_CONTAINER(t, struct session_socket, next);
    bool idle = !s->current && !s->opening &&
                ch_ws_peer_is_open(s->peer); /* nothing begins after a close frame */
    struct socket_frame *f = idle ? CH_LIST_FIRST(&s->frames, struct socket_frame, link) : NULL;
    if (!f)
        return;
    if (socket_must_look(s)) {
        socket_open_tail(s, ch_sv(NULL, 0));
        return;
    }
    take_frame(s, ch_sv(f->text, f->n));
    drop_frame(s, f);
}

static void socket_on_message(struct ch_ws_peer *p, struct ch_sv text, void *user) {
    struct session_socket *s = user;
    if (s->nframes == CH_LIMIT_SOCKET_FRAMES || s->bytes + text.n > CH_LIMIT_WS_MESSAGE) {
        ch_ws_peer_close(p, CH_WS_POLICY, "too many frames are waiting: wait for responses");
        return;
    }
    struct socket_frame *f = ch_alloc(sizeof(*f) + text.n);
    f->n = text.n;
    memcpy(f->text, text.p, text.n);
    ch_list_add(&s->frames, &f->link);
    s->nframes++;
    s->bytes += text.n;
    ch_task_defer(s->request->gw->rt->loop, &s->next);
}

/* --- opening */

static void socket_accept(struct session_socket *s) {
    static const struct ch_ws_peer_events events = {.message = socket_on_message,
                                                    .gone = socket_on_gone};
    struct ch_request *req = s->request;
    bool offered = ch_ws_peer_offers(ch_exchange_inbound(req->x), CH_SOCKET_PROTOCOL);
    req->streams = true;
    req->status = 101;
    ch_ws_peer_accept(req->gw->rt->loop, req->x, offered ? CH_SOCKET_PROTOCOL : NULL, &events, s,
                      &s->peer);
    req->peer = s->peer;
}

static void session_socket_open(struct ch_request *req, struct ch_lane *l, bool elsewhere) {
    struct ch_sv after = ch_session_events_after(req);
    struct session_socket *s = ch_alloc(sizeof(*s));
    s->request = req;
    s->key = ch_arena_str(&req->arena, req->param);
    s->watcher.event = socket_on_event;
    s->watcher.piece = socket_on_piece;
    s->watcher.deleted = socket_on_deleted;
    s->next.fn = socket_on_next;
    ch_list_init(&s->frames);
    req->user = s;
    req->on_disconnect = socket_on_disconnect;
    if (l || elsewhere) /* accepted then: no event that follows the 101 is missed */
        socket_open_tail(s, after);
    else
        socket_accept(s);
}

void ch_session_socket_open(struct ch_request *req) {
    const struct ch_inbound *in = ch_exchange_inbound(req->x);
    struct chela_error err = {0};
    const char *why;
    if (!ch_exchange_can_upgrade(req->x)) {
        ch_request_fail(req, 501, "http1_required", "a WebSocket needs HTTP/1.1");
        return;
    }
    int status = ch_ws_peer_check(in, &why);
    if (status == 426) {
        ch_request_add_header(req, "Upgrade", "websocket");
        ch_request_add_header(req, "Sec-WebSocket-Version", "13");
    }
    if (status)
        ch_request_fail(req, status, NULL, "%s", why);
    else if (ch_inbound_count(in, "sec-websocket-protocol") &&
             !ch_ws_peer_offers(in, CH_SOCKET_PROTOCOL))
        ch_request_fail(req, 400, NULL, "the only subprotocol is " CH_SOCKET_PROTOCOL);
    else if (ch_lane_key_check(req->param, &err) < 0)
        ch_request_fail_with(req, &err);
    else
        ch_session_open_lane(req, true, session_socket_open);
}

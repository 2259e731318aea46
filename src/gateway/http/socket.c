/* socket.c -- GET /api/sessions/{key}/socket: a session over a WebSocket.
 *
 * Out go its events, the JSON of /events. In come frames, each what a POST would
 * have as its body: a frame becomes a visit without a connection and is led to the
 * function of that route, so it means the same and is checked the same. Its answer
 * comes back as a frame, `ack` or `error`, with the `ref` that the client gave it.
 *
 * Frames are answered one by one, in their order; those that come meanwhile wait,
 * within a bound. A session that is not there yet comes about with its first
 * message, as it does over POST, and is followed from then on. */
#include "net/ws_peer.h"

#include "base/error.h"
#include "base/limits.h"
#include "gateway/http/events.h"
#include "gateway/http/routes.h"
#include "gateway/http/session_open.h"

struct socket {
    struct ch_visit *visit; /* the request that it began as */
    struct ch_ws_peer *peer;
    struct ch_watcher watcher;
    struct ch_visit *asks; /* the frame that is being answered; NULL: none */
    struct ch_list frames; /* that wait */
    size_t nframes, bytes;
    struct ch_task next;
};

struct frame {
    struct ch_link link;
    size_t n;
    char text[];
};

/* --- its end */

static void drop_frame(struct socket *s, struct frame *f) {
    ch_list_del(&f->link);
    s->nframes--;
    s->bytes -= f->n;
    ch_free(f);
}

/* What was asked for is done all the same; nobody hears how it went. */
static void free_socket(struct socket *s) {
    struct ch_visit *v = s->visit;
    if (s->asks)
        s->asks->asker = NULL;
    for (struct frame *f; (f = CH_LIST_FIRST(&s->frames, struct frame, link));)
        drop_frame(s, f);
    ch_task_cancel(v->gw->rt->loop, &s->next);
    ch_lane_unwatch(&s->watcher);
    ch_ws_peer_free(s->peer);
    v->peer = NULL;
    v->left = NULL;
    ch_free(s);
}

static void on_left(struct ch_visit *v) {
    free_socket(v->user);
}

static void on_gone(struct ch_ws_peer *p, unsigned code, void *user) {
    struct socket *s = user;
    struct ch_visit *v = s->visit;
    (void)p;
    (void)code;
    free_socket(s);
    ch_visit_end(v);
}

void ch_sockets_close(chela_gateway *gw, bool all) {
    for (CH_LIST_EACH(k, &gw->visits)) {
        struct ch_visit *v = CH_CONTAINER(k, struct ch_visit, link);
        const struct ch_lane *l = v->peer && !all ? ch_lane_find(gw, v->param) : NULL;
        if (!v->peer || (l && l->running))
            continue;
        ch_ws_peer_close(v->peer, CH_WS_AWAY, "the gateway stops");
        v->streams = false; /* its goodbye is waited for */
    }
}

/* --- events out */

static void on_event(struct ch_watcher *w, const struct chela_event *ev) {
    struct socket *s = CH_CONTAINER(w, struct socket, watcher);
    char *json = chela_event_json(ev);
    ch_ws_peer_send(s->peer, ch_sv_str(json));
    chela_free(json);
    if (ev->type != CHELA_EV_RUN_END || !s->visit->gw->draining)
        return;
    ch_ws_peer_close(s->peer, CH_WS_AWAY, "the gateway stops");
    s->visit->streams = false;
}

static bool tell_again(const struct ch_told *t, void *user) {
    return ch_ws_peer_send(user, t ? ch_sv_str(t->json) : CH_SV("{\"type\":\"gap\"}")) == 0;
}

/* --- frames in */

/* The answer of a route is an object: it gets three members in front. */
static void on_answer(struct ch_visit *v, int status, struct ch_sv json) {
    struct socket *s = v->asker;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (!s)
        return;
    s->asks = NULL;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", status < 400 ? "ack" : "error");
    ch_jw_kint(&w, "status", status);
    if (v->ref) {
        ch_jw_key(&w, "ref");
        ch_jw_value(&w, v->ref);
    }
    ch_buf_addc(&out, ',');
    ch_buf_add_sv(&out, ch_sv_trim(ch_sv(json.p + 1, json.n - 1)));
    ch_ws_peer_send(s->peer, ch_buf_sv(&out));
    struct ch_lane *l = s->watcher.link.next ? NULL : ch_lane_find(v->gw, s->visit->param);
    if (l)
        ch_lane_watch(l, &s->watcher);
    ch_task_defer(v->gw->rt->loop, &s->next);
}

/* What the body of a POST would be. */
static void write_body(struct ch_buf *out, const struct ch_json *frame, const char *mode) {
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

/* type: which POST it stands for. */
static const struct kind {
    const char *type, *path, *mode;
} kinds[] = {
    {"message", "/api/sessions/{}/messages", NULL},
    {"steer", "/api/sessions/{}/messages", "steer"},
    {"cancel", "/api/sessions/{}/cancel", NULL},
    {"approval", "/api/approvals/{}", NULL},
};

static const struct kind *kind_of(const struct ch_json *frame) {
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (ch_sv_is(ch_json_get_str(frame, "type"), kinds[i].type))
            return &kinds[i];
    return NULL;
}

static const struct ch_route *route_of(const char *path) {
    const struct ch_route *r = ch_routes;
    while (strcmp(r->path, path) != 0 || strcmp(r->method, "POST") != 0)
        r++;
    return r;
}

static void lead(struct ch_visit *v, struct ch_sv session) {
    const struct ch_json *frame = v->json, *ref = ch_json_get(frame, "ref");
    const struct kind *k = kind_of(frame);
    CH_BUF_AUTO body = {0};
    if (ref && (ref->type == CH_JSON_STRING || ref->type == CH_JSON_NUMBER))
        v->ref = ref;
    if (!k) {
        ch_visit_fail(v, 400, NULL, "`type` is message, steer, cancel or approval");
        return;
    }
    if (v->gw->draining) {
        ch_visit_fail(v, 503, NULL, "the gateway stops");
        return;
    }
    v->route = route_of(k->path);
    v->param = strcmp(k->type, "approval") == 0 ? ch_json_get_str(frame, "id") : session;
    if (!v->param.n) {
        ch_visit_fail(v, 400, NULL, "there is no `id` of an approval");
        return;
    }
    v->param = ch_arena_sv(&v->arena, v->param); /* the socket may go before the visit */
    write_body(&body, frame, k->mode);
    ch_json_parse(&v->arena, ch_arena_sv(&v->arena, ch_buf_sv(&body)), CH_JSON_STRICT, &v->json,
                  NULL, NULL);
    v->route->run(v);
}

static void take_frame(struct socket *s, struct ch_sv text) {
    struct chela_error err = {0};
    struct ch_visit *v = ch_visit_within(s->visit, on_answer, s);
    s->asks = v;
    text = ch_arena_sv(&v->arena, text);
    if (ch_json_parse(&v->arena, text, CH_JSON_STRICT, &v->json, NULL, &err) < 0)
        ch_visit_fail(v, 400, NULL, "the message is no JSON: %s", err.message);
    else if (!ch_json_is(v->json, CH_JSON_OBJECT))
        ch_visit_fail(v, 400, NULL, "the message is not a JSON object");
    else
        lead(v, s->visit->param);
}

static void on_next(struct ch_task *t) {
    struct socket *s = CH_CONTAINER(t, struct socket, next);
    bool idle = !s->asks && ch_ws_peer_is_open(s->peer); /* after a goodbye nothing is begun */
    struct frame *f = idle ? CH_LIST_FIRST(&s->frames, struct frame, link) : NULL;
    if (!f)
        return;
    take_frame(s, ch_sv(f->text, f->n));
    drop_frame(s, f);
}

static void on_message(struct ch_ws_peer *p, struct ch_sv text, void *user) {
    struct socket *s = user;
    if (s->nframes == CH_LIMIT_SOCKET_FRAMES || s->bytes + text.n > CH_LIMIT_WS_MESSAGE) {
        ch_ws_peer_close(p, CH_WS_POLICY, "you say more than is answered: wait for that");
        return;
    }
    struct frame *f = ch_alloc(sizeof(*f) + text.n);
    f->n = text.n;
    memcpy(f->text, text.p, text.n);
    ch_list_add(&s->frames, &f->link);
    s->nframes++;
    s->bytes += text.n;
    ch_task_defer(s->visit->gw->rt->loop, &s->next);
}

/* --- its beginning */

static void open_socket(struct ch_visit *v, struct ch_lane *l) {
    static const struct ch_ws_peer_events events = {.message = on_message, .gone = on_gone};
    bool offered = ch_ws_peer_offers(ch_exchange_inbound(v->x), CH_SOCKET_PROTOCOL);
    struct ch_sv after = ch_query_decode(&v->arena, ch_visit_query(v, "after"));
    struct socket *s = ch_alloc(sizeof(*s));
    s->visit = v;
    s->watcher.event = on_event;
    s->next.fn = on_next;
    ch_list_init(&s->frames);
    v->user = s;
    v->left = on_left;
    v->streams = true;
    v->status = 101;
    ch_ws_peer_accept(v->gw->rt->loop, v->x, offered ? CH_SOCKET_PROTOCOL : NULL, &events, s,
                      &s->peer);
    v->peer = s->peer;
    if (l && after.n)
        ch_events_replay(l, after, tell_again, s->peer);
    if (l)
        ch_lane_watch(l, &s->watcher);
}

void ch_sessions_socket(struct ch_visit *v) {
    const struct ch_inbound *in = ch_exchange_inbound(v->x);
    struct chela_error err = {0};
    const char *why;
    if (!ch_exchange_can_upgrade(v->x)) {
        ch_visit_fail(v, 501, "http1_required", "a WebSocket needs HTTP/1.1 here");
        return;
    }
    int status = ch_ws_peer_check(in, &why);
    if (status == 426) {
        ch_visit_header(v, "Upgrade", "websocket");
        ch_visit_header(v, "Sec-WebSocket-Version", "13");
    }
    if (status)
        ch_visit_fail(v, status, NULL, "%s", why);
    else if (ch_inbound_count(in, "sec-websocket-protocol") &&
             !ch_ws_peer_offers(in, CH_SOCKET_PROTOCOL))
        ch_visit_fail(v, 400, NULL, "the only subprotocol is " CH_SOCKET_PROTOCOL);
    else if (ch_lane_key_check(v->param, &err) < 0)
        ch_visit_error(v, &err);
    else
        ch_seek(v, true, open_socket);
}

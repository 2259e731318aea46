/* socket.c -- see socket.h.
 *
 *   OPENING --open--> SENT --first event--> BEGUN --last event--> done
 *      |                |                     |
 *      +--gone----------+--> over HTTP        +--gone--> failed
 *
 * The first event decides on the head that the caller gets: an event "error" has the status and
 * the headers of a failed response, any other one is the begin of a stream. */
#include "model/provider/socket.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/pull.h"
#include "net/http_route.h"
#include "net/ws.h"

#define MOST_DEATHS 2 /* connections in a row that ended without an event: no more are opened */

struct ch_socket {
    struct ch_transport transport;
    struct ch_http *http;
    struct ch_loop *loop;
    struct ch_ws *ws; /* NULL: not connected */
    bool open;
    char *url;                 /* owned: of the connection */
    struct ch_http_call *call; /* the open one; NULL: none */
    unsigned deaths, stray;
    struct chela_error failure; /* why requests go over HTTP; empty message: they do not */
};

struct ch_http_call {
    struct ch_socket *socket;
    struct ch_http_request req;
    const struct ch_http_handler *handler;
    void *user;
    struct ch_http_call *inner; /* it goes over HTTP */
    struct ch_timer timer;
    struct ch_task task;
    bool begun, again; /* again: sent on a second connection */
    bool *freed;       /* set when the call is freed inside a callback; NULL: nobody asks */
    uint64_t received;
    struct ch_buf event;
    struct ch_buf scratch;
};

static void socket_call_free(struct ch_http_call *c) {
    ch_timer_stop(c->socket->loop, &c->timer);
    ch_task_cancel(c->socket->loop, &c->task);
    if (c->socket->call == c)
        c->socket->call = NULL;
    if (c->freed)
        *c->freed = true;
    ch_buf_release(&c->event);
    ch_buf_release(&c->scratch);
    ch_free(c);
}

static void socket_finish(struct ch_http_call *c, const struct chela_error *err) {
    const struct ch_http_handler *handler = c->handler;
    void *user = c->user;
    socket_call_free(c);
    handler->on_done(err, user);
}

static void hang_up(struct ch_socket *s) {
    s->open = false;
    ch_ws_close(CH_TAKE(s->ws));
}

/* --- over HTTP */

static void inner_on_head(const struct ch_http_head *head, void *user) {
    struct ch_http_call *c = user;
    if (c->handler->on_head)
        c->handler->on_head(head, c->user);
}

static void inner_on_data(struct ch_sv data, void *user) {
    struct ch_http_call *c = user;
    c->handler->on_data(data, c->user);
}

static void inner_on_done(const struct chela_error *err, void *user) {
    struct ch_http_call *c = user;
    c->inner = NULL;
    socket_finish(c, err);
}

static void go_over_http(struct ch_http_call *c) {
    static const struct ch_http_handler handler = {inner_on_head, inner_on_data, inner_on_done};
    ch_timer_stop(c->socket->loop, &c->timer);
    c->socket->call = NULL; /* the connection has no part in it */
    c->inner = ch_transport_start(ch_http_transport(c->socket->http), &c->req, &handler, c);
}

static void socket_on_task(struct ch_task *t) {
    go_over_http(CH_CONTAINER(t, struct ch_http_call, task));
}

/* --- events */

static struct ch_sv type_of(struct ch_sv event, struct ch_buf *scratch) {
    struct ch_pull p;
    struct ch_sv key, type = {0};
    ch_pull_init(&p, event, scratch);
    if (ch_pull_enter(&p, '{'))
        while (!type.n && ch_pull_key(&p, &key)) {
            if (ch_sv_is(key, "type"))
                ch_pull_str(&p, &type);
            else
                ch_pull_skip(&p);
        }
    return type;
}

static bool is_last(struct ch_sv type) {
    static const char *const types[] = {"response.completed", "response.incomplete",
                                        "response.failed", "response.cancelled", "error"};
    for (size_t i = 0; i < CH_LEN(types); i++)
        if (ch_sv_is(type, types[i]))
            return true;
    return false;
}

/* An error instead of a reply is the response that HTTP would have. False: the call is gone. */
static bool begin_reply(struct ch_http_call *c, struct ch_sv type, struct ch_sv event) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    struct ch_http_head head = {.status = 200};
    bool freed = false;
    struct ch_header *headers = NULL;
    if (ch_sv_is(type, "error") &&
        ch_json_parse(&arena, event, CH_JSON_REPLACE, &v, NULL, NULL) == 0) {
        const struct ch_json *given = ch_json_get(v, "headers");
        int64_t status = ch_json_int(ch_json_get(v, "status"), 0);
        head.status = status >= 400 && status <= 599 ? (int)status : 500;
        if (ch_json_is(given, CH_JSON_OBJECT)) {
            headers = ch_arena_alloc(&arena, (given->n + 1) * sizeof(*headers));
            for (CH_JSON_MEMBERS(k, value, given)) {
                struct ch_sv name = ch_json_str(k);
                char *lower = ch_arena_str(&arena, name);
                for (size_t i = 0; i < name.n; i++)
                    if (lower[i] >= 'A' && lower[i] <= 'Z')
                        lower[i] = (char)(lower[i] + 32);
                headers[head.nheaders++] =
                    (struct ch_header){ch_sv(lower, name.n), ch_json_str(value)};
            }
        }
        head.headers = headers;
    }
    c->begun = true;
    c->socket->deaths = 0;
    c->freed = &freed;
    if (c->handler->on_head)
        c->handler->on_head(&head, c->user);
    if (!freed)
        c->freed = NULL;
    return !freed;
}

static void socket_on_late(struct ch_timer *t) {
    struct ch_http_call *c = CH_CONTAINER(t, struct ch_http_call, timer);
    struct chela_error err = {0};
    ch_fail(&err, CHELA_ETIMEOUT, "timeout: no %s of the reply on the WebSocket",
            c->begun ? "further part" : "begin");
    hang_up(c->socket);
    socket_finish(c, &err);
}

static void expect_event(struct ch_http_call *c) {
    int64_t ms = c->begun ? c->req.timeouts.idle : c->req.timeouts.first_byte;
    if (!ms)
        ms = c->begun ? CH_DEFAULT_IDLE_MS : CH_DEFAULT_FIRST_BYTE_MS;
    ch_timer_start(c->socket->loop, &c->timer, ms, socket_on_late);
}

static void fail_call(struct ch_http_call *c, int code, const char *why) {
    struct chela_error err = {0};
    ch_fail(&err, code, "%s", why);
    hang_up(c->socket);
    socket_finish(c, &err);
}

/* Hands an event on in the form of a stream. A line feed in JSON is white space. False: the call is
 * gone. */
static bool hand_on(struct ch_http_call *c, struct ch_sv event) {
    CH_BUF_LIT(&c->event, "data: ");
    size_t at = c->event.n;
    ch_buf_add_sv(&c->event, event);
    for (char *p = c->event.p + at; (p = memchr(p, '\n', (size_t)(c->event.p + c->event.n - p)));)
        *p = ' ';
    for (char *p = c->event.p + at; (p = memchr(p, '\r', (size_t)(c->event.p + c->event.n - p)));)
        *p = ' ';
    CH_BUF_LIT(&c->event, "\n\n");
    struct ch_buf whole = c->event;
    c->event = (struct ch_buf){0};
    bool freed = false;
    c->freed = &freed;
    c->handler->on_data(ch_buf_sv(&whole), c->user);
    if (freed) {
        ch_buf_release(&whole);
        return false;
    }
    c->freed = NULL;
    ch_buf_clear(&whole); /* its memory serves again */
    c->event = whole;
    return true;
}

static void on_stray(struct ch_socket *s) {
    if (++s->stray > CH_LIMIT_MODEL_WS_STRAY)
        hang_up(s);
}

/* The service refuses the request because the connection is too old, not the request itself. */
static bool is_worn(struct ch_sv type, struct ch_sv event) {
    static const struct ch_sv code = CH_SV("\"websocket_connection_limit_reached\"");
    return ch_sv_is(type, "error") && memmem(event.p, event.n, code.p, code.n);
}

static int socket_connect(struct ch_socket *s, const struct ch_http_request *req,
                          struct chela_error *err);

static void renew(struct ch_http_call *c) {
    struct chela_error err = {0};
    hang_up(c->socket);
    if (c->again || socket_connect(c->socket, &c->req, &err) < 0)
        ch_task_defer(c->socket->loop, &c->task);
    c->again = true;
}

static void socket_on_message(struct ch_ws *w, enum ch_ws_kind kind, struct ch_sv data,
                              void *user) {
    struct ch_socket *s = user;
    struct ch_http_call *c = s->call;
    (void)w;
    if (!c) {
        on_stray(s);
        return;
    }
    uint64_t most = c->req.max_body ? c->req.max_body : CH_LIMIT_HTTP_STREAM;
    c->received += data.n;
    if (kind != CH_WS_TEXT) {
        fail_call(c, CHELA_EPROTO, "the service sent a binary message on the WebSocket");
        return;
    }
    if (c->received > most) {
        fail_call(c, CHELA_ELIMIT, "the reply on the WebSocket is larger than allowed");
        return;
    }
    struct ch_sv type = type_of(data, &c->scratch);
    bool last = is_last(type);
    if (!c->begun && is_worn(type, data)) {
        renew(c);
        return;
    }
    if (!c->begun && !begin_reply(c, type, data))
        return;
    expect_event(c);
    if (hand_on(c, data) && last)
        socket_finish(c, NULL);
}

static void socket_on_alive(struct ch_ws *w, void *user) {
    struct ch_socket *s = user;
    (void)w;
    if (s->call && s->call->begun)
        expect_event(s->call);
}

/* --- the connection */

/* "response.create" with the members of the request, without those of HTTP's streams. */
static void write_create(const struct ch_http_request *req, struct ch_buf *out) {
    static const struct ch_sv stream = CH_SV("],\"stream\":true");
    CH_BUF_LIT(out, "{\"type\":\"response.create\",");
    for (size_t i = 0; i < req->nbody; i++) {
        struct ch_sv piece = req->body[i];
        if (i == 0 && piece.n)
            piece = ch_sv(piece.p + 1, piece.n - 1);
        if (i + 1 == req->nbody && ch_sv_starts(piece, stream.p)) {
            ch_buf_addc(out, ']');
            piece = ch_sv(piece.p + stream.n, piece.n - stream.n);
        }
        ch_buf_add_sv(out, piece);
    }
}

static void socket_send(struct ch_socket *s) {
    CH_BUF_AUTO message = {0};
    write_create(&s->call->req, &message);
    if (ch_ws_send(s->ws, CH_WS_TEXT, ch_buf_sv(&message)) < 0) { /* larger than the queue */
        hang_up(s);
        ch_task_defer(s->loop, &s->call->task);
        return;
    }
    expect_event(s->call);
}

static void socket_on_open(struct ch_ws *w, void *user) {
    struct ch_socket *s = user;
    (void)w;
    s->open = true;
    if (s->call)
        socket_send(s);
}

/* No connection, or one that ended without an event. */
static void count_death(struct ch_socket *s, const struct chela_error *err, bool refused) {
    if (refused || ++s->deaths >= MOST_DEATHS)
        s->failure = *err;
}

static void socket_on_gone(struct ch_ws *w, const struct chela_error *err, void *user) {
    struct ch_socket *s = user;
    struct ch_http_call *c = s->call;
    bool was_open = s->open;
    (void)w;
    hang_up(s);
    if (!c)
        return;
    if (c->begun) {
        struct chela_error lost = *err;
        if (err->code == CHELA_ELIMIT || err->code == CHELA_EPROTO) { /* then over HTTP */
            count_death(s, err, true);
            lost.code = CHELA_ENET;
        }
        socket_finish(c, &lost);
        return;
    }
    count_death(s, err, !was_open);
    go_over_http(c);
}

static int socket_connect(struct ch_socket *s, const struct ch_http_request *req,
                          struct chela_error *err) {
    static const struct ch_ws_events events = {.open = socket_on_open,
                                               .message = socket_on_message,
                                               .gone = socket_on_gone,
                                               .alive = socket_on_alive};
    CH_BUF_AUTO url = {0};
    struct ch_header *headers = ch_alloc((req->nheaders + 1) * sizeof(*headers));
    size_t n = 0;
    for (size_t i = 0; i < req->nheaders; i++)
        if (!ch_sv_eq_nocase(req->headers[i].name, CH_SV("content-type")) &&
            !ch_sv_eq_nocase(req->headers[i].name, CH_SV("accept")) &&
            !ch_sv_eq_nocase(req->headers[i].name, CH_SV("user-agent")))
            headers[n++] = req->headers[i];
    if (strncmp(req->url, "http", 4) == 0)
        ch_buf_addf(&url, "ws%s", req->url + 4);
    struct ch_ws_opts opts = {.url = ch_buf_str(&url),
                              .connect_ms = req->timeouts.connect,
                              .headers = headers,
                              .nheaders = n};
    ch_free(s->url);
    s->url = ch_strdup(req->url);
    s->stray = 0;
    int rc = ch_ws_open(s->http, &opts, &events, s, &s->ws, err);
    ch_free(headers);
    return rc;
}

/* --- the transport */

static struct ch_http_call *socket_start(struct ch_transport *t, const struct ch_http_request *req,
                                         const struct ch_http_handler *handler, void *user) {
    struct ch_socket *s = CH_CONTAINER(t, struct ch_socket, transport);
    struct ch_http_call *c = ch_alloc(sizeof(*c));
    struct chela_error err = {0};
    *c = (struct ch_http_call){.socket = s, .req = *req, .handler = handler, .user = user};
    c->task.fn = socket_on_task;
    if (*s->failure.message || s->call || strcmp(req->method, "POST") != 0) {
        ch_task_defer(s->loop, &c->task);
        return c;
    }
    s->call = c;
    if (s->ws && strcmp(s->url, req->url) != 0)
        hang_up(s);
    if (s->ws && s->open) {
        socket_send(s);
    } else if (!s->ws && socket_connect(s, req, &err) < 0) {
        count_death(s, &err, true);
        ch_task_defer(s->loop, &c->task);
    }
    return c;
}

/* The service goes on with a reply that nobody wants, so the connection ends. */
static void socket_cancel(struct ch_transport *t, struct ch_http_call *c) {
    struct ch_socket *s = CH_CONTAINER(t, struct ch_socket, transport);
    if (c->inner)
        ch_transport_cancel(ch_http_transport(s->http), c->inner);
    if (s->call == c)
        hang_up(s);
    socket_call_free(c);
}

struct ch_socket *ch_socket_new(struct ch_http *h) {
    static const struct ch_transport_ops ops = {"websocket", socket_start, socket_cancel};
    struct ch_socket *s = ch_alloc(sizeof(*s));
    s->transport.ops = &ops;
    s->http = h;
    s->loop = ch_http_shared(h)->loop;
    return s;
}

void ch_socket_free(struct ch_socket *s) {
    if (!s)
        return;
    hang_up(s);
    ch_free(s->url);
    ch_free(s);
}

struct ch_transport *ch_socket_transport(struct ch_socket *s) {
    return &s->transport;
}

const char *ch_socket_failure(const struct ch_socket *s) {
    return s ? s->failure.message : "";
}

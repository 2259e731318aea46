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
#include "json/writer.h"
#include "model/vendor/responses/responses_held.h"
#include "net/http_route.h"
#include "net/ws.h"

#define MOST_DEATHS 2 /* connections in a row that ended without an event: no more are opened */
#define ROOM_KEPT ((size_t)16 * CH_KB) /* for events, between requests */
#define MOST_REFUSALS 2 /* continuations in a row that were refused: no more are sent */

struct ch_socket {
    struct ch_transport transport;
    struct ch_http *http;
    struct ch_loop *loop;
    struct ch_ws *ws; /* NULL: not connected */
    bool open;
    char *url;                 /* owned: of the connection */
    struct ch_http_call *call; /* the open one; NULL: none */
    uint64_t history; /* of the next request */
    struct ch_responses_held held;
    struct ch_buf events; /* a part of the reply, which is handed on when all messages are read */
    unsigned deaths, refusals, stray;
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
    bool continues;    /* a part of the request was sent, and nothing of the reply has come */
    bool *freed;       /* set when the call is freed inside a callback; NULL: nobody asks */
    uint64_t received;
    struct ch_buf scratch;
};

static void socket_call_free(struct ch_http_call *c) {
    ch_timer_stop(c->socket->loop, &c->timer);
    ch_task_cancel(c->socket->loop, &c->task);
    if (c->socket->call == c)
        c->socket->call = NULL;
    if (c->freed)
        *c->freed = true;
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
    ch_buf_clear(&s->events);
    ch_responses_held_clear(&s->held);
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
    static const struct ch_sv first = CH_SV("{\"type\":\"");
    struct ch_pull p;
    struct ch_sv key, type = {0};
    if (ch_sv_starts(event, first.p)) { /* as the services write it */
        struct ch_sv rest = ch_sv(event.p + first.n, event.n - first.n);
        type = ch_sv_split(&rest, '"');
        if (rest.p && !memchr(type.p, '\\', type.n))
            return type;
        type = (struct ch_sv){0};
    }
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

/* What an event means for the transport. */
enum course {
    COURSE_OPENING, /* before the first item of a reply */
    COURSE_ITEM,
    COURSE_LAST,
};

static enum course course_of(struct ch_sv type) {
    static const struct {
        struct ch_sv type;
        enum course course;
    } states[] = {
        {CH_SV("response.created"), COURSE_OPENING},
        {CH_SV("response.in_progress"), COURSE_OPENING},
        {CH_SV("response.queued"), COURSE_OPENING},
        {CH_SV("response.completed"), COURSE_LAST},
        {CH_SV("response.incomplete"), COURSE_LAST},
        {CH_SV("response.failed"), COURSE_LAST},
        {CH_SV("response.cancelled"), COURSE_LAST},
        {CH_SV("error"), COURSE_LAST},
    };
    for (size_t i = 0; i < CH_LEN(states); i++)
        if (ch_sv_eq(type, states[i].type))
            return states[i].course;
    return COURSE_ITEM;
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

static void blank_out(char *p, const char *end, char c) {
    while ((p = memchr(p, c, (size_t)(end - p))))
        *p = ' ';
}

/* Adds an event in the form of a stream. A line feed in JSON is white space. */
static void add_event(struct ch_buf *out, struct ch_sv event) {
    static const struct ch_sv field = CH_SV("data: "), end = CH_SV("\n\n");
    char *at = ch_buf_reserve(out, field.n + event.n + end.n);
    if (!at)
        return;
    memcpy(at, field.p, field.n);
    memcpy(at + field.n, event.p, event.n);
    blank_out(at + field.n, at + field.n + event.n, '\n');
    blank_out(at + field.n, at + field.n + event.n, '\r');
    memcpy(at + field.n + event.n, end.p, end.n);
    ch_buf_commit(out, field.n + event.n + end.n);
}

/* Hands the events on. False: the call is gone, and perhaps the socket. */
static bool hand_on(struct ch_http_call *c) {
    struct ch_socket *s = c->socket;
    struct ch_buf whole = s->events;
    bool freed = false;
    if (!whole.n)
        return true;
    s->events = (struct ch_buf){0};
    c->freed = &freed;
    c->handler->on_data(ch_buf_sv(&whole), c->user);
    if (freed) {
        ch_buf_release(&whole);
        return false;
    }
    c->freed = NULL;
    if (whole.cap > ROOM_KEPT)
        ch_buf_release(&whole);
    ch_buf_clear(&whole); /* its memory serves again */
    s->events = whole;
    return true;
}

static void fail_call(struct ch_http_call *c, int code, const char *why) {
    struct chela_error err = {0};
    if (!hand_on(c)) /* with the call, the connection is gone */
        return;
    ch_fail(&err, code, "%s", why);
    hang_up(c->socket);
    socket_finish(c, &err);
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
static void socket_send(struct ch_socket *s);

static void renew(struct ch_http_call *c) {
    struct chela_error err = {0};
    hang_up(c->socket);
    if (c->again || socket_connect(c->socket, &c->req, &err) < 0)
        ch_task_defer(c->socket->loop, &c->task);
    c->again = true;
}

/* The service does not hold what the request continues, or takes no continuations. A refused
 * request costs nothing. */
static bool is_refusal(struct ch_sv type, struct ch_sv event) {
    static const struct ch_sv code = CH_SV("\"previous_response_not_found\"");
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    bool failed = ch_sv_is(type, "error") || ch_sv_is(type, "response.failed");
    if (!failed || memmem(event.p, event.n, code.p, code.n))
        return failed;
    ch_json_parse(&arena, event, CH_JSON_REPLACE, &v, NULL, NULL);
    int64_t status = ch_json_int(ch_json_get(v, "status"), 0);
    return status == 400 || status == 404 || status == 409 || status == 422;
}

/* True: the whole request is sent instead of the part that was refused. */
static bool mind_continuation(struct ch_http_call *c, struct ch_sv type, struct ch_sv event) {
    struct ch_socket *s = c->socket;
    if (!c->continues || course_of(type) == COURSE_OPENING)
        return false;
    c->continues = false;
    bool refused = is_refusal(type, event);
    s->refusals = refused ? s->refusals + 1 : 0;
    if (!refused)
        return false;
    ch_responses_held_clear(&s->held);
    ch_buf_clear(&s->events);
    socket_send(s);
    return true;
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
    if (c->begun && !c->continues && ch_sv_ends(type, ".delta")) { /* most events */
        add_event(&s->events, data);
        return;
    }
    if (!c->begun && is_worn(type, data)) {
        renew(c);
        return;
    }
    if (mind_continuation(c, type, data) || (!c->begun && !begin_reply(c, type, data)))
        return;
    ch_responses_held_event(&s->held, type, data);
    add_event(&s->events, data);
    if (course_of(type) == COURSE_LAST && hand_on(c))
        socket_finish(c, NULL);
}

static void socket_on_drained(struct ch_ws *w, void *user) {
    struct ch_socket *s = user;
    (void)w;
    if (!s->call || !s->call->begun)
        return;
    expect_event(s->call);
    hand_on(s->call);
}

/* --- the connection */

/* Sends "response.create" with the members of the request, without those of HTTP's streams.
 * previous: the id of the reply that it continues; empty: none. */
static int send_create(struct ch_ws *ws, const struct ch_sv body[3], struct ch_sv previous) {
    static const struct ch_sv stream = CH_SV("],\"stream\":true");
    CH_BUF_AUTO begin = {0};
    struct ch_sv tail = body[2], items_end = {0};
    const char *at = ch_sv_starts(tail, stream.p) ? tail.p /* as most tails */
                                                  : memmem(tail.p, tail.n, stream.p, stream.n);
    CH_BUF_LIT(&begin, "{\"type\":\"response.create\",");
    if (previous.n) {
        CH_BUF_LIT(&begin, "\"previous_response_id\":");
        ch_json_quote(&begin, previous);
        ch_buf_addc(&begin, ',');
    }
    if (at) {
        items_end = ch_sv(tail.p, (size_t)(at - tail.p) + 1);
        tail = ch_sv(at + stream.n, (size_t)(tail.p + tail.n - at) - stream.n);
    }
    const struct ch_sv parts[] = {ch_buf_sv(&begin), ch_sv(body[0].p + 1, body[0].n - 1), body[1],
                                  items_end, tail};
    return ch_ws_send_parts(ws, CH_WS_TEXT, parts, CH_LEN(parts));
}

static void socket_send(struct ch_socket *s) {
    const struct ch_sv *body = s->call->req.body;
    struct ch_sv part[3] = {body[0], body[1], body[2]};
    s->call->continues = s->refusals < MOST_REFUSALS &&
                         ch_responses_held_rest(&s->held, s->history, body, &part[1]);
    int rc = send_create(s->ws, part, s->call->continues ? ch_buf_sv(&s->held.id) : CH_SV(""));
    ch_responses_held_sent(&s->held, s->history, body);
    if (rc < 0) { /* larger than the queue */
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
    bool there = !c || hand_on(c);
    if (there)
        hang_up(s);
    if (!c || !there)
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
                                               .drained = socket_on_drained};
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
    if (*s->failure.message || s->call || strcmp(req->method, "POST") != 0 || req->nbody != 3) {
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
    ch_buf_release(&s->events);
    ch_free(s->url);
    ch_free(s);
}

void ch_socket_history(struct ch_socket *s, uint64_t history) {
    s->history = history;
}

struct ch_transport *ch_socket_transport(struct ch_socket *s) {
    return &s->transport;
}

const char *ch_socket_failure(const struct ch_socket *s) {
    return s ? s->failure.message : "";
}

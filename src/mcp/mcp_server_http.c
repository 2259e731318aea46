/* mcp_server_http.c -- see mcp_server.h: Streamable HTTP.
 *
 * A POST carries one message, or a batch of them in 2025-03-26. Its response is JSON if the
 * answer is the only message, and a stream of events otherwise. A request of 2026-07-28 is
 * independent of others: its connection lives as long as its response, and a client that
 * disconnects cancels the request.
 *
 * A session of 2025-11-25 outlives its HTTP requests. Its streams keep their events for a
 * while, so that the client can fetch them later with GET and Last-Event-ID. The id of an
 * event is the number of its stream, a dash, and the number of the event. */
#include "mcp/mcp_server_http.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/limits.h"
#include "mcp/mcp_server_connection.h"
#include "mcp/mcp_server_item.h"
#include "net/server.h"

#define ID_BYTES 16
#define ID_SIZE (2 * ID_BYTES + 12) /* with the number of a worker */

struct ch_mcp_event {
    struct ch_link link;
    unsigned number;
    size_t n;
    char text[];
};

struct ch_mcp_session {
    struct ch_link link;    /* in server->sessions; the least recently used is first */
    chela_mcp_connection c; /* linked in server->connections */
    char id[ID_SIZE];
    struct ch_list streams; /* struct ch_mcp_stream, oldest first */
    size_t nstreams, kept;  /* kept: bytes of all events */
    unsigned last;          /* number of the newest stream */
    struct ch_mcp_stream *general; /* opened by GET, perhaps lost since; NULL: none */
    int64_t used;           /* monotonic time of the last request */
};

struct ch_mcp_stream {
    struct ch_link link;            /* in session->streams */
    struct ch_link attached;        /* in server->streams, while there is a client, or in
                                       server->buried */
    struct ch_task bury;
    struct ch_mcp_session *session; /* NULL: a request of 2026-07-28 */
    chela_mcp_server *server;
    const struct ch_mcp_http_ops *ops;
    void *x;       /* NULL: there is no client */
    bool began;    /* the response is a stream of events */
    bool done;     /* the request is answered */
    bool json, sse; /* formats that the client accepts */
    bool opens;    /* the request is `initialize` */
    unsigned number, sent;
    struct ch_list events;  /* of a session */
    chela_mcp_connection c; /* connection of a request of 2026-07-28 */
};

static struct ch_mcp_session *session_of(chela_mcp_connection *c) {
    return CH_CONTAINER(c, struct ch_mcp_session, c);
}

/* --- streams */

static void drop_event(struct ch_mcp_stream *t) {
    struct ch_mcp_event *e = CH_LIST_FIRST(&t->events, struct ch_mcp_event, link);

    ch_list_del(&e->link);
    t->session->kept -= e->n;
    t->server->kept -= e->n;
    ch_free(e);
}

static void stream_detach(struct ch_mcp_stream *t) {
    ch_list_del(&t->attached);
    t->x = NULL;
}

static void stream_free(struct ch_mcp_stream *t) {
    while (!ch_list_empty(&t->events))
        drop_event(t);
    ch_list_del(&t->attached);
    ch_task_cancel(t->server->rt->loop, &t->bury);
    if (t->session) {
        ch_list_del(&t->link);
        t->session->nstreams--;
        if (t->session->general == t)
            t->session->general = NULL;
    } else {
        ch_mcp_connection_release(&t->c);
    }
    ch_free(t);
}

static void stream_on_bury(struct ch_task *k) {
    stream_free(CH_CONTAINER(k, struct ch_mcp_stream, bury));
}

/* The response is complete; the functions on the stack may still use the connection. */
static void stream_bury(struct ch_mcp_stream *t) {
    t->bury.fn = stream_on_bury;
    ch_list_add(&t->server->buried, &t->attached);
    ch_task_defer(t->server->rt->loop, &t->bury);
}

/* The oldest streams that ended make room. most: bytes of events that stay. */
static void session_trim(struct ch_mcp_session *s, size_t most) {
    struct ch_link *k = s->streams.head.next, *next;

    for (; k != &s->streams.head; k = next) {
        struct ch_mcp_stream *t = CH_CONTAINER(k, struct ch_mcp_stream, link);
        next = k->next;
        if (s->nstreams <= CH_LIMIT_MCP_STREAMS && s->kept <= most)
            return;
        if (t->done && !t->x)
            stream_free(t);
        else
            while (s->kept > most && !ch_list_empty(&t->events))
                drop_event(t);
    }
}

/* Sessions that were not used for a long time make room for an event of s. */
static void server_trim(chela_mcp_server *server, const struct ch_mcp_session *s) {
    for (CH_LIST_EACH(k, &server->sessions)) {
        struct ch_mcp_session *other = CH_CONTAINER(k, struct ch_mcp_session, link);
        if (server->kept <= CH_LIMIT_MCP_REPLAYS)
            return;
        if (other != s)
            session_trim(other, 0);
    }
}

static struct ch_mcp_stream *stream_new(chela_mcp_server *server, struct ch_mcp_session *s) {
    struct ch_mcp_stream *t = ch_alloc(sizeof(*t));

    t->server = server;
    t->session = s;
    ch_list_init(&t->events);
    if (s) {
        t->number = ++s->last;
        ch_list_add(&s->streams, &t->link);
        s->nstreams++;
        session_trim(s, CH_LIMIT_MCP_REPLAY);
    }
    return t;
}

static void stream_attach(struct ch_mcp_stream *t, const struct ch_mcp_http_request *q) {
    t->ops = q->ops;
    t->x = q->x;
    ch_list_add(&t->server->streams, &t->attached);
    q->ops->attach(q->x, t);
}

static int write_event(struct ch_mcp_stream *t, unsigned number, struct ch_sv text) {
    CH_BUF_AUTO out = {0};

    ch_buf_init(&out, CH_LIMIT_RPC_MESSAGE + 100);
    if (t->session)
        ch_buf_addf(&out, "id: %u-%u\n", t->number, number);
    CH_BUF_LIT(&out, "event: message\ndata: ");
    ch_buf_add_sv(&out, text);
    CH_BUF_LIT(&out, "\n\n");
    return t->ops->write(t->x, ch_buf_sv(&out));
}

/* The first event of a stream has an id and no data, so that a client that loses the
 * connection can resume the stream. Clients before 2025-11-25 do not expect the event. */
static void stream_begin(struct ch_mcp_stream *t, int64_t retry_ms) {
    CH_BUF_AUTO first = {0};

    if (t->began || !t->x)
        return;
    t->began = true;
    if (t->opens)
        t->ops->header(t->x, "Mcp-Session-Id", t->session->id);
    t->ops->stream(t->x);
    if (!t->session || !t->session->c.agreed || strcmp(t->session->c.agreed, CH_MCP_LEGACY) != 0)
        return;
    ch_buf_addf(&first, "id: %u-%u\nretry: %lld\ndata: \n\n", t->number, t->sent,
                (long long)retry_ms);
    t->ops->write(t->x, ch_buf_sv(&first));
}

static void keep_event(struct ch_mcp_stream *t, struct ch_sv text) {
    struct ch_mcp_event *e = ch_malloc(sizeof(*e) + text.n);

    e->link = (struct ch_link){0};
    e->number = t->sent;
    e->n = text.n;
    memcpy(e->text, text.p, text.n);
    ch_list_add(&t->events, &e->link);
    t->session->kept += e->n;
    t->server->kept += e->n;
    session_trim(t->session, CH_LIMIT_MCP_REPLAY);
    server_trim(t->server, t->session);
}

/* End the response; a stream of a session stays for a client that lost its end. */
static void stream_end(struct ch_mcp_stream *t) {
    void *x = t->x;

    stream_detach(t);
    if (x && t->began)
        t->ops->end(x);
    else if (x)
        t->ops->respond(x, 202, NULL, ch_sv(NULL, 0));
    if (!t->session)
        stream_bury(t);
}

static void stream_respond(struct ch_mcp_stream *t, int status, struct ch_sv message) {
    void *x = t->x;

    if (t->opens && t->session->c.agreed)
        t->ops->header(x, "Mcp-Session-Id", t->session->id);
    stream_detach(t);
    t->done = true;
    t->ops->respond(x, status, "application/json", message);
    if (t->session)
        stream_free(t);
    else
        stream_bury(t);
}

static int stream_send(struct ch_mcp_stream *t, struct ch_sv message, int status, bool last) {
    if (last && t->x && !t->began && (t->json || status >= 400)) {
        stream_respond(t, status ? status : 200, message);
        return 0;
    }
    if (!t->sse && !last)
        return 0; /* the client accepts nothing but the answer */
    stream_begin(t, CH_DEFAULT_MCP_RETRY_MS);
    t->sent++;
    if (t->session)
        keep_event(t, message);
    t->done |= last;
    int rc = t->x ? write_event(t, t->sent, message) : 0;
    if (last && t->x)
        stream_end(t);
    return rc;
}

/* --- connections of 2026-07-28 */

static int single_send(chela_mcp_connection *c, struct ch_sv message, struct ch_mcp_stream *to,
                       int status, bool last) {
    (void)c;
    return to ? stream_send(to, message, status, last) : 0;
}

static const struct ch_mcp_connection_ops single_ops = {.send = single_send};

/* --- sessions */

static int session_send(chela_mcp_connection *c, struct ch_sv message, struct ch_mcp_stream *to,
                        int status, bool last) {
    struct ch_mcp_session *s = session_of(c);

    if (!to)
        to = s->general;
    return to ? stream_send(to, message, status, last) : 0;
}

static void session_drop(chela_mcp_connection *c, struct ch_mcp_stream *to) {
    (void)c;
    if (!to)
        return;
    to->done = true;
    if (to->x)
        stream_end(to);
}

static void session_hang_up(chela_mcp_connection *c, struct ch_mcp_stream *to, int64_t retry_ms) {
    if (!to || !to->x || !to->sse || strcmp(c->agreed, CH_MCP_LEGACY) != 0)
        return;
    stream_begin(to, retry_ms);
    stream_end(to);
    to->began = false;
}

static const struct ch_mcp_connection_ops session_ops = {
    .send = session_send, .drop = session_drop, .hang_up = session_hang_up};

static void session_free(struct ch_mcp_session *s) {
    chela_mcp_server *server = s->c.server;
    struct ch_mcp_stream *t;

    ch_list_del(&s->link);
    ch_list_del(&s->c.link);
    server->nsessions--;
    ch_mcp_connection_release(&s->c);
    while ((t = CH_LIST_FIRST(&s->streams, struct ch_mcp_stream, link))) {
        t->done = true;
        if (t->x)
            stream_end(t);
        stream_free(t);
    }
    ch_free(s);
}

static bool session_is_idle(const struct ch_mcp_session *s) {
    for (CH_LIST_EACH(k, &s->streams))
        if (CH_CONTAINER(k, struct ch_mcp_stream, link)->x)
            return false;
    return ch_list_empty(&s->c.calls);
}

static void session_use(struct ch_mcp_session *s) {
    chela_mcp_server *server = s->c.server;

    s->used = ch_mono_ms(ch_loop_clock(server->rt->loop));
    ch_list_del(&s->link);
    ch_list_add(&server->sessions, &s->link);
}

/* End the session that was not used for the longest time; false: all are busy. */
static bool make_room(chela_mcp_server *server) {
    for (CH_LIST_EACH(k, &server->sessions)) {
        struct ch_mcp_session *s = CH_CONTAINER(k, struct ch_mcp_session, link);
        if (session_is_idle(s)) {
            session_free(s);
            return true;
        }
    }
    return false;
}

static struct ch_mcp_session *session_new(chela_mcp_server *server, const char *principal) {
    unsigned char random[ID_BYTES];

    if ((server->nsessions >= CH_LIMIT_MCP_CLIENTS && !make_room(server)) ||
        getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return NULL;
    struct ch_mcp_session *s = ch_alloc(sizeof(*s));
    int n = server->worker ? snprintf(s->id, ID_SIZE, "%u%c", server->worker, CH_MCP_WORKER_END)
                           : 0;
    for (size_t i = 0; i < ID_BYTES; i++)
        snprintf(s->id + n + 2 * i, 3, "%02x", random[i]);
    ch_list_init(&s->streams);
    ch_mcp_connection_init(&s->c, server, &session_ops, principal);
    ch_list_add(&server->connections, &s->c.link);
    ch_list_add(&server->sessions, &s->link);
    server->nsessions++;
    session_use(s);
    return s;
}

/* Finds the session of a request. A session belongs to the principal that opened it. */
static struct ch_mcp_session *session_find(const chela_mcp_server *server, struct ch_sv id,
                                           const char *principal) {
    for (CH_LIST_EACH(k, &server->sessions)) {
        struct ch_mcp_session *s = CH_CONTAINER(k, struct ch_mcp_session, link);
        if (ch_sv_is(id, s->id))
            return strcmp(s->c.principal, principal ? principal : "") == 0 ? s : NULL;
    }
    return NULL;
}

void ch_mcp_http_pulse(chela_mcp_server *server) {
    int64_t now = ch_mono_ms(ch_loop_clock(server->rt->loop));
    struct ch_link *next;

    for (struct ch_link *k = server->streams.head.next; k != &server->streams.head; k = next) {
        struct ch_mcp_stream *t = CH_CONTAINER(k, struct ch_mcp_stream, attached);
        next = k->next;
        if (t->began)
            t->ops->write(t->x, CH_SV(": \n\n"));
    }
    for (struct ch_link *k = server->sessions.head.next; k != &server->sessions.head; k = next) {
        struct ch_mcp_session *s = CH_CONTAINER(k, struct ch_mcp_session, link);
        next = k->next;
        if (now - s->used > CH_DEFAULT_MCP_IDLE_MS && session_is_idle(s))
            session_free(s);
    }
}

bool ch_mcp_server_busy(const chela_mcp_server *s) {
    for (CH_LIST_EACH(k, &s->connections))
        if (!ch_list_empty(&CH_CONTAINER(k, chela_mcp_connection, link)->calls))
            return true;
    for (CH_LIST_EACH(k, &s->streams))
        if (!CH_CONTAINER(k, struct ch_mcp_stream, attached)->session &&
            !ch_list_empty(&CH_CONTAINER(k, struct ch_mcp_stream, attached)->c.calls))
            return true;
    return false;
}

void ch_mcp_http_close(chela_mcp_server *server) {
    struct ch_mcp_session *s;
    struct ch_link *k;

    while ((s = CH_LIST_FIRST(&server->sessions, struct ch_mcp_session, link)))
        session_free(s);
    while ((k = server->streams.head.next) != &server->streams.head)
        stream_end(CH_CONTAINER(k, struct ch_mcp_stream, attached));
    while ((k = server->buried.head.next) != &server->buried.head)
        stream_free(CH_CONTAINER(k, struct ch_mcp_stream, attached));
}

void ch_mcp_http_gone(struct ch_mcp_stream *t) {
    stream_detach(t);
    if (!t->session)
        stream_free(t); /* cancels the request */
}

/* --- requests without a stream */

static void http_refuse(const struct ch_mcp_http_request *q, int status, int64_t code,
                        struct ch_rpc_id id, const char *text) {
    CH_BUF_AUTO out = {0};

    if (status == 405)
        q->ops->header(q->x, "Allow", "POST");
    ch_rpc_write_error(&out, id, code, ch_sv_str(text), ch_sv(NULL, 0));
    q->ops->respond(q->x, status, "application/json", ch_buf_sv(&out));
}

static void http_refuse_request(const struct ch_mcp_http_request *q, int status,
                                const char *text) {
    http_refuse(q, status, CH_RPC_INVALID_REQUEST, (struct ch_rpc_id){0}, text);
}

static struct ch_sv header_of(const struct ch_mcp_http_request *q, const char *name) {
    return ch_sv_trim(ch_inbound_header(q->in, name));
}

/* --- headers of 2026-07-28 */

struct ch_mcp_header_check {
    const struct ch_mcp_http_request *q;
    const char *problem;
};

static bool header_is(const struct ch_mcp_http_request *q, const char *name, struct ch_sv value) {
    CH_BUF_AUTO decoded = {0};

    return ch_inbound_count(q->in, name) == 1 &&
           ch_mcp_header_decode(&decoded, header_of(q, name)) &&
           ch_sv_eq(ch_buf_sv(&decoded), value);
}

/* Integers compare as numbers: 007 is 7. */
static bool is_same_number(struct ch_sv a, struct ch_sv b) {
    CH_AUTOFREE char *x = ch_strndup(a.p, a.n), *y = ch_strndup(b.p, b.n);
    char *xend, *yend;
    long long m = strtoll(x, &xend, 10), n = strtoll(y, &yend, 10);

    return a.n > 0 && b.n > 0 && !*xend && !*yend && m == n;
}

static bool check_param_header(struct ch_sv name, struct ch_sv value, bool is_number, void *user) {
    struct ch_mcp_header_check *check = user;
    CH_BUF_AUTO full = {0};

    ch_buf_addf(&full, "mcp-param-%.*s", CH_SV_FMT(name));
    for (size_t i = 0; i < full.n; i++)
        full.p[i] = (char)tolower((unsigned char)full.p[i]);
    size_t n = ch_inbound_count(check->q->in, full.p);
    if (value.p ? header_is(check->q, full.p, value) ||
                      (n == 1 && is_number && is_same_number(header_of(check->q, full.p), value))
                : n == 0)
        return true;
    check->problem = "an Mcp-Param header does not match its argument";
    return false;
}

/* The fault of the headers; NULL: nothing. */
static const char *check_headers(const chela_mcp_server *s, const struct ch_mcp_http_request *q,
                                 const struct ch_rpc_message *m) {
    static const char *const named[][2] = {
        {"tools/call", "name"},   {"prompts/get", "name"},    {"resources/read", "uri"},
        {"tasks/get", "taskId"}, {"tasks/cancel", "taskId"}, {"tasks/update", "taskId"}};
    struct ch_mcp_header_check check = {.q = q};

    if (!header_is(q, "mcp-method", m->method))
        return "the header Mcp-Method is not the method";
    for (size_t i = 0; i < CH_LEN(named); i++) {
        struct ch_sv name = ch_json_get_str(m->params, named[i][1]);
        if (ch_sv_is(m->method, named[i][0]) && name.p && !header_is(q, "mcp-name", name))
            return "the header Mcp-Name is not the name or URI";
    }
    if (!ch_sv_is(m->method, "tools/call"))
        return NULL;
    const struct ch_mcp_item *tool =
        ch_mcp_server_find(s, CH_MCP_TOOL, ch_json_get_str(m->params, "name"));
    if (tool)
        ch_mcp_header_each(tool->input, ch_json_get(m->params, "arguments"), check_param_header,
                           &check);
    return check.problem;
}

/* --- POST */

static bool http_accepts(const struct ch_mcp_http_request *q, const char *type) {
    struct ch_sv accept = ch_inbound_header(q->in, "accept");

    return !accept.p || ch_sv_contains_nocase(accept, type) || ch_sv_contains_nocase(accept, "*/*");
}

static void stream_accept(struct ch_mcp_stream *t, const struct ch_mcp_http_request *q) {
    t->json = http_accepts(q, "application/json");
    t->sse = http_accepts(q, "text/event-stream");
}

static void post_modern(chela_mcp_server *s, const struct ch_mcp_http_request *q,
                        const struct ch_rpc_message *m, struct ch_sv version, struct ch_sv body) {
    struct ch_sv stated = ch_json_get_str(ch_json_get(m->params, "_meta"),
                                          CH_MCP_META "protocolVersion");
    const char *problem = NULL;

    if (m->kind == CH_RPC_NOTIFICATION) {
        q->ops->respond(q->x, 202, NULL, ch_sv(NULL, 0));
        return;
    }
    if (m->kind != CH_RPC_REQUEST) {
        http_refuse_request(q, 400, "a client of " CH_MCP_MODERN " sends no responses");
        return;
    }
    if (stated.p && !ch_sv_eq(stated, version))
        problem = "the header MCP-Protocol-Version is not the version of the request";
    else if (stated.p && ch_sv_is(stated, CH_MCP_MODERN))
        problem = check_headers(s, q, m);
    if (problem) {
        http_refuse(q, 400, CH_MCP_HEADER_MISMATCH, m->id, problem);
        return;
    }
    struct ch_mcp_stream *t = stream_new(s, NULL);
    ch_mcp_connection_init(&t->c, s, &single_ops, q->principal);
    t->c.modern = true;
    stream_accept(t, q);
    CH_AUTOFREE char *copy = ch_strndup(body.p, body.n);
    stream_attach(t, q);
    ch_mcp_connection_receive(&t->c, ch_sv(copy, body.n), t);
}

static void post_initialize(chela_mcp_server *server, const struct ch_mcp_http_request *q,
                            struct ch_sv body) {
    struct ch_mcp_session *s = session_new(server, q->principal);

    if (!s) {
        http_refuse_request(q, 503, "too many sessions");
        return;
    }
    struct ch_mcp_stream *t = stream_new(server, s);
    CH_AUTOFREE char *copy = ch_strndup(body.p, body.n);
    t->opens = true;
    stream_accept(t, q);
    stream_attach(t, q);
    ch_mcp_connection_receive(&s->c, ch_sv(copy, body.n), t);
    if (!s->c.agreed)
        session_free(s); /* refused */
}

static void post_legacy(struct ch_mcp_session *s, const struct ch_mcp_http_request *q,
                        bool asks, struct ch_sv body) {
    CH_AUTOFREE char *copy = ch_strndup(body.p, body.n);

    session_use(s);
    if (!asks) {
        q->ops->respond(q->x, 202, NULL, ch_sv(NULL, 0));
        ch_mcp_connection_receive(&s->c, ch_sv(copy, body.n), NULL);
        return;
    }
    struct ch_mcp_stream *t = stream_new(s->c.server, s);
    stream_accept(t, q);
    stream_attach(t, q);
    ch_mcp_connection_receive(&s->c, ch_sv(copy, body.n), t);
}

/* Find the session, or answer; NULL: answered. */
static struct ch_mcp_session *need_session(const chela_mcp_server *server,
                                           const struct ch_mcp_http_request *q,
                                           struct ch_rpc_id id) {
    struct ch_sv given = header_of(q, "mcp-session-id");
    struct ch_mcp_session *s = given.n ? session_find(server, given, q->principal) : NULL;

    if (!given.n)
        http_refuse(q, 400, CH_RPC_INVALID_REQUEST, id, "the header Mcp-Session-Id is missing");
    else if (!s)
        http_refuse(q, 404, CH_RPC_INVALID_REQUEST, id, "there is no such session");
    return s;
}

/* Whether a message of the batch is a request. */
static int check_batch(const struct ch_mcp_session *s, struct ch_sv body, bool *asks,
                       struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *batch;
    struct ch_rpc_message m;

    if (strcmp(s->c.agreed, CH_MCP_BATCHES) != 0)
        return ch_rpc_read(&arena, body, &m, err); /* refuses a batch */
    int rc = ch_rpc_read_batch(&arena, body, &batch, err);
    if (rc < 0)
        return rc;
    for (CH_JSON_EACH(e, batch)) {
        if ((rc = ch_rpc_read_json(e, &m, err)) < 0)
            return rc;
        *asks |= m.kind == CH_RPC_REQUEST;
    }
    return 0;
}

/* A batch with an invalid message is refused as a whole, before its requests take effect. */
static void post_batch(struct ch_mcp_session *s, const struct ch_mcp_http_request *q,
                       struct ch_sv body) {
    struct chela_error err = {0};
    bool asks = false;
    int rc = check_batch(s, body, &asks, &err);

    if (rc < 0)
        http_refuse(q, 400, ch_rpc_code_of(rc), (struct ch_rpc_id){0}, err.message);
    else
        post_legacy(s, q, asks, body);
}

/* False: the types of the body or of the response do not fit, and the request was refused. */
static bool check_media_types(const struct ch_mcp_http_request *q) {
    bool sends = ch_sv_starts(header_of(q, "content-type"), "application/json");
    bool takes = http_accepts(q, "application/json") || http_accepts(q, "text/event-stream");
    if (!sends)
        http_refuse_request(q, 415, "the content type is not application/json");
    else if (!takes)
        http_refuse_request(q, 406, "the response is application/json or text/event-stream");
    return sends && takes;
}

static void http_post(chela_mcp_server *server, const struct ch_mcp_http_request *q) {
    CH_ARENA_AUTO arena = {0};
    struct ch_rpc_message m;
    struct chela_error err = {0};
    struct ch_mcp_session *s;
    struct ch_sv version = header_of(q, "mcp-protocol-version"), body = ch_buf_sv(&q->in->body);

    if (!check_media_types(q))
        return;
    if (body.n > CH_LIMIT_RPC_MESSAGE) {
        http_refuse(q, 413, ch_rpc_code_of(CHELA_ELIMIT), (struct ch_rpc_id){0},
                    "the message is too large");
        return;
    }
    if (ch_rpc_is_batch(body) && header_of(q, "mcp-session-id").n &&
        !ch_sv_is(version, CH_MCP_MODERN)) {
        if ((s = need_session(server, q, (struct ch_rpc_id){0})))
            post_batch(s, q, body);
        return;
    }
    int rc = ch_rpc_read(&arena, body, &m, &err);
    if (rc < 0)
        http_refuse(q, 400, ch_rpc_code_of(rc), m.id, err.message);
    else if (ch_json_path(m.params, "_meta", CH_MCP_META "protocolVersion", NULL) ||
             (version.n && !ch_mcp_is_legacy(version)))
        post_modern(server, q, &m, version, body);
    else if (m.kind == CH_RPC_REQUEST && ch_sv_is(m.method, "initialize"))
        post_initialize(server, q, body);
    else if ((s = need_session(server, q, m.id)))
        post_legacy(s, q, m.kind == CH_RPC_REQUEST, body);
}

/* --- GET and DELETE: sessions */

/* Sends the events that the client missed, and continues. */
static void stream_resume(struct ch_mcp_stream *t, const struct ch_mcp_http_request *q,
                          unsigned last) {
    if (t->x) /* the client has lost a connection that this side still has */
        stream_end(t);
    t->began = false;
    t->sse = true;
    stream_attach(t, q);
    t->began = true;
    t->ops->stream(t->x);
    for (CH_LIST_EACH(k, &t->events)) {
        const struct ch_mcp_event *e = CH_CONTAINER(k, struct ch_mcp_event, link);
        if (e->number > last)
            write_event(t, e->number, ch_sv(e->text, e->n));
    }
    if (t->done)
        stream_end(t);
}

static struct ch_mcp_stream *stream_find(const struct ch_mcp_session *s, unsigned number) {
    for (CH_LIST_EACH(k, &s->streams)) {
        struct ch_mcp_stream *t = CH_CONTAINER(k, struct ch_mcp_stream, link);
        if (t->number == number)
            return t;
    }
    return NULL;
}

static void http_get(chela_mcp_server *server, const struct ch_mcp_http_request *q) {
    struct ch_mcp_session *s = need_session(server, q, (struct ch_rpc_id){0});
    unsigned number = 0, event = 0;

    if (!s)
        return;
    struct ch_sv last_id = ch_inbound_header(q->in, "last-event-id");
    if (!http_accepts(q, "text/event-stream")) {
        http_refuse_request(q, 406, "the response is text/event-stream");
        return;
    }
    session_use(s);
    if (last_id.n) {
        CH_AUTOFREE char *text = ch_strndup(last_id.p, last_id.n);
        struct ch_mcp_stream *t =
            sscanf(text, "%9u-%9u", &number, &event) == 2 ? stream_find(s, number) : NULL;
        if (t)
            stream_resume(t, q, event);
        else
            http_refuse_request(q, 404, "there is no such stream");
        return;
    }
    if (s->general && s->general->x) {
        http_refuse_request(q, 409, "the session has a stream already");
        return;
    }
    if (s->general) /* the client does not continue the stream that it lost */
        s->general->done = true;
    struct ch_mcp_stream *t = stream_new(server, s);
    t->sse = true;
    s->general = t;
    stream_attach(t, q);
    stream_begin(t, CH_DEFAULT_MCP_RETRY_MS);
}

static void http_delete(chela_mcp_server *server, const struct ch_mcp_http_request *q) {
    struct ch_mcp_session *s = need_session(server, q, (struct ch_rpc_id){0});

    if (!s)
        return;
    q->ops->respond(q->x, 200, NULL, ch_sv(NULL, 0));
    session_free(s);
}

void ch_mcp_http_serve(chela_mcp_server *server, const struct ch_mcp_http_request *q) {
    const char *method = ch_inbound_method(q->in);
    struct ch_sv version = header_of(q, "mcp-protocol-version");
    bool session = header_of(q, "mcp-session-id").n && !ch_sv_is(version, CH_MCP_MODERN);

    if (strcmp(method, "POST") == 0)
        http_post(server, q);
    else if (strcmp(method, "GET") == 0 && session)
        http_get(server, q);
    else if (strcmp(method, "DELETE") == 0 && session)
        http_delete(server, q);
    else
        http_refuse_request(q, 405, "a session is needed for this method");
}

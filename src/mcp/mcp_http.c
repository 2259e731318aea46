/* mcp_http.c -- see mcp_http.h.
 *
 * An exchange is one HTTP request:
 *
 *     POST --JSON--> message, over
 *          --SSE---> message..., over when the response of its request came
 *                    or: closed early --delay--> GET with Last-Event-ID --SSE--> ...
 *     GET (listen) --SSE--> message... --closed--> GET again after the delay */
#include "mcp/mcp_http.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/utf8.h"
#include "mcp/mcp_protocol.h"
#include "net/sse.h"
#include "rpc/rpc_message.h"

#define RETRY_MS 1000        /* delay before a stream is resumed, unless the server sets one */
#define RETRY_LEAST_MS 100   /* the least that a server can set */
#define HOUR_MS (3600 * 1000) /* silence on a stream that waits for the server */
#define MAX_HEADERS 64
#define REASON_MAX 300 /* bytes of a reason in an error message */

struct ch_mcp_http {
    struct ch_mcp_link link;
    struct ch_loop *loop;
    struct ch_transport *transport;
    char *url, *session, *token; /* owned */
    char **headers;              /* owned */
    char version[16];            /* agreed with the session; "" before */
    struct ch_list exchanges;
    unsigned nreplies; /* exchanges that send a notification or a response */
    struct ch_task opened;
    unsigned refs; /* 1 while open, and one for a callback on the stack */
    bool closed;
    void (*left)(void *user); /* NULL: not leaving */
    void *left_user;
};

struct ch_mcp_exchange {
    struct ch_link link;
    struct ch_mcp_http *http;
    struct ch_http_request request;
    struct ch_http_call *call; /* NULL: waits for the timer, or over */
    struct ch_arena arena;     /* headers of the request */
    struct ch_header *head;
    size_t nhead;
    char *message; /* owned */
    struct ch_sv body;
    int64_t id; /* id of the request; 0: none */
    char *last_id; /* owned: value of Last-Event-ID; NULL: none */
    bool modern, listens, is_get, is_delete, is_reply;
    bool answered; /* the response of the request came */
    bool streamed; /* a stream was opened */
    bool starts_session;
    bool batches; /* the version has batches */
    int status;
    bool is_stream, is_json;
    char *challenge; /* owned */
    struct ch_buf text;
    struct ch_sse sse;
    struct ch_timer timer;
    unsigned resumes; /* consecutive streams without an event */
};

/* --- life */

static void http_unref(struct ch_mcp_http *h) {
    if (--h->refs > 0)
        return;
    ch_free(h->url);
    ch_free(h->session);
    ch_free(h->token);
    ch_strings_free(h->headers);
    ch_free(h);
}

static void free_exchange(struct ch_mcp_exchange *x) {
    struct ch_mcp_http *h = x->http;

    if (x->call)
        ch_transport_cancel(h->transport, x->call);
    ch_timer_stop(h->loop, &x->timer);
    h->nreplies -= x->is_reply;
    ch_list_del(&x->link);
    ch_sse_release(&x->sse);
    ch_buf_release(&x->sse.id);
    ch_buf_release(&x->text);
    ch_arena_release(&x->arena);
    ch_free(x->message);
    ch_free(x->last_id);
    ch_free(x->challenge);
    ch_free(x);
}

static void http_close(struct ch_mcp_link *l) {
    struct ch_mcp_http *h = CH_CONTAINER(l, struct ch_mcp_http, link);

    if (h->closed)
        return;
    h->closed = true;
    ch_task_cancel(h->loop, &h->opened);
    while (!ch_list_empty(&h->exchanges))
        free_exchange(CH_LIST_FIRST(&h->exchanges, struct ch_mcp_exchange, link));
    http_unref(h);
}

static void http_fail(struct ch_mcp_exchange *x, int code, const char *fmt, const char *what) {
    struct ch_mcp_http *h = x->http;
    CH_AUTOFREE char *challenge = CH_TAKE(x->challenge);
    struct ch_mcp_failure f = {.status = x->status, .challenge = challenge, .taken = x->is_get};
    int64_t id = x->id;
    bool answered = x->answered;

    ch_fail(&f.err, code, fmt, what);
    f.session_lost = x->status == 404 && h->session && !x->modern;
    free_exchange(x);
    if (id && !answered)
        h->link.events->failed(id, &f, h->link.user);
}

/* --- requests */

static void add_header(struct ch_mcp_exchange *x, const char *name, struct ch_sv value) {
    if (x->nhead < MAX_HEADERS)
        x->head[x->nhead++] =
            (struct ch_header){ch_sv_str(name), ch_arena_sv(&x->arena, value)};
}

static void add_line(struct ch_mcp_exchange *x, struct ch_sv line) {
    struct ch_sv value = line, name = ch_sv_split(&value, ':');

    add_header(x, ch_arena_str(&x->arena, name), ch_sv_trim(value));
}

static struct ch_sv bearer(struct ch_mcp_exchange *x) {
    return ch_sv_str(ch_arena_printf(&x->arena, "Bearer %s", x->http->token));
}

static void add_common(struct ch_mcp_exchange *x, const char *version) {
    struct ch_mcp_http *h = x->http;

    x->head = ch_arena_alloc(&x->arena, MAX_HEADERS * sizeof(*x->head));
    add_header(x, "Accept",
               x->is_get ? CH_SV("text/event-stream")
                         : CH_SV("application/json, text/event-stream"));
    for (size_t i = 0; h->headers[i]; i++)
        add_line(x, ch_sv_str(h->headers[i]));
    if (h->token)
        add_header(x, "Authorization", bearer(x));
    if (version)
        add_header(x, "MCP-Protocol-Version", ch_sv_str(version));
    if (h->session && !x->modern)
        add_header(x, "MCP-Session-Id", ch_sv_str(h->session));
}

static const struct ch_http_handler http_handler;

static void send_exchange(struct ch_mcp_exchange *x) {
    x->request = (struct ch_http_request){
        .method = x->is_get ? "GET" : x->is_delete ? "DELETE" : "POST",
        .url = x->http->url,
        .headers = x->head,
        .nheaders = x->nhead,
        .body = &x->body,
        .nbody = x->is_get || x->is_delete ? 0 : 1,
        .timeouts = {.first_byte = HOUR_MS, .idle = HOUR_MS, .total = 24LL * HOUR_MS},
    };
    x->status = 0;
    x->is_stream = x->is_json = false;
    ch_buf_clear(&x->text);
    x->call = ch_transport_start(x->http->transport, &x->request, &http_handler, x);
}

static bool http_on_event(struct ch_sv name, struct ch_sv data, void *user);

static struct ch_mcp_exchange *new_exchange(struct ch_mcp_http *h) {
    struct ch_mcp_exchange *x = ch_alloc(sizeof(*x));

    x->http = h;
    ch_buf_init(&x->text, CH_LIMIT_RPC_MESSAGE);
    ch_sse_init(&x->sse, CH_LIMIT_RPC_MESSAGE, http_on_event, x);
    x->sse.takes_ids = true;
    ch_list_add(&h->exchanges, &x->link);
    return x;
}

static int http_send(struct ch_mcp_link *l, const struct ch_mcp_send *m) {
    struct ch_mcp_http *h = CH_CONTAINER(l, struct ch_mcp_http, link);
    struct ch_sv rest = m->headers;

    /* a server that asks faster than it takes the answers does not get all of them */
    if (!m->id && h->nreplies >= CH_LIMIT_MCP_REPLIES)
        return CHELA_ELIMIT;
    struct ch_mcp_exchange *x = new_exchange(h);
    x->id = m->id;
    x->is_reply = !m->id;
    h->nreplies += x->is_reply;
    x->modern = m->modern;
    x->batches = m->version && strcmp(m->version, CH_MCP_BATCHES) == 0;
    x->starts_session = m->method && strcmp(m->method, "initialize") == 0;
    if (x->starts_session)
        ch_free(CH_TAKE(h->session));
    x->message = ch_strndup(m->message.p, m->message.n);
    x->body = ch_sv(x->message, m->message.n);
    add_common(x, m->version);
    add_header(x, "Content-Type", CH_SV("application/json"));
    if (m->modern && m->method)
        add_header(x, "Mcp-Method", ch_sv_str(m->method));
    if (m->modern && m->name.n)
        add_header(x, "Mcp-Name", m->name);
    while (rest.n) {
        struct ch_sv line = ch_sv_split(&rest, '\n');
        if (line.n)
            add_line(x, ch_arena_sv(&x->arena, line));
    }
    send_exchange(x);
    return 0;
}

static void start_get(struct ch_mcp_exchange *x) {
    if (x->last_id) /* the header is the last one */
        x->nhead--;
    ch_free(CH_TAKE(x->last_id));
    if (x->sse.id.n && x->nhead < MAX_HEADERS) {
        x->last_id = ch_strndup(x->sse.id.p, x->sse.id.n);
        x->head[x->nhead++] = (struct ch_header){CH_SV("Last-Event-ID"), ch_sv_str(x->last_id)};
    }
    send_exchange(x);
}

static void http_listen(struct ch_mcp_link *l, const char *version) {
    struct ch_mcp_http *h = CH_CONTAINER(l, struct ch_mcp_http, link);
    struct ch_mcp_exchange *x = new_exchange(h);

    snprintf(h->version, sizeof(h->version), "%s", version ? version : "");
    x->is_get = x->listens = true;
    add_common(x, version);
    start_get(x);
}

/* End the session; the server may answer that it keeps it. */
static bool http_leave(struct ch_mcp_link *l, void (*left)(void *user), void *user) {
    struct ch_mcp_http *h = CH_CONTAINER(l, struct ch_mcp_http, link);

    if (!h->session || h->left)
        return false;
    struct ch_mcp_exchange *x = new_exchange(h);
    h->left = left;
    h->left_user = user;
    x->is_delete = true;
    add_common(x, h->version[0] ? h->version : NULL);
    send_exchange(x);
    return true;
}

static void http_forget(struct ch_mcp_link *l, int64_t id) {
    struct ch_mcp_http *h = CH_CONTAINER(l, struct ch_mcp_http, link);

    for (CH_LIST_EACH(k, &h->exchanges)) {
        struct ch_mcp_exchange *x = CH_CONTAINER(k, struct ch_mcp_exchange, link);
        if (x->id != id)
            continue;
        free_exchange(x);
        return;
    }
}

static const struct ch_mcp_link_ops http_ops = {
    .send = http_send, .forget = http_forget, .listen = http_listen, .leave = http_leave,
    .close = http_close};

/* --- responses */

/* A session id is visible ASCII; anything else is not repeated to the server. */
static bool is_session_id(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 0x21 || s.p[i] > 0x7e)
            return false;
    return s.n > 0 && s.n <= CH_LIMIT_MCP_SESSION;
}

static void http_on_head(const struct ch_http_head *head, void *user) {
    struct ch_mcp_exchange *x = user;
    struct ch_mcp_http *h = x->http;
    struct ch_sv type = ch_header_find(head->headers, head->nheaders, "content-type");
    struct ch_sv session = ch_header_find(head->headers, head->nheaders, "mcp-session-id");
    struct ch_sv challenge = ch_header_find(head->headers, head->nheaders, "www-authenticate");

    x->status = head->status;
    type = ch_sv_trim(ch_sv_split(&type, ';'));
    x->is_stream = head->status == 200 && ch_sv_eq_nocase(type, CH_SV("text/event-stream"));
    x->is_json = ch_sv_eq_nocase(type, CH_SV("application/json"));
    if (x->starts_session && head->status == 200 && is_session_id(session)) {
        ch_free(h->session);
        h->session = ch_strndup(session.p, session.n);
    }
    if (challenge.n && !x->challenge)
        x->challenge = ch_strndup(challenge.p, challenge.n);
}

static bool is_answer(const struct ch_mcp_exchange *x, const struct ch_rpc_message *m) {
    return (m->kind == CH_RPC_RESULT || m->kind == CH_RPC_ERROR) && ch_rpc_id_is(m->id, x->id);
}

/* Whether the text is the response of the exchange's request, or a batch that contains it. */
static bool is_response(const struct ch_mcp_exchange *x, struct ch_sv text) {
    CH_ARENA_AUTO arena = {0};
    struct ch_rpc_message m = {0};
    const struct ch_json *batch = NULL;

    if (!x->id)
        return false;
    if (x->batches && ch_rpc_is_batch(text)) {
        ch_rpc_read_batch(&arena, text, &batch, NULL);
        for (CH_JSON_EACH(e, batch))
            if (ch_rpc_read_json(e, &m, NULL) == 0 && is_answer(x, &m))
                return true;
        return false;
    }
    return ch_rpc_read(&arena, text, &m, NULL) == 0 && is_answer(x, &m);
}

/* The server answered and does not end the stream. */
static void on_lingering(struct ch_timer *t) {
    free_exchange(CH_CONTAINER(t, struct ch_mcp_exchange, timer));
}

/* Whether the exchange still exists: a callback may have forgotten it. */
static bool is_alive(const struct ch_mcp_http *h, const struct ch_link *link) {
    if (h->closed)
        return false;
    for (CH_LIST_EACH(k, &h->exchanges))
        if (k == link)
            return true;
    return false;
}

static bool http_on_event(struct ch_sv name, struct ch_sv data, void *user) {
    struct ch_mcp_exchange *x = user;
    struct ch_mcp_http *h = x->http;
    struct ch_link *link = &x->link;

    x->resumes = 0;
    if (data.n == 0 || (name.n && !ch_sv_is(name, "message")))
        return true;
    x->answered |= is_response(x, data);
    h->refs++;
    h->link.status = x->status;
    h->link.events->message(data, h->link.user);
    bool alive = is_alive(h, link);
    /* a stream that ends in time leaves its connection for the next request */
    if (alive && x->answered && !ch_timer_armed(&x->timer))
        ch_timer_start(h->loop, &x->timer, CH_DEFAULT_MCP_LEAVE_MS, on_lingering);
    http_unref(h);
    return alive;
}

static void http_on_data(struct ch_sv data, void *user) {
    struct ch_mcp_exchange *x = user;
    struct chela_error err = {0};

    if (x->is_delete)
        return;
    if (!x->is_stream) {
        ch_buf_add_sv(&x->text, data);
        if (x->text.overflow)
            http_fail(x, CHELA_ELIMIT, "%s", "the response is too large");
    } else if (ch_sse_feed(&x->sse, data, &err) < 0) {
        x->modern = true; /* do not resume */
        http_fail(x, CHELA_ELIMIT, "%s", err.message);
    }
}

static void on_resume(struct ch_timer *t) {
    struct ch_mcp_exchange *x = CH_CONTAINER(t, struct ch_mcp_exchange, timer);

    start_get(x);
}

/* Whether the listening stream can be opened again: not if the server refuses to offer it. */
static bool may_listen(const struct ch_mcp_exchange *x) {
    return x->streamed && (x->status < 400 || x->status == 401 || x->status >= 500);
}

/* Resumes a stream of the older versions: a stream with an event id, or the listening
 * stream. A listening stream that fails or has no events is opened again rarely. */
static bool resume(struct ch_mcp_exchange *x) {
    bool is_idle = !x->is_stream || x->resumes++ >= CH_LIMIT_MCP_RESUMES;

    x->streamed |= x->is_stream;
    if (x->modern || x->answered || (x->listens ? !may_listen(x) : is_idle || !x->sse.id.n))
        return false;
    if (!x->is_get) {
        x->is_get = true;
        for (size_t i = 0; i < x->nhead; i++)
            if (ch_sv_is(x->head[i].name, "Accept"))
                x->head[i].value = CH_SV("text/event-stream");
            else if (ch_sv_is(x->head[i].name, "Content-Type"))
                x->head[i--] = x->head[--x->nhead];
    }
    struct ch_buf id = x->sse.id;
    int64_t retry = x->sse.retry_ms;
    ch_sse_release(&x->sse);
    ch_sse_init(&x->sse, CH_LIMIT_RPC_MESSAGE, http_on_event, x);
    x->sse.takes_ids = true;
    x->sse.id = id;
    x->sse.retry_ms = retry;
    ch_timer_start(x->http->loop, &x->timer,
                   is_idle     ? CH_DEFAULT_MCP_LISTEN_MS
                   : retry > 0 ? CH_MAX(retry, RETRY_LEAST_MS)
                               : RETRY_MS,
                   on_resume);
    return true;
}

/* The status, and the reason in the body: the message of an error or a line of text. A page for
 * browsers is left out. */
static void refused(struct ch_mcp_exchange *x, struct ch_sv body) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO what = {0};
    struct ch_rpc_message m;
    struct ch_sv why = ch_sv_trim(body);

    if (ch_rpc_read(&arena, body, &m, NULL) == 0 && m.kind == CH_RPC_ERROR)
        why = m.text;
    why = ch_utf8_cut(ch_sv_split(&why, '\n'), REASON_MAX);
    ch_buf_addf(&what, "%d", x->status);
    if (why.n && why.p[0] != '<')
        ch_buf_addf(&what, ": %.*s", CH_SV_FMT(why));
    http_fail(x, CHELA_EPROTO, "the server answered with HTTP status %s", what.p);
}

static void take_body(struct ch_mcp_exchange *x) {
    struct ch_mcp_http *h = x->http;
    struct ch_buf text = x->text;

    x->text = (struct ch_buf){0};
    if (x->is_json && (is_response(x, ch_buf_sv(&text)) ||
                            (x->status == 200 && text.n && !x->id))) {
        h->link.status = x->status;
        free_exchange(x);
        h->link.events->message(ch_buf_sv(&text), h->link.user);
    } else if (x->status >= 200 && x->status < 300 && !x->id)
        free_exchange(x);
    else if (x->status == 200)
        http_fail(x, CHELA_EPROTO, "%s", "the server sent no response to the request");
    else
        refused(x, ch_buf_sv(&text));
    ch_buf_release(&text);
}

static void http_on_done(const struct chela_error *err, void *user) {
    struct ch_mcp_exchange *x = user;
    struct ch_mcp_http *h = x->http;

    x->call = NULL;
    if (x->is_delete) {
        free_exchange(x);
        h->left(h->left_user);
        return;
    }
    h->refs++;
    if (x->is_stream) {
        struct ch_link *link = &x->link;
        if (!err && x->sse.id.n == 0)
            ch_sse_end(&x->sse, NULL);
        if (!is_alive(h, link)) {
            http_unref(h);
            return;
        }
        if (x->answered)
            free_exchange(x);
        else if (!resume(x))
            http_fail(x, CHELA_ENET, "%s", err ? err->message : "the stream ended early");
    } else if (!x->listens || !resume(x)) {
        if (err)
            http_fail(x, err->code, "%s", err->message);
        else
            take_body(x);
    }
    http_unref(h);
}

static const struct ch_http_handler http_handler = {http_on_head, http_on_data, http_on_done};

static void http_on_opened(struct ch_task *t) {
    struct ch_mcp_http *h = CH_CONTAINER(t, struct ch_mcp_http, opened);

    h->link.events->opened(h->link.user);
}

struct ch_mcp_link *ch_mcp_http_new(const struct ch_mcp_http_opts *o,
                                    const struct ch_mcp_link_events *events, void *user) {
    struct ch_mcp_http *h = ch_alloc(sizeof(*h));

    h->link = (struct ch_mcp_link){.ops = &http_ops, .events = events, .user = user};
    h->loop = o->loop;
    h->transport = o->transport;
    h->url = ch_strdup(o->url);
    h->headers = ch_strings_dup(o->headers);
    h->refs = 1;
    ch_list_init(&h->exchanges);
    h->opened.fn = http_on_opened;
    ch_task_defer(o->loop, &h->opened);
    return &h->link;
}

/* A stream that is resumed uses the new token. */
static void renew_token(struct ch_mcp_exchange *x, struct ch_sv before) {
    for (size_t i = 0; i < x->nhead; i++)
        if (x->http->token && ch_sv_is(x->head[i].name, "Authorization") &&
            ch_sv_eq(x->head[i].value, before))
            x->head[i].value = bearer(x);
}

void ch_mcp_http_token(struct ch_mcp_link *l, const char *token) {
    struct ch_mcp_http *h = CH_CONTAINER(l, struct ch_mcp_http, link);
    CH_BUF_AUTO before = {0};

    ch_buf_addf(&before, "Bearer %s", h->token ? h->token : "");
    ch_free(h->token);
    h->token = ch_strdup(token);
    for (CH_LIST_EACH(k, &h->exchanges))
        renew_token(CH_CONTAINER(k, struct ch_mcp_exchange, link), ch_buf_sv(&before));
}

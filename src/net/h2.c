/* h2.c -- HTTP/2 as a carrier: each stream of a connection is an exchange.
 *
 * A module (chela/sys/http2.h) reads and writes frames; this file gives them
 * meaning and limits them. A stream's answer is buffered separately until the
 * client's windows allow sending, so a stream that the client does not read
 * reaches its own bound and ends alone. Data written in one iteration of the
 * loop is sent together.
 *
 * Lifetimes: the module calls the events, and any event may end streams, the
 * connection, or the server. An ended stream is therefore kept until the module
 * has returned, and the session until the wire is closed. */
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "io/module.h"
#include "net/exchange.h"
#include "net/h2_head.h"
#include "net/h2_meter.h"

#define FRAMES ((size_t)16 * 1024) /* bytes taken from the module at a time */

/* What a connection waits for. Only the awaited data extends the deadline. */
enum waiting { FOR_THE_FIRST, FOR_A_HEAD, FOR_THE_NEXT, FOR_NOTHING };

struct ch_h2 {
    struct ch_client *client;
    struct chela_http2 *session;   /* owned */
    struct ch_list streams, ended; /* ended streams are freed soon */
    size_t nstreams;
    size_t bodies, answers; /* buffered bytes of all streams */
    size_t refused;         /* refused requests of a client without an accepted one */
    struct ch_h2_meter meter;
    struct ch_timer patience, stall;
    struct ch_task next; /* sends the written frames */
    enum waiting waiting;
    uint64_t block;  /* number of the awaited header block */
    const char *why; /* reason to close the connection; static */
    bool asked;      /* a request has come */
    bool ending, closed;
};

struct stream {
    struct ch_exchange x;
    struct ch_h2 *h;
    struct ch_link link;
    uint32_t id;
    struct ch_h2_head head; /* of the exchange's request */
    struct ch_buf out; /* the buffered body of the answer */
    size_t at;         /* bytes of `out` already sent */
    size_t held;       /* buffered bytes of the request's body */
    bool asked;        /* the request is complete */
    bool last;         /* `out` ends the answer */
    bool closed;       /* the module has closed the stream */
};

static const struct chela_http2_ops *ops_of(const struct ch_h2 *h) {
    return h->client->server->h2;
}

static struct ch_loop *h2_loop_of(const struct ch_h2 *h) {
    return h->client->server->loop;
}

static struct stream *h2_of(const struct ch_exchange *x) {
    return CH_CONTAINER(x, struct stream, x);
}

static size_t pending(const struct stream *s) {
    return s->out.n - s->at;
}

static size_t h2_unsent(const struct ch_h2 *h) {
    return ch_wire_unsent(&h->client->wire);
}

static void send_soon(struct ch_h2 *h) {
    if (!h->closed)
        ch_task_defer(h2_loop_of(h), &h->next);
}

/* --- the end of a stream */

static void release_body(struct stream *s) {
    s->h->bodies -= s->held;
    s->held = 0;
}

static void h2_end_stream(struct stream *s) {
    struct ch_h2 *h = s->h;
    ch_exchange_release(&s->x);
    release_body(s);
    h->answers -= pending(s);
    s->at = 0;
    ch_buf_release(&s->out);
    ch_list_del(&s->link);
    ch_list_add(&h->ended, &s->link);
    h->nstreams--;
    h->client->server->nstreams--;
}

/* Drop a stream. If the answer was sent completely before the request ended,
 * the reset has NO_ERROR. */
static void h2_drop(struct ch_exchange *x) {
    struct stream *s = h2_of(x);
    struct ch_h2 *h = s->h;
    if (x->phase == CH_CLOSED)
        return;
    bool whole = s->last && !pending(s) && !x->left;
    h2_end_stream(s);
    if (!s->closed)
        ops_of(h)->reset(h->session, s->id, whole ? CHELA_HTTP2_NO_ERROR : CHELA_HTTP2_CANCEL);
    send_soon(h);
    if (!h->nstreams && !h->ending && h->client->standing != CH_CLIENT_UNKNOWN)
        ch_server_unknown(h->client); /* may close the client */
}

/* Nothing to do: the events ignore data of a stream that ends. */
static void h2_hush(struct ch_exchange *x) {
    (void)x;
}

static void free_ended(struct ch_h2 *h) {
    for (struct stream *s; (s = CH_LIST_FIRST(&h->ended, struct stream, link));) {
        ch_list_del(&s->link);
        ch_free(s);
    }
}

/* --- the end of a connection */

static void h2_drop_client(struct ch_client *c) {
    struct ch_h2 *h = c->h2;
    if (h->closed)
        return;
    h->closed = h->ending = true;
    for (struct stream *s; (s = CH_LIST_FIRST(&h->streams, struct stream, link));)
        h2_end_stream(s);
    ch_server_forget(c);
    ch_timer_stop(h2_loop_of(h), &h->patience);
    ch_timer_stop(h2_loop_of(h), &h->stall);
    ch_task_cancel(h2_loop_of(h), &h->next);
    ch_wire_close(&c->wire);
}

/* Notify every owner that the client left. */
static void leave_all(struct ch_h2 *h) {
    h->ending = true;
    for (struct stream *s; (s = CH_LIST_FIRST(&h->streams, struct stream, link));)
        ch_exchange_leave(&s->x);
}

static void h2_lose(struct ch_h2 *h) {
    leave_all(h);
    h2_drop_client(h->client);
}

static void on_stall(struct ch_timer *t) {
    h2_lose(CH_CONTAINER(t, struct ch_h2, stall));
}

static void h2_on_patience(struct ch_timer *t);

static void send_frames(struct ch_h2 *h) {
    struct ch_server *s = h->client->server;
    long n = 1;
    while (n > 0 && !h->closed && (h->ending || h2_unsent(h) < CH_LIMIT_H2_AHEAD)) {
        n = s->h2->drain(h->session, s->frames, FRAMES);
        if (n > 0 && !h->closed)
            ch_wire_send(&h->client->wire, ch_sv(s->frames, (size_t)n));
    }
}

/* As in h1.c: received data is read and discarded, so that the last frames are
 * not lost. */
static void h2_linger(struct ch_h2 *h) {
    h->ending = true;
    ch_timer_stop(h2_loop_of(h), &h->stall);
    if (ch_wire_end(&h->client->wire) < 0)
        h2_drop_client(h->client);
    else
        ch_timer_start(h2_loop_of(h), &h->patience,
                       h2_unsent(h) ? CH_LIMIT_CLIENT_STALL_MS : CH_LIMIT_CLIENT_LINGER_MS,
                       h2_on_patience);
}

static void h2_hang_up(struct ch_h2 *h, enum chela_http2_code code) {
    leave_all(h);
    if (h->closed)
        return;
    ops_of(h)->leave(h->session, code);
    send_frames(h);
    if (!h->closed)
        h2_linger(h);
}

static void h2_on_patience(struct ch_timer *t) {
    struct ch_h2 *h = CH_CONTAINER(t, struct ch_h2, patience);
    if (h->ending)
        h2_drop_client(h->client);
    else
        h2_hang_up(h, CHELA_HTTP2_NO_ERROR);
}

static void settle_patience(struct ch_h2 *h) {
    enum waiting now = h->meter.in_block ? FOR_A_HEAD
                       : h->nstreams     ? FOR_NOTHING
                       : h->asked        ? FOR_THE_NEXT
                                         : FOR_THE_FIRST;
    if (now == h->waiting && (now != FOR_A_HEAD || h->block == h->meter.blocks))
        return;
    h->waiting = now;
    h->block = h->meter.blocks;
    if (now == FOR_NOTHING)
        ch_timer_stop(h2_loop_of(h), &h->patience);
    else
        ch_timer_start(h2_loop_of(h), &h->patience,
                       now == FOR_THE_NEXT ? CH_LIMIT_INBOUND_IDLE_MS : CH_LIMIT_INBOUND_HEAD_MS,
                       h2_on_patience);
}

/* --- writing */

static void h2_pump(struct ch_h2 *h) {
    send_frames(h);
    free_ended(h);
    if (h->ending)
        return;
    settle_patience(h);
    if (h2_unsent(h) && !ch_timer_armed(&h->stall))
        ch_timer_start(h2_loop_of(h), &h->stall, CH_LIMIT_CLIENT_STALL_MS, on_stall);
    bool drained = h->client->server->draining && !h->nstreams;
    if (drained || ops_of(h)->finished(h->session)) {
        leave_all(h);
        if (!h->closed)
            h2_linger(h);
    }
}

static void pump_task(struct ch_task *t) {
    h2_pump(CH_CONTAINER(t, struct ch_h2, next));
}

static void add_fields(struct ch_buf *list, struct ch_buf *lines) {
    struct ch_sv rest = ch_buf_sv(lines);
    while (rest.n) {
        struct ch_sv value = ch_sv_split(&rest, '\n');
        struct ch_sv name = ch_sv_split(&value, ':');
        char *p = lines->p + (name.p - lines->p);
        for (size_t i = 0; i < name.n; i++)
            p[i] = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] + 32 : p[i]);
        value = ch_sv_trim(value);
        struct chela_http2_field f = {name.p, name.n, value.p, value.n};
        ch_buf_add(list, &f, sizeof(f));
    }
}

#define NO_LENGTH SIZE_MAX

static void say_head(struct stream *s, int status, const char *type, size_t length) {
    CH_BUF_AUTO lines = {0};
    CH_BUF_AUTO list = {0};
    CH_BUF_AUTO code = {0};
    ch_buf_addf(&code, "%03d", status);
    ch_buf_add_str(&lines, "date: ");
    ch_exchange_add_date(&s->x, &lines);
    ch_buf_add_str(&lines, "\r\n");
    if (type)
        ch_buf_addf(&lines, "content-type: %s\r\n", type);
    ch_buf_add_sv(&lines, ch_exchange_headers(&s->x));
    if (length != NO_LENGTH && status != 204)
        ch_buf_addf(&lines, "content-length: %zu\r\n", length);
    struct chela_http2_field f = {":status", 7, code.p, code.n};
    ch_buf_add(&list, &f, sizeof(f));
    add_fields(&list, &lines);
    release_body(s);
    ops_of(s->h)->respond(s->h->session, s->id, (const void *)list.p,
                          list.n / sizeof(struct chela_http2_field),
                          length != 0 && !s->x.headless);
    send_soon(s->h);
}

/* Buffer data until the client takes it. */
static void h2_keep(struct stream *s, struct ch_sv bytes) {
    if (s->at > FRAMES) {
        ch_buf_consume(&s->out, s->at);
        s->at = 0;
    }
    if (ch_buf_add_sv(&s->out, bytes) == 0)
        s->h->answers += bytes.n;
    else
        ch_exchange_leave_soon(&s->x);
}

/* Set the deadline of a stream: the time for the client to take the data; then,
 * if the client is still sending, the time to notice that its body is not
 * wanted. Many clients ignore the answer of a stream that is reset at once. */
static void wait_for_client(struct stream *s) {
    bool sends = s->last && !pending(s) && !s->asked;
    ch_exchange_wait(&s->x, sends ? CH_LIMIT_CLIENT_LINGER_MS : CH_LIMIT_CLIENT_STALL_MS);
}

/* The answer is complete; the exchange ends when the client has taken it. */
static void h2_answered(struct stream *s) {
    s->last = true;
    ch_exchange_answered(&s->x);
    s->x.phase = CH_LAST_WORDS;
    wait_for_client(s);
}

static void h2_respond_in_net(struct ch_exchange *x, int status, const char *type,
                              struct ch_sv body) {
    struct stream *s = h2_of(x);
    size_t most = x->client->trusted ? CH_LIMIT_H2_BUFFER : CH_LIMIT_H2_BUFFER_UNKNOWN;
    if (s->h->answers > most) { /* the client reads nothing */
        ch_exchange_abort(x);
        return;
    }
    say_head(s, status, type, body.n);
    if (!x->headless)
        h2_keep(s, body);
    h2_answered(s);
}

static void h2_stream(struct ch_exchange *x, int status, const char *type) {
    say_head(h2_of(x), status, type, NO_LENGTH);
    ch_timer_stop(h2_loop_of(h2_of(x)->h), &x->deadline);
}

static void h2_write_piece(struct ch_exchange *x, struct ch_sv bytes) {
    struct stream *s = h2_of(x);
    bool none = pending(s) == 0;
    h2_keep(s, bytes);
    if (!none)
        return;
    ch_exchange_wait(x, CH_LIMIT_CLIENT_STALL_MS);
    ops_of(s->h)->resume(s->h->session, s->id);
    send_soon(s->h);
}

static void h2_end(struct ch_exchange *x) {
    struct stream *s = h2_of(x);
    h2_answered(s);
    ops_of(s->h)->resume(s->h->session, s->id);
    send_soon(s->h);
}

static void h2_proceed_in_net(struct ch_exchange *x) {
    struct stream *s = h2_of(x);
    ops_of(s->h)->proceed(s->h->session, s->id);
    send_soon(s->h);
}

/* If the whole connection lags, every lagging stream exceeds its bound. */
static size_t h2_lag(const struct ch_exchange *x) {
    const struct stream *s = h2_of(x);
    return pending(s) && s->h->answers > CH_LIMIT_H2_BUFFER ? s->h->answers : pending(s);
}

static const struct ch_carrier carrier = {
    .respond = h2_respond_in_net,
    .stream = h2_stream,
    .write = h2_write_piece,
    .end = h2_end,
    .proceed = h2_proceed_in_net,
    .lag = h2_lag,
    .hush = h2_hush,
    .drop = h2_drop,
};

/* --- events of the module */

static void *on_begin(uint32_t id, void *user) {
    struct ch_h2 *h = user;
    struct ch_server *server = h->client->server;
    h->asked = true;
    if (h->ending || server->draining || server->nstreams >= CH_LIMIT_H2_STREAMS_ALL)
        return NULL;
    struct stream *s = ch_alloc(sizeof(*s));
    s->h = h;
    s->id = id;
    ch_exchange_init(&s->x, h->client, &carrier);
    s->head.in = ch_exchange_begin(&s->x);
    ch_list_add(&h->streams, &s->link);
    h->nstreams++;
    server->nstreams++;
    return s;
}

/* If the request is refused, answer instead of the owner. False: it is not refused. */
static bool answer_refused(struct stream *s) {
    int status = s->head.in->refused;
    if (status)
        ch_exchange_refuse(&s->x, status, s->head.in->why);
    return status;
}

static bool reads_body(const struct stream *s) {
    return s->x.phase == CH_READ_BODY && !s->x.left;
}

static void h2_on_field(void *stream, const struct chela_http2_field *f) {
    struct stream *s = stream;
    if (s->x.phase > CH_READ_BODY || s->x.left)
        return;
    ch_h2_head_field(&s->head, ch_sv(f->name, f->name_n), ch_sv(f->value, f->value_n));
    if (s->x.phase == CH_READ_BODY)
        answer_refused(s);
}

static void h2_on_head(void *stream, int last) {
    struct stream *s = stream;
    struct ch_h2 *h = s->h;
    if (s->x.phase != CH_READ_HEAD)
        return;
    ch_h2_head_end(&s->head, last);
    if (!answer_refused(s))
        ch_exchange_show_head(&s->x);
    if (s->x.phase > CH_READ_BODY && !h->client->trusted && ++h->refused > CH_LIMIT_H2_REFUSED)
        h->why = "refused requests";
}

static void h2_on_data(void *stream, const void *data, size_t n) {
    struct stream *s = stream;
    if (!reads_body(s))
        return;
    ch_h2_head_body(&s->head, ch_sv(data, n));
    s->h->bodies += n;
    s->held += n;
    ch_exchange_charge_body(&s->x);
    if (s->h->bodies > CH_LIMIT_H2_BODIES)
        ch_inbound_refuse(s->head.in, 503, "too many unprocessed body bytes on this connection");
    answer_refused(s);
}

static void on_whole(void *stream) {
    struct stream *s = stream;
    s->asked = true;
    if (!reads_body(s))
        return;
    ch_h2_head_whole(&s->head);
    if (!answer_refused(s))
        ch_exchange_show_request(&s->x);
}

static size_t h2_on_pull(void *stream, void *out, size_t max, int *last) {
    struct stream *s = stream;
    size_t n = CH_MIN(pending(s), max);
    if (n)
        memcpy(out, s->out.p + s->at, n);
    s->at += n;
    s->h->answers -= n;
    *last = s->last && !pending(s);
    ch_h2_meter_sent(&s->h->meter, n, pending(s) > 0);
    if (pending(s) || s->last) {
        wait_for_client(s);
        return n;
    }
    ch_timer_stop(h2_loop_of(s->h), &s->x.deadline);
    s->at = 0;
    ch_buf_release(&s->out);
    return n;
}

/* `why` may be set by an earlier event of the same bytes: decode nothing more either. */
static int h2_on_decoded(size_t size, size_t block, void *user) {
    struct ch_h2 *h = user;
    const char *why = ch_h2_meter_decoded(&h->meter, size, block);
    h->why = h->why ? h->why : why;
    return h->why != NULL;
}

static void on_stream_closed(void *stream) {
    struct stream *s = stream;
    s->closed = true;
    if (s->last && !pending(s))
        ch_h2_meter_answered(&s->h->meter);
    ch_exchange_leave(&s->x);
}

/* --- the wire */

static struct ch_h2 *h2_of_wire(struct ch_wire *w) {
    return CH_CONTAINER(w, struct ch_client, wire)->h2;
}

static void h2_on_bytes(struct ch_wire *w, struct ch_sv bytes) {
    struct ch_h2 *h = h2_of_wire(w);
    struct chela_error err = {0};
    if (h->ending)
        return;
    h->why = ch_h2_meter_feed(&h->meter, bytes, ch_mono_ms(ch_loop_clock(h2_loop_of(h))));
    int rc = h->why ? 0 : ops_of(h)->feed(h->session, bytes.p, bytes.n, &err);
    if (h->ending)
        return;
    if (h->why) {
        ch_log(CH_LOG_INFO, "server", "hung up on %s: too many %s", ch_server_peer(h->client),
               h->why);
        h2_hang_up(h, CHELA_HTTP2_ENHANCE_YOUR_CALM);
    } else if (rc < 0) {
        h2_hang_up(h, CHELA_HTTP2_PROTOCOL_ERROR);
    } else {
        h2_pump(h);
    }
}

static void h2_on_lost(struct ch_wire *w) {
    h2_lose(h2_of_wire(w));
}

static void h2_on_moved(struct ch_wire *w) {
    struct ch_h2 *h = h2_of_wire(w);
    if (h->ending) {
        ch_timer_start(h2_loop_of(h), &h->patience,
                       h2_unsent(h) ? CH_LIMIT_CLIENT_STALL_MS : CH_LIMIT_CLIENT_LINGER_MS,
                       h2_on_patience);
        return;
    }
    ch_timer_stop(h2_loop_of(h), &h->stall);
    h2_pump(h);
}

static void h2_on_closed(struct ch_wire *w) {
    struct ch_h2 *h = h2_of_wire(w);
    ops_of(h)->close(h->session);
    free_ended(h);
    ch_server_closed(h->client);
    ch_free(h);
}

/* --- creating and ending */

static void h2_drain_in_net(struct ch_client *c) {
    struct ch_h2 *h = c->h2;
    if (h->ending)
        return;
    ops_of(h)->leave(h->session, CHELA_HTTP2_NO_ERROR);
    send_soon(h);
}

bool ch_h2_available(struct ch_server *s) {
    const void *ops = NULL;
    struct chela_error err = {0};
    if (s->h2 || s->no_h2)
        return s->h2 != NULL;
    if (ch_module_load("h2", "http2", s->opts.module_path, &ops, &err) < 0) {
        ch_log(CH_LOG_WARN, "server", "HTTP/2 is not available, clients use HTTP/1.1: %s",
               err.message);
        s->no_h2 = true;
        return false;
    }
    s->h2 = ops;
    s->frames = ch_malloc(FRAMES);
    return true;
}

static int h2_open_session(struct ch_h2 *h, struct chela_error *err) {
    static const struct chela_http2_events events = {
        .begin = on_begin,
        .field = h2_on_field,
        .head = h2_on_head,
        .data = h2_on_data,
        .whole = on_whole,
        .pull = h2_on_pull,
        .closed = on_stream_closed,
        .decoded = h2_on_decoded,
    };
    const struct chela_http2_settings settings = {
        .streams = CH_LIMIT_H2_STREAMS,
        .header_list = CH_LIMIT_INBOUND_HEADERS,
        .header_table = CH_LIMIT_H2_TABLE,
        .window = CH_LIMIT_H2_WINDOW,
        .connection_window = CH_LIMIT_H2_WINDOWS,
    };
    return ops_of(h)->open(&settings, &events, h, &h->session, err);
}

void ch_h2_begin(struct ch_client *c, struct ch_sv bytes) {
    static const struct ch_client_ops ops = {.drop = h2_drop_client, .drain = h2_drain_in_net};
    static const struct ch_wire_ops wire = {
        .bytes = h2_on_bytes, .lost = h2_on_lost, .moved = h2_on_moved, .closed = h2_on_closed};
    struct chela_error err = {0};
    struct ch_h2 *h = ch_alloc(sizeof(*h));
    h->client = c;
    c->h2 = h;
    c->ops = &ops;
    c->wire.ops = &wire;
    h->next.fn = pump_task;
    ch_list_init(&h->streams);
    ch_list_init(&h->ended);
    ch_h2_meter_init(&h->meter, ch_mono_ms(ch_loop_clock(h2_loop_of(h))));
    if (h2_open_session(h, &err) < 0) {
        ch_log(CH_LOG_WARN, "server", "cannot use HTTP/2: %s", err.message);
        h2_drop_client(c);
        return;
    }
    ch_timer_start(h2_loop_of(h), &h->patience, CH_LIMIT_INBOUND_HEAD_MS, h2_on_patience);
    h2_on_bytes(&c->wire, bytes);
}

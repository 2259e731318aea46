/* h1.c -- HTTP/1.1 as a carrier; see exchange.h.
 *
 * A connection answers one request at a time; pipelined bytes are buffered up
 * to a bound. The socket is also read while an answer is sent, in order to
 * notice that the client has left. The connection and its exchange are one
 * allocation, since ten thousand may be idle.
 *
 * The pieces of a stream that are written in one turn of the loop are sent
 * together: a model's reply often brings many small pieces at once, and a call
 * of the kernel costs more than all else that is done for a piece. */
#include "base/error.h"
#include "base/limits.h"
#include "net/exchange.h"
#include "net/h2_meter.h" /* CH_H2_PREFACE */

#define PIECES_MAX ((size_t)64 * 1024) /* sent without waiting for the end of the turn */

/* Pieces of the answer, written in this turn of the loop. */
struct h1_pieces {
    struct h1 *h;
    struct ch_buf bytes;
    struct ch_task flush; /* sends them */
};

struct h1 {
    struct ch_client client; /* first: ch_server_closed frees it */
    struct ch_exchange x;
    struct ch_buf ahead;      /* pipelined bytes */
    struct h1_pieces *pieces; /* owned; NULL: none */
    bool keep, chunked;
    bool spoken; /* enough bytes came to know that this is HTTP/1.1 */
    bool over;   /* the answer is complete, and waits for the client to take it */
};

static void h1_feed(struct h1 *h, struct ch_sv bytes);
static void h1_go_on(struct ch_task *t);

static struct h1 *of_client(struct ch_client *c) {
    return CH_CONTAINER(c, struct h1, client);
}

static struct h1 *h1_of_wire(struct ch_wire *w) {
    return of_client(CH_CONTAINER(w, struct ch_client, wire));
}

static struct h1 *h1_of(struct ch_exchange *x) {
    return CH_CONTAINER(x, struct h1, x);
}

/* --- pieces */

static struct h1_pieces *h1_take_pieces(struct h1 *h) {
    struct h1_pieces *p = CH_TAKE(h->pieces);
    if (p)
        ch_task_cancel(h->client.server->loop, &p->flush);
    return p;
}

static void h1_pieces_free(struct h1_pieces *p) {
    if (p)
        ch_buf_release(&p->bytes);
    ch_free(p);
}

/* --- the end of a connection */

static void h1_drop_client(struct ch_client *c) {
    struct h1 *h = of_client(c);
    if (h->x.phase == CH_CLOSED)
        return;
    struct h1_pieces *last = h1_take_pieces(h);
    ch_exchange_release(&h->x);
    if (last)
        ch_wire_send(&c->wire, ch_buf_sv(&last->bytes));
    h1_pieces_free(last);
    ch_server_forget(c);
    ch_buf_release(&h->ahead);
    ch_wire_close(&c->wire);
}

static void h1_drop(struct ch_exchange *x) {
    h1_drop_client(x->client);
}

static void h1_hush(struct ch_exchange *x) {
    ch_wire_deaf(&x->client->wire);
}

/* --- writing */

static size_t h1_unsent(const struct h1 *h) {
    return ch_wire_unsent(&h->client.wire);
}

static size_t h1_lag(const struct ch_exchange *x) {
    const struct h1 *h = CH_CONTAINER(x, const struct h1, x);
    return (h->pieces ? h->pieces->bytes.n : 0) + h1_unsent(h);
}

static void h1_on_moved(struct ch_wire *w) {
    struct h1 *h = h1_of_wire(w);
    bool slow = !h->client.trusted && ch_timer_armed(&h->x.deadline); /* one deadline for all */
    if (h1_unsent(h) > 0 && !slow)
        ch_exchange_wait(&h->x, CH_LIMIT_CLIENT_STALL_MS);
    else if (h1_unsent(h) > 0)
        return;
    else if (h->over)
        h1_go_on(&h->x.next);
    else if (h->x.phase == CH_LAST_WORDS)
        ch_exchange_wait(&h->x, CH_LIMIT_CLIENT_LINGER_MS);
    else if (h->x.phase >= CH_ANSWER)
        ch_timer_stop(h->client.server->loop, &h->x.deadline);
}

static void send_now(struct h1 *h, struct ch_sv bytes) {
    bool behind = h1_unsent(h) > 0;
    ch_wire_send(&h->client.wire, bytes);
    if (!behind && h1_unsent(h) > 0)
        ch_exchange_wait(&h->x, CH_LIMIT_CLIENT_STALL_MS);
}

static void flush_pieces(struct h1 *h) {
    struct h1_pieces *p = h1_take_pieces(h);
    send_now(h, ch_buf_sv(&p->bytes));
    h1_pieces_free(p);
}

static void h1_on_flush(struct ch_task *t) {
    flush_pieces(CH_CONTAINER(t, struct h1_pieces, flush)->h);
}

static struct ch_buf *need_pieces(struct h1 *h) {
    if (!h->pieces) {
        h->pieces = ch_alloc(sizeof(*h->pieces));
        h->pieces->h = h;
        h->pieces->flush.fn = h1_on_flush;
        ch_task_defer(h->client.server->loop, &h->pieces->flush);
    }
    return &h->pieces->bytes;
}

/* At once, after the pieces that wait. */
static void send_bytes(struct h1 *h, struct ch_sv bytes) {
    if (!h->pieces) {
        send_now(h, bytes);
        return;
    }
    ch_buf_add_sv(&h->pieces->bytes, bytes);
    flush_pieces(h);
}

/* --- answers */

static const char *status_text(int status) {
    static const struct {
        int status;
        const char *text;
    } texts[] = {{101, "Switching Protocols"},
                 {200, "OK"},
                 {201, "Created"},
                 {202, "Accepted"},
                 {204, "No Content"},
                 {304, "Not Modified"},
                 {400, "Bad Request"},
                 {401, "Unauthorized"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {406, "Not Acceptable"},
                 {408, "Request Timeout"},
                 {409, "Conflict"},
                 {410, "Gone"},
                 {413, "Content Too Large"},
                 {414, "URI Too Long"},
                 {415, "Unsupported Media Type"},
                 {421, "Misdirected Request"},
                 {422, "Unprocessable Content"},
                 {426, "Upgrade Required"},
                 {429, "Too Many Requests"},
                 {431, "Request Header Fields Too Large"},
                 {500, "Internal Server Error"},
                 {501, "Not Implemented"},
                 {502, "Bad Gateway"},
                 {503, "Service Unavailable"},
                 {504, "Gateway Timeout"},
                 {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < CH_LEN(texts); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "Unknown";
}

static void add_head(struct h1 *h, struct ch_buf *out, int status, const char *type) {
    ch_buf_addf(out, "HTTP/1.1 %d %s\r\nDate: ", status, status_text(status));
    ch_exchange_add_date(&h->x, out);
    CH_BUF_LIT(out, "\r\n");
    if (type)
        ch_buf_addf(out, "Content-Type: %s\r\n", type);
    ch_buf_add_sv(out, ch_exchange_headers(&h->x));
    if (!h->keep)
        ch_buf_add_str(out, "Connection: close\r\n");
}

/* Closing a socket with unread data resets it, and the client may never see the
 * answer. So half-close the connection and discard received data until the
 * client closes or the time is over. */
static void h1_linger(struct h1 *h) {
    h->x.phase = CH_LAST_WORDS;
    if (ch_wire_end(&h->client.wire) < 0) {
        h1_drop_client(&h->client);
        return;
    }
    ch_exchange_wait(&h->x, h1_unsent(h) ? CH_LIMIT_CLIENT_STALL_MS : CH_LIMIT_CLIENT_LINGER_MS);
}

/* Read the next request, or end the connection. A client that does not read its answer
 * gets no further one: pipelined requests would otherwise pile up answers in memory. */
static void h1_go_on(struct ch_task *t) {
    struct h1 *h = h1_of(CH_CONTAINER(t, struct ch_exchange, next));
    h->over = false;
    if (!h->keep || h->client.server->draining) {
        h1_linger(h);
        return;
    }
    if (h1_unsent(h) > 0) {
        h->over = true; /* h1_on_moved comes back */
        return;
    }
    h->x.phase = CH_READ_HEAD;
    ch_exchange_wait(&h->x, CH_LIMIT_INBOUND_IDLE_MS);
    ch_server_unknown(&h->client);
    if (h->x.phase == CH_CLOSED)
        return;
    ch_wire_hold(&h->client.wire, false);
    struct ch_buf ahead = h->ahead;
    h->ahead = (struct ch_buf){0};
    if (ahead.n)
        h1_feed(h, ch_buf_sv(&ahead));
    ch_buf_release(&ahead);
}

static void h1_answered(struct h1 *h) {
    ch_exchange_answered(&h->x);
    h->x.next.fn = h1_go_on;
    ch_task_defer(h->client.server->loop, &h->x.next);
}

/* Decide on keep-alive: the rest of an incomplete request would be taken for
 * the next request. */
static void settle_keeping(struct h1 *h) {
    const struct ch_opening *o = h->x.opening;
    h->keep = h->keep && o && o->in.whole && !h->client.server->draining;
    ch_server_known(&h->client);
    if (h1_unsent(h) == 0)
        ch_timer_stop(h->client.server->loop, &h->x.deadline);
}

static void h1_respond(struct ch_exchange *x, int status, const char *type, struct ch_sv body) {
    struct h1 *h = h1_of(x);
    CH_BUF_AUTO out = {0};
    settle_keeping(h);
    add_head(h, &out, status, type);
    if (status != 204)
        ch_buf_addf(&out, "Content-Length: %zu\r\n", body.n);
    ch_buf_add_str(&out, "\r\n");
    if (!x->headless)
        ch_buf_add_sv(&out, body);
    send_bytes(h, ch_buf_sv(&out));
    h1_answered(h);
}

static void h1_stream(struct ch_exchange *x, int status, const char *type) {
    struct h1 *h = h1_of(x);
    CH_BUF_AUTO out = {0};
    h->chunked = !ch_inbound_is_old(&x->opening->in);
    settle_keeping(h);
    h->keep = h->keep && h->chunked;
    add_head(h, &out, status, type);
    ch_buf_add_str(&out, h->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
    send_bytes(h, ch_buf_sv(&out));
}

static void h1_write_piece(struct ch_exchange *x, struct ch_sv bytes) {
    struct h1 *h = h1_of(x);
    struct ch_buf *out = need_pieces(h);
    if (h->chunked)
        ch_buf_addf(out, "%zx\r\n", bytes.n);
    ch_buf_add_sv(out, bytes);
    if (h->chunked)
        CH_BUF_LIT(out, "\r\n");
    if (out->n >= PIECES_MAX)
        flush_pieces(h);
}

static void h1_end(struct ch_exchange *x) {
    struct h1 *h = h1_of(x);
    if (h->chunked)
        send_bytes(h, CH_SV("0\r\n\r\n"));
    else if (h->pieces)
        flush_pieces(h);
    h1_answered(h);
}

/* Bytes that the client sent before this answer (h->ahead) are not passed on. */
static void upgrade(struct ch_exchange *x) {
    struct h1 *h = h1_of(x);
    CH_BUF_AUTO out = {0};
    settle_keeping(h);
    h->keep = true; /* for add_head: the added headers include Connection */
    add_head(h, &out, 101, NULL);
    h->keep = h->chunked = false;
    CH_BUF_LIT(&out, "\r\n");
    send_bytes(h, ch_buf_sv(&out));
}

static void h1_proceed(struct ch_exchange *x) {
    send_bytes(h1_of(x), CH_SV("HTTP/1.1 100 Continue\r\n\r\n"));
}

/* --- reading */

/* Buffer data that cannot be processed yet, within a bound. A client that has its answer may
 * send the next request before the connection is ready for it: nothing more is read then until
 * h1_go_on. */
static void keep_ahead(struct h1 *h, struct ch_sv bytes) {
    if (h->x.phase == CH_LAST_WORDS || !h->keep)
        return;
    if (h->x.phase == CH_ANSWER)
        ch_wire_hold(&h->client.wire, true);
    else if (h->ahead.n + bytes.n > CH_LIMIT_INBOUND_AHEAD) {
        ch_exchange_leave_soon(&h->x);
        return;
    }
    ch_buf_add_sv(&h->ahead, bytes);
}

static void h1_feed(struct h1 *h, struct ch_sv bytes) {
    struct ch_exchange *x = &h->x;
    size_t taken;
    while (bytes.n && !x->left && (x->phase == CH_READ_HEAD || x->phase == CH_READ_BODY)) {
        if (x->phase == CH_READ_HEAD && !ch_exchange_has_begun(x) &&
            !h->client.server->draining)
            ch_exchange_wait(x, CH_LIMIT_INBOUND_HEAD_MS);
        struct ch_inbound *in = ch_exchange_begin(x);
        enum ch_inbound_state state = ch_inbound_feed(in, bytes, &taken);
        bytes = ch_sv(bytes.p + taken, bytes.n - taken);
        ch_exchange_charge_body(x);
        if (in->refused) {
            h->keep = false;
            ch_exchange_refuse(x, in->refused, in->why);
            return;
        }
        if (state == CH_INBOUND_HEAD) {
            h->keep = ch_inbound_keeps_alive(in);
            ch_exchange_show_head(x);
        } else if (state == CH_INBOUND_WHOLE) {
            ch_exchange_show_request(x);
        }
    }
    if (bytes.n && x->on_bytes && !x->left)
        x->on_bytes(x, bytes, x->on_bytes_user);
    else if (bytes.n && !x->left && x->phase != CH_CLOSED)
        keep_ahead(h, bytes);
}

static void switch_to_h2(struct h1 *h, struct ch_sv bytes) {
    if (!ch_h2_available(h->client.server)) {
        ch_exchange_refuse(&h->x, 505, "only HTTP/1.1 is supported");
        return;
    }
    ch_exchange_release(&h->x);
    ch_h2_begin(&h->client, bytes);
}

/* An HTTP/2 client announces itself with its first bytes, also over TLS: the
 * preface is not a valid HTTP/1.1 request. */
static void recognise(struct h1 *h, struct ch_sv bytes) {
    const struct ch_sv preface = CH_SV(CH_H2_PREFACE);
    size_t at = h->ahead.n, n = CH_MIN(bytes.n, preface.n - at);
    bool alike = memcmp(bytes.p, preface.p + at, n) == 0;
    h->spoken = !alike || at + n == preface.n;
    ch_buf_add_sv(&h->ahead, bytes);
    if (!h->spoken)
        return;
    struct ch_buf ahead = h->ahead;
    h->ahead = (struct ch_buf){0};
    if (alike)
        switch_to_h2(h, ch_buf_sv(&ahead));
    else
        h1_feed(h, ch_buf_sv(&ahead));
    ch_buf_release(&ahead);
}

static void h1_on_bytes(struct ch_wire *w, struct ch_sv bytes) {
    struct h1 *h = h1_of_wire(w);
    bool may_be_h2 = bytes.p[0] == 'P' && (bytes.n == 1 || bytes.p[1] == 'R');
    if (!h->spoken && (h->ahead.n || may_be_h2)) {
        recognise(h, bytes);
        return;
    }
    h->spoken = true;
    h1_feed(h, bytes);
}

static void h1_on_lost(struct ch_wire *w) {
    ch_exchange_leave(&h1_of_wire(w)->x);
}

static void h1_on_closed(struct ch_wire *w) {
    ch_server_closed(&h1_of_wire(w)->client);
}

/* --- creating and accepting */

/* A client between two requests knows that the server may close the connection; one with a new
 * connection expects an answer. */
static void h1_drain(struct ch_client *c) {
    struct h1 *h = of_client(c);
    if (h->x.phase != CH_READ_HEAD)
        return;
    if (h->spoken && !ch_exchange_has_begun(&h->x) && !ch_client_has_unread(c))
        h1_drop_client(c);
    else
        ch_exchange_wait(&h->x, CH_LIMIT_INBOUND_LAST_MS);
}

static bool h1_asks(const struct ch_client *c) {
    return CH_CONTAINER(c, const struct h1, client)->x.phase < CH_ANSWER;
}

struct ch_client *ch_h1_new(struct ch_server *s) {
    static const struct ch_client_ops ops = {
        .drop = h1_drop_client, .drain = h1_drain, .asks = h1_asks};
    static const struct ch_carrier carrier = {
        .respond = h1_respond,
        .stream = h1_stream,
        .write = h1_write_piece,
        .end = h1_end,
        .upgrade = upgrade,
        .proceed = h1_proceed,
        .lag = h1_lag,
        .hush = h1_hush,
        .drop = h1_drop,
    };
    struct h1 *h = ch_alloc(sizeof(*h));
    h->client.server = s;
    h->client.ops = &ops;
    ch_exchange_init(&h->x, &h->client, &carrier);
    return &h->client;
}

int ch_h1_accept(struct ch_client *c, int fd, struct chela_error *err) {
    static const struct ch_wire_ops ops = {
        .bytes = h1_on_bytes, .lost = h1_on_lost, .moved = h1_on_moved, .closed = h1_on_closed};
    struct ch_server *s = c->server;
    c->wire.ops = &ops;
    c->wire.room = s->bytes;
    struct ch_identity *identity = c->relayed ? NULL : s->identity;
    int rc = ch_wire_accept(&c->wire, s->loop, &s->listener.stream, fd, identity, err);
    if (rc < 0)
        h1_drop_client(c);
    else
        ch_exchange_wait(&of_client(c)->x, CH_LIMIT_INBOUND_HEAD_MS);
    return rc;
}

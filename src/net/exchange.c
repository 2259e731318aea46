/* exchange.c -- see exchange.h.
 *
 * One connection answers one request at a time; a client that sends ahead has
 * its bytes kept, up to a bound. While an answer is under way the socket is
 * still read, because that is how one learns that the client has left.
 *
 * No callback of the owner's fires inside a call of theirs: the end of an
 * exchange defers what comes next to the loop's next iteration. */
#include "net/exchange.h"

#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "base/limits.h"

static void feed(struct ch_exchange *x, struct ch_sv bytes);
static void on_deadline(struct ch_timer *t);

/* --- the end of a connection */

void ch_exchange_drop(struct ch_exchange *x) {
    struct ch_loop *loop = x->server->loop;
    if (x->phase == CH_CLOSED)
        return;
    x->phase = CH_CLOSED;
    ch_server_forget(x);
    ch_timer_stop(loop, &x->deadline);
    ch_task_cancel(loop, &x->next);
    ch_inbound_release(&x->in);
    ch_buf_release(&x->ahead);
    ch_buf_release(&x->headers);
    ch_wire_close(&x->wire);
}

/* The owner, if they are at work on it, hears of it first. */
static void leave(struct ch_exchange *x) {
    void (*gone)(struct ch_exchange *, void *) = CH_TAKE(x->gone);
    if (gone && !x->server->closed)
        gone(x, x->user);
    ch_exchange_drop(x);
}

static void leave_task(struct ch_task *t) {
    leave(CH_CONTAINER(t, struct ch_exchange, next));
}

static void leave_soon(struct ch_exchange *x) {
    x->left = true;
    ch_wire_deaf(&x->wire);
    x->next.fn = leave_task;
    ch_task_defer(x->server->loop, &x->next);
}

static void wait_until(struct ch_exchange *x, int64_t ms) {
    ch_timer_start(x->server->loop, &x->deadline, ms, on_deadline);
}

/* --- writing */

static struct ch_exchange *of(struct ch_wire *w) {
    return CH_CONTAINER(w, struct ch_exchange, wire);
}

static size_t unsent(const struct ch_exchange *x) {
    return ch_wire_unsent(&x->wire);
}

static void on_moved(struct ch_wire *w) {
    struct ch_exchange *x = of(w);
    if (unsent(x) > 0)
        wait_until(x, CH_LIMIT_CLIENT_STALL_MS);
    else if (x->phase == CH_LAST_WORDS)
        wait_until(x, CH_LIMIT_CLIENT_LINGER_MS);
    else if (x->phase >= CH_ANSWER)
        ch_timer_stop(x->server->loop, &x->deadline);
}

static void send_bytes(struct ch_exchange *x, struct ch_sv bytes) {
    bool behind = unsent(x) > 0;
    ch_wire_send(&x->wire, bytes);
    if (!behind && unsent(x) > 0)
        wait_until(x, CH_LIMIT_CLIENT_STALL_MS);
}

/* --- answers */

static const char *status_text(int status) {
    switch (status) {
#define TEXT(code, name, text) \
    case code:                 \
        return #text;
        HTTP_STATUS_MAP(TEXT)
#undef TEXT
    }
    return "Unknown";
}

static void add_date(struct ch_exchange *x, struct ch_buf *out) {
    char date[64];
    struct tm tm;
    time_t now = (time_t)(ch_now_ms(ch_loop_clock(x->server->loop)) / 1000);
    if (gmtime_r(&now, &tm) && strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm))
        ch_buf_addf(out, "Date: %s\r\n", date);
}

static void add_head(struct ch_exchange *x, struct ch_buf *out, int status, const char *type) {
    ch_buf_addf(out, "HTTP/1.1 %d %s\r\n", status, status_text(status));
    add_date(x, out);
    if (type)
        ch_buf_addf(out, "Content-Type: %s\r\n", type);
    ch_buf_add_sv(out, ch_buf_sv(&x->headers));
    ch_buf_clear(&x->headers);
    if (!x->keep)
        ch_buf_add_str(out, "Connection: close\r\n");
}

void ch_exchange_header(struct ch_exchange *x, const char *name, const char *value) {
    if (!strpbrk(value, "\r\n"))
        ch_buf_addf(&x->headers, "%s: %s\r\n", name, value);
}

/* A socket that is closed while bytes of the client lie unread is reset, and
 * the client may never see the answer. So: no more from us, and what still
 * comes is thrown away until they close or have had their time. */
static void linger(struct ch_exchange *x) {
    x->phase = CH_LAST_WORDS;
    if (ch_wire_end(&x->wire) < 0) {
        ch_exchange_drop(x);
        return;
    }
    wait_until(x, unsent(x) ? CH_LIMIT_CLIENT_STALL_MS : CH_LIMIT_CLIENT_LINGER_MS);
}

/* The connection reads the next request, or ends. */
static void go_on(struct ch_task *t) {
    struct ch_exchange *x = CH_CONTAINER(t, struct ch_exchange, next);
    if (!x->keep || x->server->draining) {
        linger(x);
        return;
    }
    ch_inbound_init(&x->in);
    x->phase = CH_READ_HEAD;
    if (unsent(x) == 0)
        wait_until(x, CH_LIMIT_INBOUND_IDLE_MS);
    ch_server_unknown(x);
    if (x->phase == CH_CLOSED)
        return;
    struct ch_buf ahead = x->ahead;
    x->ahead = (struct ch_buf){0};
    if (ahead.n)
        feed(x, ch_buf_sv(&ahead));
    ch_buf_release(&ahead);
}

static void answered(struct ch_exchange *x) {
    x->gone = NULL;
    x->phase = CH_ANSWER;
    ch_inbound_release(&x->in);
    x->next.fn = go_on;
    ch_task_defer(x->server->loop, &x->next);
}

/* A request that was not read to its end leaves bytes behind that would be
 * taken for the next one. */
static void settle_keeping(struct ch_exchange *x) {
    x->keep = x->keep && x->in.whole && !x->server->draining;
    x->headless = x->in.has_head && strcmp(ch_inbound_method(&x->in), "HEAD") == 0;
    ch_server_known(x);
    if (unsent(x) == 0)
        ch_timer_stop(x->server->loop, &x->deadline);
}

void ch_exchange_respond(struct ch_exchange *x, int status, const char *type, struct ch_sv body) {
    CH_BUF_AUTO out = {0};
    if (x->phase == CH_CLOSED || x->left)
        return;
    settle_keeping(x);
    add_head(x, &out, status, type);
    if (status != 204)
        ch_buf_addf(&out, "Content-Length: %zu\r\n", body.n);
    ch_buf_add_str(&out, "\r\n");
    if (!x->headless)
        ch_buf_add_sv(&out, body);
    send_bytes(x, ch_buf_sv(&out));
    answered(x);
}

void ch_exchange_stream(struct ch_exchange *x, int status, const char *type) {
    CH_BUF_AUTO out = {0};
    if (x->phase == CH_CLOSED || x->left)
        return;
    x->chunked = !ch_inbound_is_old(&x->in);
    settle_keeping(x);
    x->keep = x->keep && x->chunked;
    add_head(x, &out, status, type);
    ch_buf_add_str(&out, x->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
    x->phase = CH_STREAM;
    ch_inbound_release(&x->in);
    ch_buf_release(&x->headers);
    send_bytes(x, ch_buf_sv(&out));
}

int ch_exchange_write(struct ch_exchange *x, struct ch_sv bytes) {
    CH_BUF_AUTO out = {0};
    if (x->phase != CH_STREAM || x->left)
        return CHELA_ESTATE;
    if (bytes.n == 0 || x->headless)
        return 0;
    if (unsent(x) > CH_LIMIT_CLIENT_BUFFER) {
        leave_soon(x);
        return CHELA_ELIMIT;
    }
    if (!x->chunked) {
        send_bytes(x, bytes);
        return 0;
    }
    ch_buf_addf(&out, "%zx\r\n", bytes.n);
    ch_buf_add_sv(&out, bytes);
    ch_buf_add_str(&out, "\r\n");
    send_bytes(x, ch_buf_sv(&out));
    return 0;
}

void ch_exchange_end(struct ch_exchange *x) {
    if (x->phase != CH_STREAM || x->left)
        return;
    if (x->chunked)
        send_bytes(x, CH_SV("0\r\n\r\n"));
    answered(x);
}

void ch_exchange_expel(struct ch_exchange *x) {
    if (x->phase != CH_CLOSED && !x->left)
        leave_soon(x);
}

void ch_exchange_abort(struct ch_exchange *x) {
    if (x->phase == CH_CLOSED)
        return;
    x->gone = NULL;
    leave_soon(x);
}

/* --- reading */

static void refuse(struct ch_exchange *x, int status, const char *why) {
    CH_BUF_AUTO body = {0};
    x->keep = false;
    ch_buf_addf(&body, "%s\n", why);
    ch_exchange_respond(x, status, "text/plain; charset=utf-8", ch_buf_sv(&body));
}

static void on_deadline(struct ch_timer *t) {
    struct ch_exchange *x = CH_CONTAINER(t, struct ch_exchange, deadline);
    bool began = x->in.text.n > 0;
    if (x->left || x->phase == CH_CLOSED)
        return;
    if ((x->phase == CH_READ_HEAD && began) || x->phase == CH_READ_BODY)
        refuse(x, 408, "the request took too long");
    else
        leave(x);
}

/* The owner looks at the head; they may answer at once. */
static void show_head(struct ch_exchange *x) {
    x->keep = ch_inbound_keeps_alive(&x->in);
    x->phase = CH_READ_BODY;
    wait_until(x, CH_LIMIT_INBOUND_BODY_MS);
    struct ch_sv expect = ch_inbound_header(&x->in, "expect");
    x->server->opts.head(x, x->server->opts.user);
    if (x->phase != CH_READ_BODY)
        return;
    x->trusted = true;
    ch_server_known(x);
    if (ch_sv_eq_nocase(expect, CH_SV("100-continue")))
        send_bytes(x, CH_SV("HTTP/1.1 100 Continue\r\n\r\n"));
}

static void show_request(struct ch_exchange *x) {
    x->phase = CH_ANSWER;
    ch_timer_stop(x->server->loop, &x->deadline);
    x->server->opts.request(x, x->server->opts.user);
}

/* What cannot be looked at yet is kept, within a bound. */
static void keep_ahead(struct ch_exchange *x, struct ch_sv bytes) {
    if (x->phase == CH_LAST_WORDS || !x->keep)
        return;
    if (x->ahead.n + bytes.n > CH_LIMIT_INBOUND_AHEAD)
        leave_soon(x);
    else
        ch_buf_add_sv(&x->ahead, bytes);
}

static void feed(struct ch_exchange *x, struct ch_sv bytes) {
    size_t taken;
    while (bytes.n && !x->left && (x->phase == CH_READ_HEAD || x->phase == CH_READ_BODY)) {
        if (x->phase == CH_READ_HEAD && x->in.text.n == 0)
            wait_until(x, CH_LIMIT_INBOUND_HEAD_MS);
        enum ch_inbound_state state = ch_inbound_feed(&x->in, bytes, &taken);
        bytes = ch_sv(bytes.p + taken, bytes.n - taken);
        if (state == CH_INBOUND_REFUSED) {
            refuse(x, x->in.refused, x->in.why);
            return;
        }
        if (state == CH_INBOUND_HEAD)
            show_head(x);
        else if (state == CH_INBOUND_WHOLE)
            show_request(x);
    }
    if (bytes.n && !x->left && x->phase != CH_CLOSED)
        keep_ahead(x, bytes);
}

static void on_bytes(struct ch_wire *w, struct ch_sv bytes) {
    feed(of(w), bytes);
}

static void on_lost(struct ch_wire *w) {
    leave(of(w));
}

static void on_closed(struct ch_wire *w) {
    struct ch_exchange *x = of(w);
    struct ch_server *s = x->server;
    ch_free(x);
    ch_server_closed_one(s);
}

/* --- life */

int ch_exchange_begin(struct ch_exchange *x, struct chela_error *err) {
    static const struct ch_wire_ops ops = {
        .bytes = on_bytes, .lost = on_lost, .moved = on_moved, .closed = on_closed};
    struct ch_server *s = x->server;
    x->wire.ops = &ops;
    x->wire.room = s->bytes;
    ch_inbound_init(&x->in);
    int rc = ch_wire_accept(&x->wire, s->loop, (uv_stream_t *)&s->tcp, s->identity, err);
    if (rc < 0)
        ch_exchange_drop(x);
    else
        wait_until(x, CH_LIMIT_INBOUND_HEAD_MS);
    return rc;
}

const struct ch_inbound *ch_exchange_inbound(const struct ch_exchange *x) {
    return &x->in;
}

void ch_exchange_attach(struct ch_exchange *x, void (*gone)(struct ch_exchange *x, void *user),
                        void *user) {
    x->gone = gone;
    x->user = user;
}

/* test_h2.c -- a server that speaks HTTP/2 with the real module, and clients that
 * write their frames by hand: some to be served, some to do harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "chela/sys/http2.h"
#include "support/guests.h"
#include "support/h2client.h"
#include "support/modules.h"

#define NOTHING ch_sv("", 0)

struct env {
    struct guests w;
    struct h2_client c;
    char *modules;
};

/* window: see h2_begin. */
static void begin_with(struct env *e, uint32_t window) {
    e->modules = modules_dir();
    guests_begin(&e->w, e->modules);
    h2_begin(&e->c, guests_dial(&e->w), window);
}

static void begin(struct env *e) {
    begin_with(e, 0);
}

static void end(struct env *e) {
    h2_end(&e->c);
    guests_end(&e->w);
    ch_free(e->modules);
}

static void get(struct env *e, uint32_t id, const char *path) {
    h2_ask(&e->c, id, H2_WHOLE, "GET", path, NOTHING);
}

static void work(struct env *e) {
    guests_work(&e->w);
    h2_hear(&e->c);
}

static void later(struct env *e, int64_t ms) {
    guests_later(&e->w, ms);
    h2_hear(&e->c);
}

static uint32_t reset_with(struct env *e, uint32_t id) {
    const struct h2_frame *f = h2_find(&e->c, H2_RST_STREAM, id);
    if (!f)
        fail_msg("stream %u was not reset", id);
    return f->code;
}

static void expect_calm(struct env *e) {
    work(e);
    const struct h2_frame *f = h2_find(&e->c, H2_GOAWAY, 0);
    assert_non_null(f);
    assert_int_equal(f->code, CHELA_HTTP2_ENHANCE_YOUR_CALM);
    assert_true(e->c.ended);
    guests_later(&e->w, CH_LIMIT_CLIENT_LINGER_MS + 1);
    assert_int_equal(ch_server_clients(e->w.server), 0);
}

/* --- served */

static void test_requests(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    get(&e, 1, "/a");
    h2_ask(&e.c, 3, H2_END_HEADERS, "POST", "/b", NOTHING);
    get(&e, 5, "/refuse");
    work(&e);
    assert_int_equal(h2_status(&e.c, 1), 200);
    assert_int_equal(h2_body(&e.c, 1), 3);
    assert_int_equal(h2_status(&e.c, 3), 0);
    assert_int_equal(h2_status(&e.c, 5), 401);
    h2_say_frame(&e.c, H2_DATA, 0, 3, CH_SV("{\"a\""));
    h2_say_frame(&e.c, H2_DATA, H2_END_STREAM, 3, CH_SV(":1}"));
    work(&e);
    assert_int_equal(h2_status(&e.c, 3), 200);
    assert_int_equal(e.w.heads, 3);
    assert_int_equal(e.w.requests, 2);
    end(&e);
}

/* Who asks whether to send a body hears so before. */
static void test_expect(void **state) {
    (void)state;
    struct env e;
    CH_BUF_AUTO more = {0};
    begin(&e);
    h2_add_field(&more, "expect", CH_SV("100-continue"));
    h2_ask(&e.c, 1, H2_END_HEADERS, "POST", "/a", ch_buf_sv(&more));
    work(&e);
    assert_int_equal(h2_status(&e.c, 1), 100);
    e.c.nframes = 0;
    h2_say_frame(&e.c, H2_DATA, H2_END_STREAM, 1, CH_SV("b"));
    work(&e);
    assert_int_equal(h2_status(&e.c, 1), 200);
    end(&e);
}

/* What answers to HEAD has no body. */
static void test_head(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    h2_ask(&e.c, 1, H2_WHOLE, "HEAD", "/a", NOTHING);
    work(&e);
    assert_int_equal(h2_status(&e.c, 1), 200);
    assert_int_equal(h2_find(&e.c, H2_HEADERS, 1)->flags & H2_END_STREAM, H2_END_STREAM);
    assert_int_equal(h2_body(&e.c, 1), 0);
    end(&e);
}

/* A byte at a time. */
static void test_split(void **state) {
    (void)state;
    struct env e;
    CH_BUF_AUTO block = {0};
    CH_BUF_AUTO all = {0};
    begin(&e);
    h2_add_head(&block, "GET", "/a");
    h2_add_frame(&all, H2_HEADERS, H2_WHOLE, 1, ch_buf_sv(&block));
    for (size_t i = 0; i < all.n; i++) {
        h2_say(&e.c, ch_sv(all.p + i, 1));
        ch_loop_tick(e.w.loop);
    }
    work(&e);
    assert_int_equal(h2_status(&e.c, 1), 200);
    end(&e);
}

/* What begins like the preface and is none is HTTP/1.1 all the same. */
static void test_almost(void **state) {
    (void)state;
    struct guests w;
    guests_begin(&w, NULL);
    int fd = guests_dial(&w);
    assert_int_equal(send(fd, "PR", 2, MSG_NOSIGNAL), 2);
    guests_work(&w);
    static const char rest[] = "OPFIND /x HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_int_equal(send(fd, rest, sizeof(rest) - 1, MSG_NOSIGNAL), sizeof(rest) - 1);
    guests_work(&w);
    assert_true(guests_heard(fd, "200 OK"));
    close(fd);
    guests_end(&w);
}

/* Without the module the client is told, and others are served. First of all tests:
 * what is loaded stays. */
static void test_no_module(void **state) {
    (void)state;
    struct guests w;
    struct h2_client c;
    guests_begin(&w, "/nonexistent");
    for (int i = 0; i < 2; i++) {
        h2_begin(&c, guests_dial(&w), 0);
        guests_work(&w);
        assert_true(guests_heard(c.fd, "HTTP/1.1 505 HTTP Version Not Supported"));
        h2_end(&c);
    }
    int fd = guests_dial(&w);
    static const char asks[] = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_int_equal(send(fd, asks, sizeof(asks) - 1, MSG_NOSIGNAL), sizeof(asks) - 1);
    guests_work(&w);
    assert_true(guests_heard(fd, "200 OK"));
    close(fd);
    guests_end(&w);
}

static void test_many_at_once(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    for (uint32_t i = 0; i < CH_LIMIT_H2_STREAMS; i++)
        get(&e, 2 * i + 1, "/a");
    work(&e);
    for (uint32_t i = 0; i < CH_LIMIT_H2_STREAMS; i++)
        assert_int_equal(h2_status(&e.c, 2 * i + 1), 200);
    assert_int_equal(ch_server_clients(e.w.server), 1);
    end(&e);
}

static void test_too_many_at_once(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    work(&e);
    h2_say_frame(&e.c, H2_SETTINGS, H2_ACK, 0, NOTHING);
    for (uint32_t i = 0; i <= CH_LIMIT_H2_STREAMS; i++)
        h2_ask(&e.c, 2 * i + 1, H2_END_HEADERS, "POST", "/a", NOTHING);
    work(&e);
    assert_int_equal(e.w.heads, CH_LIMIT_H2_STREAMS);
    end(&e);
}

/* --- leaving */

static void test_client_resets(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    get(&e, 1, "/hold");
    work(&e);
    assert_non_null(e.w.held);
    h2_say_frame(&e.c, H2_RST_STREAM, 0, 1, ch_sv("\0\0\0\x8", 4));
    get(&e, 3, "/a");
    work(&e);
    assert_int_equal(e.w.gone, 1);
    assert_int_equal(h2_status(&e.c, 3), 200);
    end(&e);
}

static void test_client_leaves(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    get(&e, 1, "/hold");
    work(&e);
    shutdown(e.c.fd, SHUT_RDWR);
    work(&e);
    assert_int_equal(e.w.gone, 1);
    assert_int_equal(ch_server_clients(e.w.server), 0);
    end(&e);
}

/* What was begun is finished, then the connection ends. */
static void test_drain(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    get(&e, 1, "/hold");
    work(&e);
    ch_server_drain(e.w.server);
    get(&e, 3, "/a");
    work(&e);
    const struct h2_frame *f = h2_find(&e.c, H2_GOAWAY, 0);
    assert_non_null(f);
    assert_int_equal(f->code, CHELA_HTTP2_NO_ERROR);
    assert_int_equal(h2_status(&e.c, 3), 0);
    assert_false(e.c.ended);
    ch_exchange_respond(e.w.held, 200, "text/plain", CH_SV("last words"));
    work(&e);
    assert_int_equal(h2_body(&e.c, 1), 10);
    assert_true(e.c.ended);
    end(&e);
}

static void test_server_closes(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    get(&e, 1, "/hold");
    work(&e);
    ch_exchange_stream(e.w.held, 200, "text/plain");
    ch_exchange_write(e.w.held, CH_SV("some"));
    end(&e); /* with all of it open: nothing may leak, nobody is told */
    assert_int_equal(e.w.gone, 0);
}

/* --- slow */

static void test_silence(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    work(&e);
    for (int i = 0; i < 5; i++) { /* a ping is no request */
        h2_say_frame(&e.c, H2_PING, 0, 0, ch_sv("01234567", 8));
        later(&e, CH_LIMIT_INBOUND_HEAD_MS / 5 + 1);
    }
    assert_non_null(h2_find(&e.c, H2_GOAWAY, 0));
    assert_true(e.c.ended);
    end(&e);
}

static void test_idle(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    get(&e, 1, "/a");
    work(&e);
    later(&e, CH_LIMIT_INBOUND_IDLE_MS - 1000);
    get(&e, 3, "/a");
    work(&e);
    assert_int_equal(h2_status(&e.c, 3), 200);
    later(&e, CH_LIMIT_INBOUND_IDLE_MS + 1);
    assert_non_null(h2_find(&e.c, H2_GOAWAY, 0));
    end(&e);
}

/* Headers that trickle end the connection, though a stream is served on it. */
static void test_slow_head(void **state) {
    (void)state;
    struct env e;
    CH_BUF_AUTO block = {0};
    begin(&e);
    get(&e, 1, "/hold");
    work(&e);
    h2_add_head(&block, "GET", "/a");
    h2_say_frame(&e.c, H2_HEADERS, 0, 3, ch_buf_sv(&block));
    work(&e);
    for (int i = 0; i < 5; i++) {
        h2_say_frame(&e.c, H2_CONTINUATION, 0, 3, NOTHING);
        later(&e, CH_LIMIT_INBOUND_HEAD_MS / 5 + 1);
    }
    assert_non_null(h2_find(&e.c, H2_GOAWAY, 0));
    assert_int_equal(e.w.gone, 1);
    end(&e);
}

static void test_slow_body(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    h2_ask(&e.c, 1, H2_END_HEADERS, "POST", "/a", NOTHING);
    work(&e);
    for (int i = 0; i < 6; i++) {
        h2_say_frame(&e.c, H2_DATA, 0, 1, CH_SV("b"));
        later(&e, CH_LIMIT_INBOUND_BODY_MS / 6 + 1);
    }
    assert_int_equal(h2_status(&e.c, 1), 408);
    assert_null(h2_find(&e.c, H2_RST_STREAM, 1));
    later(&e, CH_LIMIT_CLIENT_LINGER_MS + 1);
    assert_int_equal(reset_with(&e, 1), CHELA_HTTP2_NO_ERROR);
    assert_int_equal(e.w.requests, 0);
    end(&e);
}

/* A window that stays shut: the stream costs its bound and ends alone. */
static void test_slow_reader(void **state) {
    (void)state;
    struct env e;
    char *piece = ch_malloc(64 * CH_KB);
    size_t sent = 0;
    int rc = 0;
    memset(piece, 'x', 64 * CH_KB);
    begin_with(&e, 1); /* that is 0 */
    get(&e, 1, "/hold");
    work(&e);
    ch_exchange_stream(e.w.held, 200, "text/plain");
    while (rc == 0 && sent < 256 * CH_MB) {
        rc = ch_exchange_write(e.w.held, ch_sv(piece, 64 * CH_KB));
        sent += 64 * CH_KB;
    }
    assert_int_equal(rc, CHELA_ELIMIT);
    assert_true(sent <= CH_LIMIT_CLIENT_BUFFER + 128 * CH_KB);
    assert_int_equal(e.w.gone, 0); /* not from inside the call */
    work(&e);
    assert_int_equal(e.w.gone, 1);
    assert_int_equal(h2_body(&e.c, 1), 0);
    assert_int_equal(reset_with(&e, 1), CHELA_HTTP2_CANCEL);
    get(&e, 3, "/a");
    work(&e);
    assert_int_equal(h2_status(&e.c, 3), 200);
    ch_free(piece);
    end(&e);
}

static void test_stalled_reader(void **state) {
    (void)state;
    struct env e;
    begin_with(&e, 1);
    get(&e, 1, "/a");
    get(&e, 3, "/hold");
    work(&e);
    later(&e, CH_LIMIT_CLIENT_STALL_MS + 1);
    assert_int_equal(reset_with(&e, 1), CHELA_HTTP2_CANCEL);
    assert_int_equal(e.w.gone, 0);
    assert_non_null(e.w.held); /* which has nothing to say: it may wait */
    end(&e);
}

/* Answers that nobody takes: each may wait, all together may not. */
static void test_answers_pile_up(void **state) {
    (void)state;
    struct env e;
    struct ch_buf large = {0};
    uint32_t id = 1;
    memset(ch_buf_reserve(&large, CH_MB), 'x', CH_MB);
    ch_buf_commit(&large, CH_MB);
    begin_with(&e, 1);
    for (size_t sent = 0; sent <= CH_LIMIT_H2_BUFFER; sent += CH_MB, id += 2) {
        get(&e, id, "/hold");
        work(&e);
        ch_exchange_respond(e.w.held, 200, "text/plain", ch_buf_sv(&large));
        work(&e);
        assert_null(h2_find(&e.c, H2_RST_STREAM, id));
    }
    get(&e, id, "/a");
    work(&e);
    assert_int_equal(reset_with(&e, id), CHELA_HTTP2_CANCEL);
    ch_buf_release(&large);
    end(&e);
}

/* A window that opens lets go what lies behind it. */
static void test_window(void **state) {
    (void)state;
    struct env e;
    struct ch_buf large = {0};
    begin(&e);
    get(&e, 1, "/hold");
    work(&e);
    memset(ch_buf_reserve(&large, 200000), 'x', 200000);
    ch_buf_commit(&large, 200000);
    ch_exchange_respond(e.w.held, 200, "text/plain", ch_buf_sv(&large));
    ch_buf_release(&large);
    work(&e);
    assert_int_equal(h2_body(&e.c, 1), 65535);
    later(&e, CH_LIMIT_CLIENT_STALL_MS - 1000);
    h2_say_frame(&e.c, H2_WINDOW_UPDATE, 0, 0, ch_sv("\0\x10\0\0", 4));
    h2_say_frame(&e.c, H2_WINDOW_UPDATE, 0, 1, ch_sv("\0\x10\0\0", 4));
    work(&e);
    assert_int_equal(h2_body(&e.c, 1), 200000);
    end(&e);
}

/* --- floods */

static void test_rapid_reset(void **state) {
    (void)state;
    struct env e;
    CH_BUF_AUTO block = {0};
    CH_BUF_AUTO all = {0};
    begin(&e);
    h2_add_head(&block, "GET", "/hold");
    for (uint32_t i = 0; i < 2 * CH_LIMIT_H2_UNANSWERED; i++) {
        h2_add_frame(&all, H2_HEADERS, H2_WHOLE, 2 * i + 1, ch_buf_sv(&block));
        h2_add_frame(&all, H2_RST_STREAM, 0, 2 * i + 1, ch_sv("\0\0\0\x8", 4));
    }
    h2_say(&e.c, ch_buf_sv(&all));
    expect_calm(&e);
    assert_true(e.w.requests <= CH_LIMIT_H2_UNANSWERED);
    assert_int_equal(e.w.gone, e.w.requests);
    end(&e);
}

/* Who is answered may go on for ever. */
static void test_many_in_a_row(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    work(&e);
    for (uint32_t i = 0; i < 2 * CH_LIMIT_H2_UNANSWERED; i++) {
        get(&e, 2 * i + 1, "/a");
        for (int k = 0; k < 3; k++)
            ch_loop_tick(e.w.loop);
        h2_hear(&e.c);
        e.c.nframes = 0;
    }
    work(&e);
    assert_int_equal(e.w.requests, 2 * CH_LIMIT_H2_UNANSWERED);
    end(&e);
}

static void test_endless_headers(void **state) {
    (void)state;
    struct env e;
    CH_BUF_AUTO block = {0};
    begin(&e);
    h2_add_head(&block, "GET", "/a");
    h2_say_frame(&e.c, H2_HEADERS, H2_END_STREAM, 1, ch_buf_sv(&block));
    for (int i = 0; i <= CH_LIMIT_H2_CONTINUATIONS; i++)
        h2_say_frame(&e.c, H2_CONTINUATION, 0, 1, NOTHING);
    expect_calm(&e);
    end(&e);
}

static void flood(unsigned type, unsigned flags, uint32_t id, struct ch_sv payload) {
    struct env e;
    begin(&e);
    h2_ask(&e.c, 1, H2_END_HEADERS, "POST", "/a", NOTHING);
    work(&e);
    for (int i = 0; i < CH_LIMIT_H2_CONTROL + 100 && !e.c.ended; i++) {
        h2_say_frame(&e.c, type, flags, id, payload);
        if (i % 64 == 0)
            ch_loop_tick(e.w.loop);
        e.c.nframes = 0;
        h2_hear(&e.c);
    }
    expect_calm(&e);
    end(&e);
}

static void test_floods(void **state) {
    (void)state;
    flood(H2_PING, 0, 0, CH_SV("01234567"));
    flood(H2_SETTINGS, 0, 0, NOTHING);
    flood(H2_DATA, 0, 1, NOTHING);
    flood(H2_WINDOW_UPDATE, 0, 0, ch_sv("\0\0\0\1", 4));
    flood(H2_PRIORITY, 0, 1, ch_sv("\0\0\0\0\1", 5));
    flood(0xaa, 0, 0, NOTHING);
}

static void add_references(struct ch_buf *out, size_t n) {
    for (size_t i = 0; i < n; i++)
        ch_buf_addc(out, H2_NEWEST);
}

/* A request whose block keeps a field of `size` bytes and refers to it `n` times. */
static void ask_by_reference(struct env *e, const char *path, size_t size, size_t n) {
    CH_BUF_AUTO block = {0};
    CH_BUF_AUTO value = {0};
    memset(ch_buf_reserve(&value, size), 'v', size);
    ch_buf_commit(&value, size);
    h2_add_head(&block, "GET", path);
    h2_add_kept(&block, "x", ch_buf_sv(&value));
    add_references(&block, n);
    h2_say_frame(&e->c, H2_HEADERS, H2_WHOLE, 1, ch_buf_sv(&block));
}

/* A byte that refers to a large field costs what the field costs: the rest of the block is
 * not decoded, and nothing behind it. */
static void test_references(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    ask_by_reference(&e, "/a", 4000, 12000);
    get(&e, 3, "/a");
    expect_calm(&e);
    assert_int_equal(e.w.heads, 0);
    end(&e);
    begin(&e); /* small ones have a cost of their own */
    ask_by_reference(&e, "/a", 1, 12000);
    expect_calm(&e);
    assert_int_equal(e.w.heads, 0);
    end(&e);
    begin(&e); /* as trailers */
    CH_BUF_AUTO block = {0};
    h2_ask(&e.c, 1, H2_END_HEADERS, "POST", "/a", NOTHING);
    char value[4000];
    memset(value, 'v', sizeof(value));
    h2_add_kept(&block, "x", ch_sv(value, sizeof(value)));
    add_references(&block, 12000);
    h2_say_frame(&e.c, H2_HEADERS, H2_WHOLE, 1, ch_buf_sv(&block));
    expect_calm(&e);
    assert_int_equal(e.w.requests, 0);
    end(&e);
}

/* Headers that are too large for one request and no attack: it is answered, as in HTTP/1.1. */
static void test_references_refused(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    ask_by_reference(&e, "/a", 4000, 10);
    get(&e, 3, "/a");
    work(&e);
    assert_int_equal(h2_status(&e.c, 1), 431);
    assert_int_equal(h2_status(&e.c, 3), 200);
    end(&e);
}

/* Requests that each stay below the bound of one, and are not answered. */
static void test_references_add_up(void **state) {
    (void)state;
    struct env e;
    CH_BUF_AUTO block = {0};
    begin(&e);
    ask_by_reference(&e, "/hold", 4000, 6);
    h2_add_head(&block, "GET", "/hold");
    add_references(&block, 7);
    for (uint32_t i = 1; i < 60; i++)
        h2_say_frame(&e.c, H2_HEADERS, H2_WHOLE, 2 * i + 1, ch_buf_sv(&block));
    expect_calm(&e);
    assert_true(e.w.heads <= CH_LIMIT_H2_DECODED / (7 * 4000));
    end(&e);
}

/* Who is answered is not charged for what a request usually carries. */
static void test_references_are_usual(void **state) {
    (void)state;
    struct env e;
    CH_BUF_AUTO block = {0};
    begin(&e);
    ask_by_reference(&e, "/a", 3500, 0);
    h2_add_head(&block, "GET", "/a");
    add_references(&block, 1);
    for (uint32_t i = 1; i < 2 * CH_LIMIT_H2_UNANSWERED; i++) {
        h2_say_frame(&e.c, H2_HEADERS, H2_WHOLE, 2 * i + 1, ch_buf_sv(&block));
        for (int k = 0; k < 3; k++)
            ch_loop_tick(e.w.loop);
        h2_hear(&e.c);
        e.c.nframes = 0;
    }
    work(&e);
    assert_int_equal(e.w.requests, 2 * CH_LIMIT_H2_UNANSWERED);
    end(&e);
}

/* A window that opens by one byte makes a frame of one byte: that earns nothing. */
static void test_tiny_window(void **state) {
    (void)state;
    struct env e;
    begin_with(&e, 1); /* that is 0 */
    get(&e, 1, "/open/page");
    work(&e);
    size_t came = 0;
    for (int i = 0; i < 2 * CH_LIMIT_H2_CONTROL && !e.c.ended; i++) {
        h2_say_frame(&e.c, H2_WINDOW_UPDATE, 0, 1, ch_sv("\0\0\0\1", 4));
        for (int k = 0; k < 2; k++)
            ch_loop_tick(e.w.loop);
        h2_hear(&e.c);
        came += h2_body(&e.c, 1);
        if (!h2_find(&e.c, H2_GOAWAY, 0))
            e.c.nframes = 0;
    }
    expect_calm(&e);
    assert_true(came > 0 && came <= CH_LIMIT_H2_CONTROL + 1);
    end(&e);
}

/* Settings that move the windows of all streams are control frames, too. */
static void test_moving_windows(void **state) {
    (void)state;
    struct env e;
    begin_with(&e, 1);
    for (uint32_t i = 0; i < CH_LIMIT_H2_STREAMS / 2; i++)
        get(&e, 2 * i + 1, "/a");
    work(&e);
    e.c.nframes = 0;
    for (int i = 0; i < CH_LIMIT_H2_CONTROL + 100 && !e.c.ended; i++) {
        h2_say_frame(&e.c, H2_SETTINGS, 0, 0, ch_sv("\0\4\0\0\0\0", 6));
        if (i % 64 == 0)
            ch_loop_tick(e.w.loop);
        h2_hear(&e.c);
        if (!h2_find(&e.c, H2_GOAWAY, 0))
            e.c.nframes = 0;
    }
    expect_calm(&e);
    end(&e);
}

/* Pages that a client without a token asks for and does not read. */
static void test_unread_pages(void **state) {
    (void)state;
    struct env e;
    begin_with(&e, 1);
    uint32_t most = CH_LIMIT_H2_BUFFER_UNKNOWN / GUESTS_PAGE + 1;
    for (uint32_t i = 0; i <= most; i++)
        get(&e, 2 * i + 1, "/open/page");
    work(&e);
    assert_null(h2_find(&e.c, H2_RST_STREAM, 2 * most - 1));
    assert_int_equal(reset_with(&e, 2 * most + 1), CHELA_HTTP2_CANCEL);
    end(&e);
}

/* What everybody may ask for makes nobody known. */
static void test_open_is_not_trusted(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    get(&e, 1, "/open");
    for (uint32_t i = 1; i <= CH_LIMIT_H2_REFUSED + 1; i++) {
        get(&e, 2 * i + 1, "/refuse");
        ch_loop_tick(e.w.loop);
        h2_hear(&e.c);
    }
    expect_calm(&e);
    end(&e);
}

static void test_never_let_in(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    for (uint32_t i = 0; i <= CH_LIMIT_H2_REFUSED; i++) {
        get(&e, 2 * i + 1, "/refuse");
        ch_loop_tick(e.w.loop);
        h2_hear(&e.c);
    }
    expect_calm(&e);
    end(&e);
}

/* --- requests that are none */

static void test_large_headers(void **state) {
    (void)state;
    struct env e;
    CH_BUF_AUTO block = {0};
    char value[1000];
    memset(value, 'v', sizeof(value));
    begin(&e);
    h2_add_head(&block, "GET", "/a");
    for (int i = 0; i < 15; i++)
        h2_add_field(&block, "x-large", ch_sv(value, sizeof(value)));
    h2_say_frame(&e.c, H2_HEADERS, H2_END_STREAM, 1, ch_buf_sv(&block));
    ch_buf_clear(&block);
    for (int i = 0; i < 16; i++)
        h2_add_field(&block, "x-large", ch_sv(value, sizeof(value)));
    h2_say_frame(&e.c, H2_CONTINUATION, H2_END_HEADERS, 1, ch_buf_sv(&block));
    get(&e, 3, "/a");
    work(&e);
    assert_int_equal(h2_status(&e.c, 1), 200);
    assert_int_equal(h2_status(&e.c, 3), 200);
    ch_buf_clear(&block);
    h2_add_head(&block, "GET", "/a");
    for (int i = 0; i <= CH_LIMIT_INBOUND_HEADER_COUNT; i++)
        h2_add_field(&block, "x-many", CH_SV("1"));
    h2_say_frame(&e.c, H2_HEADERS, H2_WHOLE, 5, ch_buf_sv(&block));
    work(&e);
    assert_int_equal(h2_status(&e.c, 5), 431);
    end(&e);
}

/* Malformed requests never reach the owner; the connection goes on. */
static void test_malformed(void **state) {
    (void)state;
    static const struct {
        const char *name;
        struct ch_sv value;
    } fields[] = {
        {"x-a", {"a\r\nb: c", 7}}, {"x-a", {"a\0b", 3}},      {"X-A", {"a", 1}},
        {"connection", {"close", 5}}, {"te", {"gzip", 4}},       {":path", {"/b", 2}},
        {"transfer-encoding", {"chunked", 7}},                    {"host", {"evil.example", 12}},
        {"content-length", {"5", 1}}, {"x a", {"a", 1}},         {"content-length", {"x", 1}},
    };
    struct env e;
    begin(&e);
    for (uint32_t i = 0; i < CH_LEN(fields); i++) {
        CH_BUF_AUTO more = {0};
        h2_add_field(&more, fields[i].name, fields[i].value);
        h2_ask(&e.c, 2 * i + 1, H2_WHOLE, "POST", "/a", ch_buf_sv(&more));
    }
    work(&e);
    for (uint32_t i = 0; i < CH_LEN(fields); i++) {
        int status = h2_status(&e.c, 2 * i + 1);
        if (status != 400 && !h2_find(&e.c, H2_RST_STREAM, 2 * i + 1))
            fail_msg("%s was answered with %d", fields[i].name, status);
    }
    assert_int_equal(e.w.requests, 0);
    get(&e, 2 * CH_LEN(fields) + 1, "/a");
    work(&e);
    assert_int_equal(h2_status(&e.c, 2 * CH_LEN(fields) + 1), 200);
    end(&e);
}

static void test_wrong_length(void **state) {
    (void)state;
    struct env e;
    CH_BUF_AUTO more = {0};
    begin(&e);
    h2_add_field(&more, "content-length", CH_SV("5"));
    h2_ask(&e.c, 1, H2_END_HEADERS, "POST", "/a", ch_buf_sv(&more));
    h2_say_frame(&e.c, H2_DATA, H2_END_STREAM, 1, CH_SV("four"));
    h2_ask(&e.c, 3, H2_END_HEADERS, "POST", "/a", ch_buf_sv(&more));
    h2_say_frame(&e.c, H2_DATA, 0, 3, CH_SV("sixsix"));
    work(&e);
    assert_int_equal(reset_with(&e, 1), CHELA_HTTP2_PROTOCOL_ERROR);
    assert_int_equal(reset_with(&e, 3), CHELA_HTTP2_PROTOCOL_ERROR);
    assert_int_equal(e.w.requests, 0);
    end(&e);
}

static void test_large_body(void **state) {
    (void)state;
    struct env e;
    CH_BUF_AUTO more = {0};
    begin(&e);
    h2_add_field(&more, "content-length", CH_SV("99999999999"));
    h2_ask(&e.c, 1, H2_END_HEADERS, "POST", "/a", ch_buf_sv(&more));
    work(&e);
    assert_int_equal(h2_status(&e.c, 1), 413);
    later(&e, CH_LIMIT_CLIENT_LINGER_MS + 1);
    assert_int_equal(reset_with(&e, 1), CHELA_HTTP2_NO_ERROR);
    assert_int_equal(e.w.heads, 0);
    end(&e);
}

/* What is no HTTP/2 after the preface is the end of it. */
static void test_garbage(void **state) {
    (void)state;
    struct env e;
    begin(&e);
    get(&e, 1, "/hold");
    work(&e);
    h2_say_frame(&e.c, H2_DATA, 0, 0, CH_SV("nobody's"));
    work(&e);
    const struct h2_frame *f = h2_find(&e.c, H2_GOAWAY, 0);
    assert_non_null(f);
    assert_int_equal(f->code, CHELA_HTTP2_PROTOCOL_ERROR);
    assert_true(e.c.ended);
    assert_int_equal(e.w.gone, 1);
    end(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_module),       cmocka_unit_test(test_requests),
        cmocka_unit_test(test_expect),          cmocka_unit_test(test_head),
        cmocka_unit_test(test_split),           cmocka_unit_test(test_almost),
        cmocka_unit_test(test_many_at_once),    cmocka_unit_test(test_too_many_at_once),
        cmocka_unit_test(test_client_resets),   cmocka_unit_test(test_client_leaves),
        cmocka_unit_test(test_drain),           cmocka_unit_test(test_server_closes),
        cmocka_unit_test(test_silence),         cmocka_unit_test(test_idle),
        cmocka_unit_test(test_slow_head),       cmocka_unit_test(test_slow_body),
        cmocka_unit_test(test_slow_reader),     cmocka_unit_test(test_stalled_reader),
        cmocka_unit_test(test_answers_pile_up), cmocka_unit_test(test_window),
        cmocka_unit_test(test_rapid_reset),
        cmocka_unit_test(test_many_in_a_row),   cmocka_unit_test(test_endless_headers),
        cmocka_unit_test(test_references),      cmocka_unit_test(test_references_refused),
        cmocka_unit_test(test_references_add_up), cmocka_unit_test(test_references_are_usual),
        cmocka_unit_test(test_tiny_window),     cmocka_unit_test(test_moving_windows),
        cmocka_unit_test(test_unread_pages),    cmocka_unit_test(test_open_is_not_trusted),
        cmocka_unit_test(test_floods),          cmocka_unit_test(test_never_let_in),
        cmocka_unit_test(test_large_headers),   cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_wrong_length),    cmocka_unit_test(test_large_body),
        cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

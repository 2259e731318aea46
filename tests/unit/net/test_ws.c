/* test_ws.c -- a WebSocket on real connections, plain and encrypted: the
 * handshake, messages, the ways to end. The module is loaded from the build
 * directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the headers it needs */
#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/sha1.h"
#include "net/ws.h"
#include "support/tls_world.h"

struct env {
    struct tls_world w;
    char url[64];
    struct ch_sv frames; /* what the server sends behind its answer */
    const char *refusal; /* instead of one */
    struct ch_ws *ws;
    struct ch_buf log;
    bool over, close_on_message;
};

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));
    *state = e;
    tls_world_init(&e->w);
    return 0;
}

static int tear_down(void **state) {
    struct env *e = *state;
    ch_ws_close(e->ws);
    tls_world_release(&e->w);
    ch_buf_release(&e->log);
    ch_free(e);
    return 0;
}

/* --- the server */

static void on_request(struct httpd_conn *c, struct ch_sv request, void *user) {
    struct env *e = user;
    unsigned char digest[CH_SHA1_SIZE];
    CH_BUF_AUTO text = {0}, out = {0};
    if (e->refusal) {
        httpd_sends(c, e->refusal);
        httpd_end(c);
        return;
    }
    struct ch_sv key = ch_ws_header(request, "sec-websocket-key");
    ch_buf_addf(&text, "%.*s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", CH_SV_FMT(key));
    ch_sha1(ch_buf_sv(&text), digest);
    ch_buf_add_str(&out, "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                         "Sec-WebSocket-Accept: ");
    ch_base64_add(&out, ch_sv((const char *)digest, sizeof(digest)));
    ch_buf_add_str(&out, "\r\n\r\n");
    ch_buf_add_sv(&out, e->frames);
    httpd_send(c, ch_buf_sv(&out));
    httpd_pause(c, 1);
    httpd_end(c);
}

static void serve(struct env *e, bool tls) {
    if (tls)
        e->w.identity = test_ca_issue(e->w.ca, "IP:127.0.0.1", 10);
    struct httpd_opts opts = {.on_request = on_request, .user = e,
                              .layer = tls ? &httpd_tls_layer : NULL, .layer_arg = e->w.identity};
    struct ch_http_opts client = {.ca_file = e->w.ca_file, .module_path = e->w.modules};
    e->w.server = httpd_new(ch_loop_uv(e->w.loop), &opts);
    e->w.http = ch_http_new(e->w.loop, &client);
    snprintf(e->url, sizeof(e->url), "%s://127.0.0.1:%u/x", tls ? "wss" : "ws",
             httpd_port(e->w.server));
}

/* --- the client */

static void on_open(struct ch_ws *w, void *user) {
    struct env *e = user;
    ch_buf_add_str(&e->log, "open;");
    assert_int_equal(ch_ws_send(w, CH_WS_TEXT, CH_SV("hello")), 0);
}

static void on_message(struct ch_ws *w, enum ch_ws_kind kind, struct ch_sv data, void *user) {
    struct env *e = user;
    ch_buf_addf(&e->log, "%d:%.*s;", (int)kind, CH_SV_FMT(data));
    if (e->close_on_message) {
        ch_ws_close(CH_TAKE(e->ws));
        e->over = true;
    }
    (void)w;
}

static void on_gone(struct ch_ws *w, const struct chela_error *err, void *user) {
    struct env *e = user;
    struct ch_sv said = ch_ws_refusal(w, "handshake-msg");
    ch_buf_addf(&e->log, "%s%s%.*s", chela_error_text(err->code), said.n ? " " : "",
                CH_SV_FMT(said));
    ch_ws_close(CH_TAKE(e->ws));
    e->over = true;
}

static const struct ch_ws_events events = {.open = on_open, .message = on_message, .gone = on_gone};

static void talk(struct env *e, const char *want) {
    struct ch_ws_opts opts = {.url = e->url};
    assert_int_equal(ch_ws_open(e->w.http, &opts, &events, e, &e->ws, NULL), 0);
    assert_int_equal(ch_ws_send(e->ws, CH_WS_TEXT, CH_SV("too early")), CHELA_ESTATE);
    assert_int_equal(ch_loop_run(e->w.loop, &e->over), 0);
    assert_string_equal(ch_buf_str(&e->log), want);
}

#define FRAMES(literal) ((struct ch_sv){literal, sizeof(literal) - 1})

static void test_plain(void **state) {
    struct env *e = *state;
    e->frames = FRAMES("\x01\x02" "he" "\x89\x01" "p" "\x80\x01" "y" "\x82\x00");
    serve(e, false);
    talk(e, "open;1:hey;2:;network failure");
}

static void test_encrypted(void **state) {
    struct env *e = *state;
    e->frames = FRAMES("\x81\x02" "hi" "\x88\x02\x03\xe8");
    serve(e, true);
    talk(e, "open;1:hi;network failure");
}

static void test_broken(void **state) {
    struct env *e = *state;
    e->frames = FRAMES("\x81\x02" "hi" "\xff\x02");
    serve(e, false);
    talk(e, "open;1:hi;protocol violation");
}

static void test_refused(void **state) {
    struct env *e = *state;
    e->refusal = "HTTP/1.1 403 Forbidden\r\nHandshake-Msg: not you\r\n\r\n";
    serve(e, false);
    talk(e, "protocol violation not you");
}

static void test_cut(void **state) {
    struct env *e = *state;
    e->refusal = "HTTP/1.1 101 Swit";
    serve(e, false);
    talk(e, "network failure");
}

static void test_closed_in_an_event(void **state) {
    struct env *e = *state;
    e->close_on_message = true;
    e->frames = FRAMES("\x81\x02" "hi" "\x81\x02" "ho");
    serve(e, false);
    talk(e, "open;1:hi;");
}

static void test_addresses(void **state) {
    struct env *e = *state;
    static const char *const bad[] = {"http://127.0.0.1/", "ws://", "wss://h/ x", "WS://h/"};
    serve(e, false);
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct ch_ws_opts opts = {.url = bad[i]};
        struct chela_error err = {0};
        assert_int_equal(ch_ws_open(e->w.http, &opts, &events, e, &e->ws, &err), CHELA_EINVAL);
        assert_null(e->ws);
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_plain),   TEST(test_encrypted), TEST(test_broken),    TEST(test_refused),
        TEST(test_cut),     TEST(test_closed_in_an_event), TEST(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

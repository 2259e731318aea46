/* test_ws_peer.c -- a WebSocket on our server: how it is asked for, what is said on
 * it, how it ends; over loopback and with time in the test's hand. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/ws_peer.h"

/* --- the request */

#define ASK "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static void read_head(struct ch_inbound *in, const char *version, const char *headers) {
    CH_BUF_AUTO text = {0};
    size_t taken;
    ch_inbound_init(in);
    ch_buf_addf(&text, "GET /s HTTP/%s\r\nHost: x\r\n%s\r\n", version, headers);
    assert_int_equal(ch_inbound_feed(in, ch_buf_sv(&text), &taken), CH_INBOUND_HEAD);
}

static void test_requests(void **state) {
    (void)state;
    static const struct {
        const char *name, *headers;
        int status;
        const char *version;
    } cases[] = {
        {"a good one", ASK VERSION KEY, 0, "1.1"},
        {"in another order", KEY VERSION ASK, 0, "1.1"},
        {"a plain request", "X: y\r\n", 426, "1.1"},
        {"to another protocol", "Connection: Upgrade\r\nUpgrade: h2c\r\n" VERSION KEY, 426, "1.1"},
        {"that it does not mean", "Upgrade: websocket\r\n" VERSION KEY, 426, "1.1"},
        {"of an old client", ASK VERSION KEY, 426, "1.0"},
        {"no version", ASK KEY, 426, "1.1"},
        {"another version", ASK "Sec-WebSocket-Version: 8\r\n" KEY, 426, "1.1"},
        {"no key", ASK VERSION, 400, "1.1"},
        {"two keys", ASK VERSION KEY KEY, 400, "1.1"},
        {"a short key", ASK VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n", 400, "1.1"},
        {"no base64", ASK VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!==\r\n", 400, "1.1"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_inbound in;
        const char *why;
        read_head(&in, cases[i].version, cases[i].headers);
        int got = ch_ws_peer_check(&in, &why);
        if (got != cases[i].status || !why != !got)
            fail_msg("%s: got %d, want %d", cases[i].name, got, cases[i].status);
        ch_inbound_release(&in);
    }
}

static void test_offers(void **state) {
    (void)state;
    static const struct {
        const char *headers, *prefix, *rest; /* NULL: it is not offered */
    } cases[] = {
        {"Sec-WebSocket-Protocol: chela.v1, bearer.abc\r\n", "bearer.", "abc"},
        {"Sec-WebSocket-Protocol: bearer.abc,chela.v1\r\n", "chela.v1", ""},
        {"Sec-WebSocket-Protocol: chela.v10\r\n", "chela.v1", "0"},
        {"Sec-WebSocket-Protocol: bearer.abc\r\n", "chela.v1", NULL},
        {"Sec-WebSocket-Protocol: xbearer.abc\r\n", "bearer.", NULL},
        {"Sec-WebSocket-Protocol: bearer.a\r\nSec-WebSocket-Protocol: bearer.b\r\n", "bearer.",
         NULL},
        {"X: y\r\n", "bearer.", NULL},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_inbound in;
        read_head(&in, "1.1", cases[i].headers);
        struct ch_sv rest = ch_ws_peer_offer(&in, cases[i].prefix);
        if (!rest.p != !cases[i].rest || (rest.p && !ch_sv_is(rest, cases[i].rest)))
            fail_msg("case %zu: got '%.*s'", i, CH_SV_FMT(rest));
        bool exact = rest.p && rest.n == 0;
        assert_int_equal(ch_ws_peer_offers(&in, cases[i].prefix), exact);
        ch_inbound_release(&in);
    }
}

/* --- the socket */

struct world {
    struct ch_loop *loop;
    struct ch_server *server;
    int64_t ms;
    struct ch_exchange *x;
    struct ch_ws_peer *peer; /* NULL: none, or it is over */
    struct ch_buf said;      /* by the client: a line each */
    unsigned code;           /* it ended with */
    bool lost;               /* without a word */
};

static int64_t world_ms(void *user) {
    return ((struct world *)user)->ms;
}

static void on_message(struct ch_ws_peer *p, struct ch_sv text, void *user) {
    struct world *w = user;
    ch_buf_addf(&w->said, "%.*s\n", (int)CH_MIN(text.n, 20), text.p);
    if (ch_sv_is(text, "bye"))
        ch_ws_peer_close(p, CH_WS_AWAY, "see you");
    else
        ch_ws_peer_send(p, text);
}

static void on_gone(struct ch_ws_peer *p, unsigned code, void *user) {
    struct world *w = user;
    w->code = code;
    w->peer = NULL;
    ch_exchange_end(w->x);
    ch_ws_peer_free(p);
}

static void on_left(struct ch_exchange *x, void *user) {
    struct world *w = user;
    (void)x;
    w->lost = true;
    ch_ws_peer_free(CH_TAKE(w->peer));
}

static void on_head(struct ch_exchange *x, void *user) {
    (void)x;
    (void)user;
}

static void on_request(struct ch_exchange *x, void *user) {
    static const struct ch_ws_peer_events events = {.message = on_message, .gone = on_gone};
    struct world *w = user;
    w->x = x;
    ch_exchange_attach(x, on_left, w);
    assert_int_equal(ch_ws_peer_accept(w->loop, x, "chela.v1", &events, w, &w->peer), 0);
}

static void work(struct world *w) {
    for (int i = 0; i < 20; i++) {
        ch_loop_tick(w->loop);
        poll(NULL, 0, 1);
    }
}

static void send_bytes(int fd, struct ch_sv bytes) {
    assert_int_equal(send(fd, bytes.p, bytes.n, MSG_NOSIGNAL), bytes.n);
}

/* What comes until there is `n` bytes, or the end; the peer may still be writing. */
static void hear(struct world *w, int fd, struct ch_buf *out, size_t n) {
    char bytes[4096];
    for (int i = 0; i < 2000 && out->n < n; i++) {
        ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            return;
        if (got > 0)
            ch_buf_add(out, bytes, (size_t)got);
        else
            work(w);
    }
}

static int begin(struct world *w, struct ch_clock *clock) {
    struct chela_error err = {0};
    struct sockaddr_in to = {.sin_family = AF_INET};
    CH_BUF_AUTO head = {0};
    *w = (struct world){.ms = 1000000};
    *clock = (struct ch_clock){.now_ms = world_ms, .mono_ms = world_ms, .user = w};
    assert_int_equal(ch_loop_new(NULL, clock, &w->loop, &err), 0);
    struct ch_server_opts opts = {
        .listen = "127.0.0.1:0", .head = on_head, .request = on_request, .user = w};
    assert_int_equal(ch_server_new(w->loop, &opts, &w->server, &err), 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)strtol(strrchr(ch_server_address(w->server), ':') + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    send_bytes(fd, CH_SV("GET /s HTTP/1.1\r\nHost: x\r\n" ASK VERSION KEY "\r\n"));
    for (int i = 0; i < 200 && !w->peer; i++)
        work(w);
    hear(w, fd, &head, 1);
    assert_non_null(strstr(ch_buf_str(&head), "HTTP/1.1 101 Switching Protocols\r\n"));
    assert_non_null(
        strstr(ch_buf_str(&head), "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert_non_null(strstr(ch_buf_str(&head), "Sec-WebSocket-Protocol: chela.v1\r\n"));
    assert_null(strstr(ch_buf_str(&head), "Content-Length"));
    assert_null(strstr(ch_buf_str(&head), "close"));
    return fd;
}

static void end(struct world *w, int fd) {
    close(fd);
    ch_ws_peer_free(w->peer);
    ch_server_close(w->server);
    ch_loop_close(w->loop, NULL, NULL);
    ch_buf_release(&w->said);
}

/* What is sent, and what comes of it. */
static void test_talk(void **state) {
    (void)state;
    static const struct {
        const char *name;
        struct ch_sv sent, heard;
        const char *said;
        unsigned code; /* 0: it goes on */
    } cases[] = {
#define BYTES(literal) {literal, sizeof(literal) - 1}
#define PLAIN "\0\0\0\0"
        {"a text", BYTES("\x81\x82" PLAIN "hi"), BYTES("\x81\x02hi"), "hi\n", 0},
        {"a ping", BYTES("\x89\x82" PLAIN "hi"), BYTES("\x8a\x02hi"), "", 0},
        {"a pong nobody asked for, then a text", BYTES("\x8a\x80" PLAIN "\x81\x81" PLAIN "a"),
         BYTES("\x81\x01" "a"), "a\n", 0},
        {"their goodbye", BYTES("\x88\x82" PLAIN "\x03\xe8"), BYTES("\x88\x02\x03\xe8"), "", 1000},
        {"without a reason", BYTES("\x88\x80" PLAIN), BYTES("\x88\x00"), "", 1005},
        {"ours, and theirs",
         BYTES("\x81\x83" PLAIN "bye\x81\x81" PLAIN "x\x88\x82" PLAIN "\x03\xe9"),
         BYTES("\x88\x09\x03\xe9see you"), "bye\n", 1001},
        {"binary", BYTES("\x82\x81" PLAIN "a\x88\x82" PLAIN "\x03\xeb"),
         BYTES("\x88\x22\x03\xebonly text messages are supported"), "", 1003},
        {"no mask", BYTES("\x81\x01" "a"), BYTES("\x88"), "", 1002},
        {"not UTF-8", BYTES("\x81\x81" PLAIN "\xff"), BYTES("\x88"), "", 1007},
        {"too much", BYTES("\x81\xff\0\0\0\0\x7f\0\0\0" PLAIN), BYTES("\x88"), "", 1009},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct world w;
        struct ch_clock clock;
        CH_BUF_AUTO heard = {0};
        int fd = begin(&w, &clock);
        send_bytes(fd, cases[i].sent);
        hear(&w, fd, &heard, cases[i].heard.n);
        if (heard.n < cases[i].heard.n || memcmp(heard.p, cases[i].heard.p, cases[i].heard.n) != 0)
            fail_msg("%s: heard %zu bytes, %02x...", cases[i].name, heard.n,
                     heard.n ? (unsigned char)heard.p[0] : 0);
        for (int k = 0; k < 200 && cases[i].code && w.peer; k++)
            work(&w);
        if (strcmp(ch_buf_str(&w.said), cases[i].said) != 0 || w.code != cases[i].code)
            fail_msg("%s: said '%s', code %u", cases[i].name, ch_buf_str(&w.said), w.code);
        if (cases[i].code > 1005) { /* the reason names what was wrong */
            assert_int_equal((unsigned char)heard.p[2] << 8 | (unsigned char)heard.p[3], w.code);
            assert_true((unsigned char)heard.p[1] > 2 && (unsigned char)heard.p[1] <= 125);
        }
        end(&w, fd);
    }
}

/* A client that says nothing is asked; one that does not answer is let go. */
static void test_silence(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    CH_BUF_AUTO heard = {0};
    int fd = begin(&w, &clock);
    w.ms += CH_DEFAULT_WS_PING_MS;
    hear(&w, fd, &heard, 2);
    assert_int_equal(heard.n, 2);
    assert_memory_equal(heard.p, "\x89\x00", 2);
    send_bytes(fd, CH_SV("\x8a\x80" PLAIN "\x81\x81" PLAIN "a"));
    hear(&w, fd, &heard, 5); /* so the pong was heard */
    w.ms += CH_LIMIT_WS_PONG_MS;
    work(&w);
    assert_non_null(w.peer);
    w.ms += CH_DEFAULT_WS_PING_MS;
    hear(&w, fd, &heard, 7);
    assert_int_equal(heard.n, 7);
    assert_memory_equal(heard.p + 5, "\x89\x00", 2);
    w.ms += CH_LIMIT_WS_PONG_MS;
    for (int i = 0; i < 200 && w.peer; i++)
        work(&w);
    assert_true(w.lost);
    end(&w, fd);
}

/* Our goodbye is not waited for forever. */
static void test_no_goodbye(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    CH_BUF_AUTO heard = {0};
    int fd = begin(&w, &clock);
    ch_ws_peer_close(w.peer, CH_WS_AWAY, "");
    assert_int_equal(ch_ws_peer_send(w.peer, CH_SV("x")), CHELA_ESTATE);
    hear(&w, fd, &heard, 4);
    assert_memory_equal(heard.p, "\x88\x02\x03\xe9", 4);
    assert_non_null(w.peer);
    w.ms += CH_LIMIT_CLIENT_LINGER_MS;
    for (int i = 0; i < 200 && w.peer; i++)
        work(&w);
    assert_int_equal(w.code, CH_WS_AWAY);
    end(&w, fd);
}

/* Who does not read is told so, behind what they did not read. */
static void test_lag(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    CH_BUF_AUTO heard = {0};
    static char piece[64 * 1024];
    size_t sent = 0;
    int rc = 0, fd = begin(&w, &clock);
    memset(piece, 'x', sizeof(piece));
    for (; rc == 0 && sent < 1000; sent++)
        rc = ch_ws_peer_send(w.peer, ch_sv(piece, sizeof(piece)));
    assert_int_equal(rc, CHELA_ELIMIT);
    hear(&w, fd, &heard, (sent - 1) * (sizeof(piece) + 10) + 4);
    const char *last = heard.p + (sent - 1) * (sizeof(piece) + 10);
    assert_memory_equal(last, "\x88", 1);
    assert_memory_equal(last + 2, "\x03\xf5", 2);
    end(&w, fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),   cmocka_unit_test(test_offers),
        cmocka_unit_test(test_talk),       cmocka_unit_test(test_silence),
        cmocka_unit_test(test_no_goodbye), cmocka_unit_test(test_lag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

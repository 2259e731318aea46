/* test_server.c -- clients that are slow, leave, or never ask, over loopback
 * and with time in the test's hand. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/server.h"

struct world {
    struct ch_loop *loop;
    struct ch_server *server;
    int64_t ms;
    unsigned heads, requests, gone;
    struct ch_exchange *held; /* a request that is answered by the test */
};

static int64_t world_ms(void *user) {
    return ((struct world *)user)->ms;
}

static void on_gone(struct ch_exchange *x, void *user) {
    struct world *w = user;
    (void)x;
    w->gone++;
    w->held = NULL;
}

static void on_head(struct ch_exchange *x, void *user) {
    struct world *w = user;
    w->heads++;
    if (ch_sv_is(ch_inbound_target(ch_exchange_inbound(x)), "/refuse"))
        ch_exchange_respond(x, 401, "text/plain", CH_SV("no\n"));
}

static void on_request(struct ch_exchange *x, void *user) {
    struct world *w = user;
    w->requests++;
    if (ch_sv_is(ch_inbound_target(ch_exchange_inbound(x)), "/hold")) {
        w->held = x;
        ch_exchange_attach(x, on_gone, w);
        return;
    }
    ch_exchange_respond(x, 200, "text/plain", CH_SV("ok\n"));
}

static void begin(struct world *w, struct ch_clock *clock) {
    struct chela_error err = {0};
    *w = (struct world){.ms = 1000000};
    *clock = (struct ch_clock){.now_ms = world_ms, .mono_ms = world_ms, .user = w};
    assert_int_equal(ch_loop_new(NULL, clock, &w->loop, &err), 0);
    struct ch_server_opts opts = {
        .listen = "127.0.0.1:0", .head = on_head, .request = on_request, .user = w};
    assert_int_equal(ch_server_new(w->loop, &opts, &w->server, &err), 0);
}

static void end(struct world *w) {
    ch_server_close(w->server);
    ch_loop_close(w->loop, NULL, NULL);
}

/* From 127.0.0.`last`. */
static int dial_from(struct world *w, unsigned last) {
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET};
    from.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffU) | last);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)strtol(strrchr(ch_server_address(w->server), ':') + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static int dial(struct world *w) {
    return dial_from(w, 1);
}

static void work(struct world *w) {
    for (int i = 0; i < 20; i++) {
        ch_loop_tick(w->loop);
        poll(NULL, 0, 1);
    }
}

static void later(struct world *w, int64_t ms) {
    w->ms += ms;
    work(w);
}

static void say(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* What there is to read; *ended: and nothing will follow. */
static void hear(int fd, struct ch_buf *out, bool *ended) {
    char bytes[4096];
    ssize_t n;
    *ended = false;
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        ch_buf_add(out, bytes, (size_t)n);
    *ended = n == 0 || (n < 0 && errno != EAGAIN);
}

static bool heard(int fd, const char *text) {
    CH_BUF_AUTO got = {0};
    bool ended;
    hear(fd, &got, &ended);
    return strstr(ch_buf_str(&got), text) != NULL;
}

/* A byte now and then does not make the deadline move. */
static void test_slow_head(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    begin(&w, &clock);
    int fd = dial(&w);
    say(fd, "GET /x HTTP/1.1\r\nA: ");
    for (int i = 0; i < CH_LIMIT_INBOUND_HEAD_MS / 1000; i++) {
        work(&w);
        say(fd, "b");
        later(&w, 1000);
    }
    assert_true(heard(fd, "408 Request Timeout"));
    assert_int_equal(w.heads, 0);
    close(fd);
    end(&w);
}

static void test_slow_body(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    begin(&w, &clock);
    int fd = dial(&w);
    say(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    work(&w);
    assert_int_equal(w.heads, 1);
    for (int i = 0; i < CH_LIMIT_INBOUND_BODY_MS / 10000; i++) {
        say(fd, "b");
        later(&w, 10000);
    }
    assert_true(heard(fd, "408 Request Timeout"));
    assert_int_equal(w.requests, 0);
    close(fd);
    end(&w);
}

static void test_silence(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    CH_BUF_AUTO got = {0};
    bool ended;
    begin(&w, &clock);
    int fd = dial(&w);
    work(&w);
    assert_int_equal(ch_server_clients(w.server), 1);
    later(&w, CH_LIMIT_INBOUND_HEAD_MS + 1);
    hear(fd, &got, &ended);
    assert_true(ended);
    assert_int_equal(ch_server_clients(w.server), 0);
    close(fd);
    end(&w);
}

/* An answer before the body is read reaches the client, then the end. */
static void test_refused_at_the_head(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    begin(&w, &clock);
    int fd = dial(&w);
    say(fd, "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nsome of it");
    work(&w);
    CH_BUF_AUTO got = {0};
    bool ended;
    hear(fd, &got, &ended);
    assert_non_null(strstr(ch_buf_str(&got), "401 Unauthorized"));
    assert_true(ended);
    assert_int_equal(w.requests, 0);
    close(fd);
    end(&w);
}

static void test_client_leaves(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    begin(&w, &clock);
    int fd = dial(&w);
    say(fd, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    work(&w);
    assert_non_null(w.held);
    close(fd);
    work(&w);
    assert_int_equal(w.gone, 1);
    assert_int_equal(ch_server_clients(w.server), 0);
    end(&w);
}

/* One that does not read costs its bound and no more. */
static void test_slow_reader(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    char *piece = ch_malloc(64 * CH_KB);
    size_t sent = 0;
    int rc = 0;
    memset(piece, 'x', 64 * CH_KB);
    begin(&w, &clock);
    int fd = dial(&w);
    say(fd, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    work(&w);
    ch_exchange_stream(w.held, 200, "text/plain");
    while (rc == 0 && sent < 256 * CH_MB) {
        rc = ch_exchange_write(w.held, ch_sv(piece, 64 * CH_KB));
        sent += 64 * CH_KB;
    }
    assert_int_equal(rc, CHELA_ELIMIT);
    assert_int_equal(w.gone, 0); /* not from inside the call */
    work(&w);
    assert_int_equal(w.gone, 1);
    ch_free(piece);
    close(fd);
    end(&w);
}

static void test_stalled_reader(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    struct ch_buf large = {0};
    begin(&w, &clock);
    int fd = dial(&w);
    say(fd, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    work(&w);
    memset(ch_buf_reserve(&large, 32 * CH_MB), 'x', 32 * CH_MB);
    ch_buf_commit(&large, 32 * CH_MB);
    ch_exchange_respond(w.held, 200, "text/plain", ch_buf_sv(&large));
    ch_buf_release(&large);
    work(&w);
    assert_int_equal(ch_server_clients(w.server), 1);
    later(&w, CH_LIMIT_CLIENT_STALL_MS + 1);
    assert_int_equal(ch_server_clients(w.server), 0);
    close(fd);
    end(&w);
}

enum { CROWD = CH_LIMIT_CLIENTS_UNKNOWN + 64 };

/* Up to n connections from so many addresses in turn; how many it became. */
static size_t come(struct world *w, int *fds, size_t n, unsigned addresses) {
    size_t i = 0;
    for (; i < n; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (fds[i] < 0)
            break; /* a machine that gives us fewer files */
        close(fds[i]);
        fds[i] = dial_from(w, 2 + (unsigned)i % addresses);
        if (i % 64 == 0)
            ch_loop_tick(w->loop);
    }
    work(w);
    return i;
}

static void go(int *fds, size_t n) {
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
}

/* Those who ask for nothing make room for each other, not for who asks. */
static void test_too_many(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    static int fds[CROWD];
    begin(&w, &clock);
    int asks = dial(&w);
    say(asks, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    work(&w);
    size_t n = come(&w, fds, CROWD, 8);
    assert_true(ch_server_clients(w.server) <= CH_LIMIT_CLIENTS_UNKNOWN + 1);
    assert_non_null(w.held);
    ch_exchange_respond(w.held, 200, "text/plain", CH_SV("still here\n"));
    work(&w);
    assert_true(heard(asks, "still here"));
    go(fds, n);
    close(asks);
    end(&w);
}

/* A crowd from one address makes room for itself alone: who came before them from
 * another, and has said nothing yet, stays. Those who were served are not counted:
 * many people may come through one proxy. */
static void test_too_many_from_one(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    static int fds[CROWD];
    begin(&w, &clock);
    int waits = dial(&w), proxy = dial_from(&w, 2);
    say(proxy, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    work(&w);
    assert_true(heard(proxy, "200 OK"));
    size_t n = come(&w, fds, CH_LIMIT_CLIENTS_ADDRESS + 64, 1);
    assert_true(ch_server_clients(w.server) <= CH_LIMIT_CLIENTS_ADDRESS + 2);
    say(waits, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    say(proxy, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    work(&w);
    assert_true(heard(waits, "200 OK"));
    assert_true(heard(proxy, "200 OK"));
    go(fds, n);
    close(waits);
    close(proxy);
    end(&w);
}

/* A socket that somebody else bound, as a service manager does. */
static void test_handed_down(void **state) {
    (void)state;
    struct world w;
    struct ch_clock clock;
    struct chela_error err = {0};
    struct sockaddr_in a = {.sin_family = AF_INET};
    char name[32];
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    begin(&w, &clock);
    ch_server_close(w.server);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    snprintf(name, sizeof(name), "fd:%d", fd);
    struct ch_server_opts opts = {
        .listen = name, .head = on_head, .request = on_request, .user = &w};
    assert_int_equal(ch_server_new(w.loop, &opts, &w.server, &err), 0);
    int asks = dial(&w);
    say(asks, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    work(&w);
    assert_true(heard(asks, "200 OK"));
    close(asks);
    end(&w);
}

static void test_addresses(void **state) {
    (void)state;
    static const char *const bad[] = {"",        "8787",     ":8787",          "localhost",
                                      "a.b:1",   "1.2.3:1",  "127.0.0.1:x",    "127.0.0.1:70000",
                                      "::1:80",  "[::1]",    "127.0.0.1:80:1", "127.0.0.1:-1",
                                      "fd:",     "fd:1",     "fd:3x",          "fd:-3"};
    struct world w;
    struct ch_clock clock;
    begin(&w, &clock);
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct ch_server_opts opts = {.listen = bad[i]};
        struct ch_server *s;
        struct chela_error err = {0};
        if (ch_server_new(w.loop, &opts, &s, &err) != CHELA_EINVAL)
            fail_msg("'%s' was taken", bad[i]);
    }
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_head),     cmocka_unit_test(test_slow_body),
        cmocka_unit_test(test_silence),       cmocka_unit_test(test_refused_at_the_head),
        cmocka_unit_test(test_client_leaves), cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_stalled_reader), cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_too_many_from_one),
        cmocka_unit_test(test_handed_down),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

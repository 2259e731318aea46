/* guests.c -- see guests.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "support/guests.h"

static int64_t guests_ms(void *user) {
    return ((struct guests *)user)->ms;
}

static void on_gone(struct ch_exchange *x, void *user) {
    struct guests *w = user;
    (void)x;
    w->gone++;
    w->held = NULL;
}

static void on_head(struct ch_exchange *x, void *user) {
    struct guests *w = user;
    w->heads++;
    struct ch_sv target = ch_inbound_target(ch_exchange_inbound(x));
    if (!ch_sv_starts(target, "/open") && !ch_sv_is(target, "/refuse"))
        ch_exchange_trust(x);
    if (ch_sv_is(target, "/refuse"))
        ch_exchange_respond(x, 401, "text/plain", CH_SV("no\n"));
}

static void on_request(struct ch_exchange *x, void *user) {
    struct guests *w = user;
    w->requests++;
    struct ch_sv target = ch_inbound_target(ch_exchange_inbound(x));
    if (ch_sv_is(target, "/hold") || ch_sv_is(target, "/open/hold")) {
        w->held = x;
        ch_exchange_attach(x, on_gone, w);
        return;
    }
    bool page = ch_sv_is(target, "/open/page");
    ch_exchange_respond(x, 200, "text/plain", page ? ch_buf_sv(&w->page) : CH_SV("ok\n"));
}

void guests_begin(struct guests *w, const char *modules) {
    struct chela_error err = {0};
    *w = (struct guests){.ms = 1000000};
    memset(ch_buf_reserve(&w->page, GUESTS_PAGE), 'x', GUESTS_PAGE);
    ch_buf_commit(&w->page, GUESTS_PAGE);
    w->clock = (struct ch_clock){.now_ms = guests_ms, .mono_ms = guests_ms, .user = w};
    w->opts = (struct ch_server_opts){.listen = "127.0.0.1:0",
                                      .module_path = modules,
                                      .head = on_head,
                                      .request = on_request,
                                      .user = w};
    assert_int_equal(ch_loop_new(NULL, &w->clock, &w->loop, &err), 0);
    assert_int_equal(ch_server_new(w->loop, &w->opts, &w->server, &err), 0);
}

void guests_end(struct guests *w) {
    ch_server_close(w->server);
    ch_loop_close(w->loop, NULL, NULL);
    ch_buf_release(&w->page);
}

int guests_dial_from(struct guests *w, unsigned last) {
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET};
    from.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffU) | last);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)strtol(strrchr(ch_server_address(w->server), ':') + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    /* Data written in two pieces must not wait for the first acknowledgement. */
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0);
    return fd;
}

int guests_dial(struct guests *w) {
    return guests_dial_from(w, 1);
}

void guests_work(struct guests *w) {
    for (int i = 0; i < 20; i++) {
        ch_loop_tick(w->loop);
        poll(NULL, 0, 1);
    }
}

void guests_later(struct guests *w, int64_t ms) {
    w->ms += ms;
    guests_work(w);
}

void guests_hear(int fd, struct ch_buf *out, bool *ended) {
    char bytes[4096];
    ssize_t n;
    *ended = false;
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        ch_buf_add(out, bytes, (size_t)n);
    *ended = n == 0 || (n < 0 && errno != EAGAIN);
}

bool guests_heard(int fd, const char *text) {
    CH_BUF_AUTO got = {0};
    bool ended;
    guests_hear(fd, &got, &ended);
    return strstr(ch_buf_str(&got), text) != NULL;
}

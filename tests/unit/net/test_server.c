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
#include "support/guests.h"

static void say(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* A byte now and then does not make the deadline move. */
static void test_slow_head(void **state) {
    (void)state;
    struct guests w;
    guests_begin(&w, NULL);
    int fd = guests_dial(&w);
    say(fd, "GET /x HTTP/1.1\r\nA: ");
    for (int i = 0; i < CH_LIMIT_INBOUND_HEAD_MS / 1000; i++) {
        guests_work(&w);
        say(fd, "b");
        guests_later(&w, 1000);
    }
    assert_true(guests_heard(fd, "408 Request Timeout"));
    assert_int_equal(w.heads, 0);
    close(fd);
    guests_end(&w);
}

static void test_slow_body(void **state) {
    (void)state;
    struct guests w;
    guests_begin(&w, NULL);
    int fd = guests_dial(&w);
    say(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    guests_work(&w);
    assert_int_equal(w.heads, 1);
    for (int i = 0; i < CH_LIMIT_INBOUND_BODY_MS / 10000; i++) {
        say(fd, "b");
        guests_later(&w, 10000);
    }
    assert_true(guests_heard(fd, "408 Request Timeout"));
    assert_int_equal(w.requests, 0);
    close(fd);
    guests_end(&w);
}

static void test_silence(void **state) {
    (void)state;
    struct guests w;
    CH_BUF_AUTO got = {0};
    bool ended;
    guests_begin(&w, NULL);
    int fd = guests_dial(&w);
    guests_work(&w);
    assert_int_equal(ch_server_clients(w.server), 1);
    guests_later(&w, CH_LIMIT_INBOUND_HEAD_MS + 1);
    guests_hear(fd, &got, &ended);
    assert_true(ended);
    assert_int_equal(ch_server_clients(w.server), 0);
    close(fd);
    guests_end(&w);
}

/* An answer before the body is read reaches the client, then the end. */
static void test_refused_at_the_head(void **state) {
    (void)state;
    struct guests w;
    guests_begin(&w, NULL);
    int fd = guests_dial(&w);
    say(fd, "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nsome of it");
    guests_work(&w);
    CH_BUF_AUTO got = {0};
    bool ended;
    guests_hear(fd, &got, &ended);
    assert_non_null(strstr(ch_buf_str(&got), "401 Unauthorized"));
    assert_true(ended);
    assert_int_equal(w.requests, 0);
    close(fd);
    guests_end(&w);
}

static void test_client_leaves(void **state) {
    (void)state;
    struct guests w;
    guests_begin(&w, NULL);
    int fd = guests_dial(&w);
    say(fd, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    assert_non_null(w.held);
    close(fd);
    guests_work(&w);
    assert_int_equal(w.gone, 1);
    assert_int_equal(ch_server_clients(w.server), 0);
    guests_end(&w);
}

/* One that does not read costs its bound and no more. */
static void test_slow_reader(void **state) {
    (void)state;
    struct guests w;
    char *piece = ch_malloc(64 * CH_KB);
    size_t sent = 0;
    int rc = 0;
    memset(piece, 'x', 64 * CH_KB);
    guests_begin(&w, NULL);
    int fd = guests_dial(&w);
    say(fd, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    ch_exchange_stream(w.held, 200, "text/plain");
    while (rc == 0 && sent < 256 * CH_MB) {
        rc = ch_exchange_write(w.held, ch_sv(piece, 64 * CH_KB));
        sent += 64 * CH_KB;
    }
    assert_int_equal(rc, CHELA_ELIMIT);
    assert_int_equal(w.gone, 0); /* not from inside the call */
    guests_work(&w);
    assert_int_equal(w.gone, 1);
    ch_free(piece);
    close(fd);
    guests_end(&w);
}

/* What has come, without waiting. */
static const char *arrived(int fd, char *room, size_t size) {
    ssize_t n = recv(fd, room, size - 1, MSG_DONTWAIT);
    room[n > 0 ? n : 0] = '\0';
    return room;
}

/* The pieces of one turn of the loop are sent together, before the end of the answer. */
static void test_pieces_of_a_turn(void **state) {
    (void)state;
    struct guests w;
    char room[1024];
    guests_begin(&w, NULL);
    int fd = guests_dial(&w);
    say(fd, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    ch_exchange_stream(w.held, 200, "text/plain");
    assert_int_equal(ch_exchange_write(w.held, CH_SV("a")), 0);
    assert_int_equal(ch_exchange_write(w.held, CH_SV("bc")), 0);
    assert_non_null(strstr(arrived(fd, room, sizeof(room)), "chunked\r\n\r\n"));
    assert_null(strstr(room, "a\r\n"));
    guests_work(&w);
    assert_string_equal(arrived(fd, room, sizeof(room)), "1\r\na\r\n2\r\nbc\r\n");
    assert_int_equal(ch_exchange_write(w.held, CH_SV("d")), 0);
    ch_exchange_end(w.held);
    assert_string_equal(arrived(fd, room, sizeof(room)), "1\r\nd\r\n0\r\n\r\n");
    guests_work(&w);
    close(fd);
    guests_end(&w);
}

static void test_stalled_reader(void **state) {
    (void)state;
    struct guests w;
    struct ch_buf large = {0};
    guests_begin(&w, NULL);
    int fd = guests_dial(&w);
    say(fd, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    memset(ch_buf_reserve(&large, 32 * CH_MB), 'x', 32 * CH_MB);
    ch_buf_commit(&large, 32 * CH_MB);
    ch_exchange_respond(w.held, 200, "text/plain", ch_buf_sv(&large));
    ch_buf_release(&large);
    guests_work(&w);
    assert_int_equal(ch_server_clients(w.server), 1);
    guests_later(&w, CH_LIMIT_CLIENT_STALL_MS + 1);
    assert_int_equal(ch_server_clients(w.server), 0);
    close(fd);
    guests_end(&w);
}

enum { CROWD = CH_LIMIT_CLIENTS_UNKNOWN + 64 };

/* Up to n connections from so many addresses in turn; how many it became. */
static size_t come(struct guests *w, int *fds, size_t n, unsigned addresses) {
    size_t i = 0;
    for (; i < n; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (fds[i] < 0)
            break; /* a machine that gives us fewer files */
        close(fds[i]);
        fds[i] = guests_dial_from(w, 2 + (unsigned)i % addresses);
        if (i % 64 == 0)
            ch_loop_tick(w->loop);
    }
    guests_work(w);
    return i;
}

static void go(int *fds, size_t n) {
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
}

/* Those who ask for nothing make room for each other, not for who asks. */
static void test_too_many(void **state) {
    (void)state;
    struct guests w;
    static int fds[CROWD];
    guests_begin(&w, NULL);
    int asks = guests_dial(&w);
    say(asks, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    size_t n = come(&w, fds, CROWD, 8);
    assert_true(ch_server_clients(w.server) <= CH_LIMIT_CLIENTS_UNKNOWN + 1);
    assert_non_null(w.held);
    ch_exchange_respond(w.held, 200, "text/plain", CH_SV("still here\n"));
    guests_work(&w);
    assert_true(guests_heard(asks, "still here"));
    go(fds, n);
    close(asks);
    guests_end(&w);
}

/* A crowd from one address makes room for itself alone: who came before them from
 * another, and has said nothing yet, stays. Those who were served are not counted:
 * many people may come through one proxy. */
static void test_too_many_from_one(void **state) {
    (void)state;
    struct guests w;
    static int fds[CROWD];
    guests_begin(&w, NULL);
    int waits = guests_dial(&w), proxy = guests_dial_from(&w, 2);
    say(proxy, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    assert_true(guests_heard(proxy, "200 OK"));
    size_t n = come(&w, fds, CH_LIMIT_CLIENTS_ADDRESS + 64, 1);
    assert_true(ch_server_clients(w.server) <= CH_LIMIT_CLIENTS_ADDRESS + 2);
    say(waits, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    say(proxy, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    assert_true(guests_heard(waits, "200 OK"));
    assert_true(guests_heard(proxy, "200 OK"));
    go(fds, n);
    close(waits);
    close(proxy);
    guests_end(&w);
}

/* Strangers of one address keep a bounded number of requests in progress: the slowest makes
 * room. Nobody else has to wait for them, also if all come through one proxy. */
static void test_too_many_busy_from_one(void **state) {
    (void)state;
    static const char slow[] =
        "POST /open/x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nslow";
    enum { STRANGERS = CH_LIMIT_CLIENTS_ADDRESS + 32 };
    struct guests w;
    static int fds[STRANGERS];
    size_t n = 0;
    guests_begin(&w, NULL);
    for (; n < STRANGERS; n++) {
        fds[n] = guests_dial_from(&w, 2);
        say(fds[n], slow);
        ch_loop_tick(w.loop);
    }
    guests_work(&w);
    assert_int_equal(ch_server_clients(w.server), CH_LIMIT_CLIENTS_ADDRESS);
    for (size_t i = 0; i < 3; i++) { /* one with a token, one without, one of another address */
        int fd = guests_dial_from(&w, i == 2 ? 3 : 2);
        say(fd, i == 0 ? "GET /x HTTP/1.1\r\nHost: a\r\n\r\n" : slow);
        say(fd, i == 0 ? "" : "ender");
        guests_work(&w);
        assert_true(guests_heard(fd, "200 OK"));
        close(fd);
    }
    for (size_t i = 0; i < CH_LIMIT_CLIENTS_ADDRESS; i++) { /* answered before the end: /refuse */
        close(fds[i]);
        fds[i] = guests_dial_from(&w, 2);
        say(fds[i], "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nslow");
        ch_loop_tick(w.loop);
    }
    guests_work(&w);
    int fd = guests_dial_from(&w, 2);
    say(fd, "GET /open/x HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    assert_true(guests_heard(fd, "200 OK"));
    close(fd);
    say(fds[n - 1], "ender"); /* the last of them is served */
    guests_work(&w);
    assert_true(guests_heard(fds[n - 1], "200 OK"));
    go(fds, n);
    guests_end(&w);
}

/* The process was stopped, or busy: whole requests wait in the sockets. All are answered. */
static void test_a_burst_from_one(void **state) {
    (void)state;
    struct guests w;
    static int fds[CH_LIMIT_CLIENTS_ADDRESS + 144];
    size_t n = 0, answered = 0;
    guests_begin(&w, NULL);
    for (; n < CH_LEN(fds); n++) {
        fds[n] = guests_dial_from(&w, 2);
        say(fds[n], "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    guests_work(&w);
    for (size_t i = 0; i < n; i++)
        answered += guests_heard(fds[i], "200 OK");
    assert_int_equal(answered, n);
    go(fds, n);
    guests_end(&w);
}

/* A socket that somebody else bound, as a service manager does. */
static void test_handed_down(void **state) {
    (void)state;
    struct guests w;
    struct chela_error err = {0};
    struct sockaddr_in a = {.sin_family = AF_INET};
    char name[32];
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    guests_begin(&w, NULL);
    ch_server_close(w.server);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    snprintf(name, sizeof(name), "fd:%d", fd);
    struct ch_server_opts opts = w.opts;
    opts.listen = name;
    assert_int_equal(ch_server_new(w.loop, &opts, &w.server, &err), 0);
    int asks = guests_dial(&w);
    say(asks, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    assert_true(guests_heard(asks, "200 OK"));
    close(asks);
    guests_end(&w);
}

static void pass_on(int socket, int fd, char byte) {
    char room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &fd, sizeof(fd));
    assert_int_equal(sendmsg(socket, &m, 0), 1);
    close(fd);
}

/* Another process accepts the connections and passes them on; some bytes come without any. */
static void test_passed_on(void **state) {
    (void)state;
    enum { CLIENTS = 40 };
    struct guests w;
    struct chela_error err = {0};
    char name[32], *address;
    int ends[2], asks[CLIENTS], listener, kept = -1;
    _Atomic uint64_t taken = 0;
    guests_begin(&w, NULL);
    ch_server_close(w.server);
    assert_int_equal(ch_server_listen("127.0.0.1:0", &listener, &address, &err), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    snprintf(name, sizeof(name), "pipe:%d", ends[1]);
    struct ch_server_opts opts = w.opts;
    opts.listen = name;
    opts.taken = &taken;
    assert_int_equal(ch_server_new(w.loop, &opts, &w.server, &err), 0);
    assert_string_equal(ch_server_address(w.server), name);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1))};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < CLIENTS; i++) {
        asks[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(asks[i], (struct sockaddr *)&a, sizeof(a)), 0);
        say(asks[i], "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
        int accepted = accept(listener, NULL, NULL);
        if (i == 0)
            kept = dup(accepted);
        pass_on(ends[0], accepted, 0);
        if (i % 8 == 0)
            assert_int_equal(write(ends[0], "x", 1), 1);
    }
    guests_work(&w);
    for (int i = 0; i < CLIENTS; i++)
        assert_true(guests_heard(asks[i], "200 OK"));
    assert_int_equal(taken, CLIENTS);
    assert_true(fcntl(kept, F_GETFL) & O_NONBLOCK); /* a slow client must not stop the loop */
    close(kept);
    close(ends[0]); /* what is connected stays so */
    guests_work(&w);
    say(asks[0], "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    assert_true(guests_heard(asks[0], "200 OK"));
    go(asks, CLIENTS);
    close(listener);
    ch_free(address);
    guests_end(&w);
}

/* A server sends a socket back for another worker, and gets one of another worker: it serves
 * that one without TLS, as that of a known client of this machine. */
static void test_relayed(void **state) {
    (void)state;
    struct guests w;
    struct chela_error err = {0};
    char name[32], byte = 0;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } room = {0};
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = room.bytes,
                       .msg_controllen = sizeof(room.bytes)};
    int ends[2], pair[2], got;
    guests_begin(&w, NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_false(ch_server_pass(w.server, 2, pair[0])); /* nobody to send the socket to */
    ch_server_close(w.server);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    snprintf(name, sizeof(name), "pipe:%d", ends[1]);
    struct ch_server_opts opts = w.opts;
    opts.listen = name;
    assert_int_equal(ch_server_new(w.loop, &opts, &w.server, &err), 0);
    assert_true(ch_server_pass(w.server, 64, pair[0]));
    assert_int_equal(recvmsg(ends[0], &m, 0), 1);
    assert_int_equal(byte, 64);
    memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(got));
    pass_on(ends[0], got, 1);
    close(pair[0]);
    say(pair[1], "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    assert_non_null(w.held);
    assert_string_equal(ch_exchange_peer(w.held), "127.0.0.1");
    ch_exchange_respond(w.held, 200, NULL, ch_sv(NULL, 0));
    guests_work(&w);
    assert_true(guests_heard(pair[1], "200 OK"));
    close(pair[1]);
    ch_server_drain(w.server);
    assert_false(ch_server_pass(w.server, 2, ends[0]));
    close(ends[0]);
    guests_end(&w);
}

static int join(const char *address, const char *request) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    say(fd, request);
    return fd;
}

static bool turn_is_over(int socket) {
    char byte = 0;
    return recv(socket, &byte, 1, MSG_DONTWAIT) == 1 && byte == 't';
}

/* Makes and ends connections, one after the other, until the turn is over; returns their number. */
static unsigned have_turn(struct guests *w, int parent, const char *address) {
    unsigned n = 0;
    assert_int_equal(write(parent, "\2", 1), 1);
    do {
        int ask = join(address, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
        guests_work(w);
        assert_true(guests_heard(ask, "200 OK"));
        close(ask);
        guests_work(w);
        n++;
    } while (!turn_is_over(parent));
    return n;
}

/* The server accepts connections of a shared socket in its turn. The turns grow with the number of
 * connections, and end if a connection of the turn stays open. No connection is lost. */
static void test_turns(void **state) {
    (void)state;
    static const char request[] = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    struct guests w;
    struct chela_error err = {0};
    char name[32], *address;
    int ends[2], listener, asks[2];
    _Atomic uint64_t taken = 0;
    guests_begin(&w, NULL);
    ch_server_close(w.server);
    assert_int_equal(ch_server_listen("127.0.0.1:0", &listener, &address, &err), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    snprintf(name, sizeof(name), "pipe:%d+%d", ends[1], dup(listener));
    struct ch_server_opts opts = w.opts;
    opts.listen = name;
    opts.taken = &taken;
    assert_int_equal(ch_server_new(w.loop, &opts, &w.server, &err), 0);
    asks[0] = join(address, request);
    guests_work(&w);
    assert_int_equal(taken, 0); /* not its turn */
    assert_int_equal(write(ends[0], "\2", 1), 1);
    guests_work(&w);
    assert_true(guests_heard(asks[0], "200 OK"));
    assert_true(turn_is_over(ends[0])); /* the first turns have one connection */
    go(asks, 1);
    guests_work(&w);
    while (taken < 150) {
        unsigned want = CH_MIN((unsigned)taken / 8 + 1, 16);
        assert_int_equal(have_turn(&w, ends[0], address), want);
    }
    uint64_t before = taken;
    assert_int_equal(write(ends[0], "\2", 1), 1);
    asks[0] = join(address, request);
    guests_work(&w);
    assert_true(guests_heard(asks[0], "200 OK"));
    assert_false(turn_is_over(ends[0]));
    asks[1] = join(address, request);
    guests_work(&w);
    assert_int_equal(taken, before + 1); /* the first one stays open */
    assert_true(turn_is_over(ends[0]));
    assert_int_equal(write(ends[0], "\2", 1), 1);
    guests_work(&w);
    assert_true(guests_heard(asks[1], "200 OK"));
    go(asks, 2);
    guests_work(&w);
    ch_server_drain(w.server);
    asks[0] = join(address, request);
    guests_work(&w);
    asks[1] = accept(listener, NULL, NULL); /* another worker gets it */
    assert_true(asks[1] >= 0);
    go(asks, 2);
    close(ends[0]);
    close(listener);
    ch_free(address);
    guests_end(&w);
}

/* The head of the answer to a request that was sent before the server began to drain. */
static bool drained(struct guests *w, int fd) {
    guests_work(w);
    return guests_heard(fd, "200 OK");
}

/* A server that drains answers connections that it has not accepted yet, and requests that it has
 * not read yet. A client with a new connection may send its request for a second. */
static void test_drain(void **state) {
    (void)state;
    static const char request[] = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    struct guests w;
    CH_BUF_AUTO got = {0};
    bool ended;
    guests_begin(&w, NULL);
    int kept = guests_dial(&w), idle = guests_dial(&w), accepted = guests_dial(&w);
    say(kept, request);
    say(idle, request);
    assert_true(drained(&w, kept) && guests_heard(idle, "200 OK"));
    int waits = guests_dial(&w), late = guests_dial(&w), silent = guests_dial(&w);
    say(kept, request);
    say(accepted, request);
    say(waits, request);
    ch_server_drain(w.server);
    assert_true(drained(&w, kept) && guests_heard(accepted, "200 OK"));
    assert_true(guests_heard(waits, "200 OK"));
    guests_hear(idle, &got, &ended);
    assert_true(ended);
    assert_true(ch_server_asked(w.server));
    say(late, request);
    assert_true(drained(&w, late));
    guests_later(&w, CH_LIMIT_INBOUND_LAST_MS + 1);
    guests_hear(silent, &got, &ended);
    assert_true(ended);
    assert_false(ch_server_asked(w.server));
    go((int[]){kept, idle, accepted, waits, late, silent}, 6);
    guests_end(&w);
}

/* The same with a shared listening socket, unless another program keeps it open. */
static void drain_shared(const char *form, bool answered) {
    struct guests w;
    struct chela_error err = {0};
    char name[32], *address;
    int ends[2], listener;
    guests_begin(&w, NULL);
    ch_server_close(w.server);
    assert_int_equal(ch_server_listen("127.0.0.1:0", &listener, &address, &err), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    snprintf(name, sizeof(name), form, ends[1], dup(listener));
    struct ch_server_opts opts = w.opts;
    opts.listen = name;
    assert_int_equal(ch_server_new(w.loop, &opts, &w.server, &err), 0);
    int fd = join(address, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    ch_server_drain(w.server);
    assert_int_equal(drained(&w, fd), answered);
    go((int[]){fd, ends[0], listener}, 3);
    ch_free(address);
    guests_end(&w);
}

static void test_drain_shared(void **state) {
    (void)state;
    drain_shared("pipe:%d+%d", true);
    drain_shared("pipe:%d+fd:%d", false);
}

static void test_addresses(void **state) {
    (void)state;
    static const char *const bad[] = {"",        "8787",     ":8787",          "localhost",
                                      "a.b:1",   "1.2.3:1",  "127.0.0.1:x",    "127.0.0.1:70000",
                                      "::1:80",  "[::1]",    "127.0.0.1:80:1", "127.0.0.1:-1",
                                      "fd:",     "fd:1",     "fd:3x",          "fd:-3",
                                      "pipe:",   "pipe:1",   "pipe:3x",        "pipe:-3",
                                      "fd:3+4",  "pipe:3+", "pipe:3+x",       "pipe:3+4+5"};
    struct guests w;
    guests_begin(&w, NULL);
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct ch_server_opts opts = {.listen = bad[i]};
        struct ch_server *s;
        struct chela_error err = {0};
        char *address;
        int fd;
        if (ch_server_new(w.loop, &opts, &s, &err) != CHELA_EINVAL ||
            ch_server_listen(bad[i], &fd, &address, &err) != CHELA_EINVAL)
            fail_msg("'%s' was taken", bad[i]);
    }
    guests_end(&w);
}

/* Pipelined requests are answered as fast as the client reads: answers do not pile up. */
static void test_unread_answers(void **state) {
    (void)state;
    enum { ASKED = 400 };
    struct guests w;
    CH_BUF_AUTO got = {0};
    bool ended = false;
    guests_begin(&w, NULL);
    int fd = guests_dial(&w);
    for (int i = 0; i < ASKED; i++)
        say(fd, "GET /open/page HTTP/1.1\r\nHost: a\r\n\r\n");
    guests_work(&w);
    assert_in_range(w.requests, 1, ASKED / 2); /* what the kernel takes for the client */
    size_t came = 0;
    for (int i = 0; i < 20000 && w.requests < ASKED && !ended; i++) {
        guests_hear(fd, &got, &ended);
        came += got.n;
        ch_buf_clear(&got);
        ch_loop_tick(w.loop);
    }
    assert_false(ended);
    assert_int_equal(w.requests, ASKED);
    assert_true(came > (ASKED / 2) * GUESTS_PAGE);
    close(fd);
    guests_end(&w);
}

static void read_some(struct guests *w, int fd, size_t n) {
    char bytes[4096];
    size_t came = 0;
    for (int i = 0; i < 200000 && came < n; i++) {
        ssize_t some = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        came += some > 0 ? (size_t)some : 0;
        if (some < 0)
            ch_loop_tick(w->loop);
    }
}

/* Who has no token takes an answer in the time there is; a byte now and then does not do. */
static void test_slow_page(void **state) {
    (void)state;
    static const size_t large = 24 * CH_MB;
    static const char *const targets[] = {"/open/hold", "/hold"};
    for (size_t i = 0; i < CH_LEN(targets); i++) {
        struct guests w;
        CH_BUF_AUTO page = {0};
        CH_BUF_AUTO asked = {0};
        guests_begin(&w, NULL);
        int fd = guests_dial(&w);
        ch_buf_addf(&asked, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", targets[i]);
        say(fd, ch_buf_str(&asked));
        guests_work(&w);
        memset(ch_buf_reserve(&page, large), 'x', large);
        ch_buf_commit(&page, large);
        ch_exchange_respond(w.held, 200, "text/plain", ch_buf_sv(&page));
        for (int k = 0; k < 4; k++) { /* slowly, and never still */
            read_some(&w, fd, 4 * CH_MB);
            guests_later(&w, CH_LIMIT_CLIENT_STALL_MS / 3);
        }
        assert_int_equal(ch_server_clients(w.server), i); /* who is known may be slow */
        close(fd);
        guests_end(&w);
    }
}

/* Bodies that anybody may send: all together have a bound. */
static void test_unknown_bodies(void **state) {
    (void)state;
    enum { CLIENTS = 3 };
    struct guests w;
    CH_BUF_AUTO piece = {0};
    struct ch_buf got[CLIENTS] = {{0}};
    int fds[CLIENTS];
    bool ended = false;
    memset(ch_buf_reserve(&piece, CH_MB), 'x', CH_MB);
    ch_buf_commit(&piece, CH_MB);
    guests_begin(&w, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = guests_dial(&w);
        say(fds[i], "POST /open HTTP/1.1\r\nHost: a\r\nContent-Length: 30000000\r\n\r\n");
        size_t sent = 0;
        for (int k = 0; k < 100000 && sent < 29000000 && !ended; k++) {
            ssize_t n = send(fds[i], piece.p, CH_MIN(piece.n, 29000000 - sent),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
            sent += n > 0 ? (size_t)n : 0;
            ch_loop_tick(w.loop);
            guests_hear(fds[i], &got[i], &ended);
        }
        guests_work(&w);
        guests_hear(fds[i], &got[i], &ended);
    }
    assert_int_equal(got[0].n + got[1].n, 0);
    assert_non_null(strstr(ch_buf_str(&got[2]), "503 Service Unavailable"));
    assert_int_equal(w.requests, 0);
    close(fds[0]); /* what one gives up another may use */
    close(fds[1]);
    guests_work(&w);
    int fd = guests_dial(&w);
    say(fd, "POST /open HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
    guests_work(&w);
    assert_true(guests_heard(fd, "200 OK"));
    close(fd);
    close(fds[2]);
    for (int i = 0; i < CLIENTS; i++)
        ch_buf_release(&got[i]);
    guests_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_head),     cmocka_unit_test(test_slow_body),
        cmocka_unit_test(test_silence),       cmocka_unit_test(test_refused_at_the_head),
        cmocka_unit_test(test_client_leaves), cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_pieces_of_a_turn),
        cmocka_unit_test(test_stalled_reader), cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_too_many_from_one),
        cmocka_unit_test(test_a_burst_from_one),
        cmocka_unit_test(test_handed_down),
        cmocka_unit_test(test_passed_on),
        cmocka_unit_test(test_relayed), cmocka_unit_test(test_turns),
        cmocka_unit_test(test_drain), cmocka_unit_test(test_drain_shared),
        cmocka_unit_test(test_unread_answers), cmocka_unit_test(test_slow_page),
        cmocka_unit_test(test_unknown_bodies),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_too_many_busy_from_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

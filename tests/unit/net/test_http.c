/* test_http.c -- the HTTP client against a scripted server in the same loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/http.h"
#include "support/fetch.h"
#include "support/httpd.h"

#define HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

struct env {
    struct ch_loop *loop;
    struct ch_http *http;
    struct ch_transport *transport;
    struct httpd *server;
    char url[64];
    struct ch_buf seen; /* the last request the server got */
    const char *answer; /* what `scripted` sends */
    size_t cut;         /* where `cut_once` cuts */
    uint32_t seed;
};

static void open_server(struct env *e, httpd_fn *on_request, httpd_fn *on_accept) {
    struct httpd_opts opts = {.on_request = on_request, .on_accept = on_accept, .user = e};
    e->server = httpd_new(ch_loop_uv(e->loop), &opts);
    snprintf(e->url, sizeof(e->url), "http://127.0.0.1:%u/path?q=1", httpd_port(e->server));
}

static void open_client(struct env *e, const struct ch_http_opts *opts) {
    e->http = ch_http_new(e->loop, opts);
    e->transport = ch_http_transport(e->http);
}

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));
    *state = e;
    return ch_loop_new(NULL, NULL, &e->loop, NULL);
}

static int tear_down(void **state) {
    struct env *e = *state;
    ch_http_close(e->http);
    httpd_close(e->server);
    ch_loop_close(e->loop, NULL, NULL);
    ch_buf_release(&e->seen);
    ch_free(e);
    return 0;
}

/* --- what the server does */

static void keep(struct env *e, struct ch_sv request) {
    ch_buf_clear(&e->seen);
    ch_buf_add_sv(&e->seen, request);
}

static void hello(struct httpd_conn *c, struct ch_sv request, void *user) {
    keep(user, request);
    httpd_sends(c, HELLO);
}

static void scripted(struct httpd_conn *c, struct ch_sv request, void *user) {
    struct env *e = user;
    keep(e, request);
    httpd_sends(c, e->answer);
}

static void silent(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)c;
    keep(user, request);
}

/* Wait, within reason, until the server has no connection left. */
static void expect_hung_up(struct env *e) {
    for (int i = 0; i < 400 && httpd_open(e->server) > 0; i++)
        run_for(e->loop, 5);
    assert_int_equal(httpd_open(e->server), 0);
}

/* --- requests as they arrive */

static void test_get(void **state) {
    struct env *e = *state;
    struct ch_header headers[] = {{CH_SV("X-One"), CH_SV("1")},
                                  {CH_SV("x-two"), CH_SV("\xc3\xa9 b")}};
    struct fetch f = {.req = {.headers = headers, .nheaders = 2}};
    CH_BUF_AUTO want = {0};

    open_server(e, hello, NULL);
    open_client(e, NULL);
    f.req.url = e->url;
    fetch_run(&f, e->transport, e->loop);
    assert_int_equal(f.err.code, 0);
    assert_int_equal(f.status, 200);
    assert_int_equal(f.heads, 1);
    assert_int_equal(f.dones, 1);
    assert_string_equal(ch_buf_str(&f.headers), "content-length=5\n");
    assert_string_equal(ch_buf_str(&f.body), "hello");
    ch_buf_addf(&want,
                "GET /path?q=1 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: chela/" CHELA_VERSION
                "\r\nX-One: 1\r\nx-two: \xc3\xa9 b\r\n\r\n",
                httpd_port(e->server));
    assert_string_equal(ch_buf_str(&e->seen), ch_buf_str(&want));
    fetch_release(&f);
}

static void test_given_headers_replace_ours(void **state) {
    struct env *e = *state;
    struct ch_header headers[] = {{CH_SV("host"), CH_SV("other.test")},
                                  {CH_SV("USER-AGENT"), CH_SV("mine")}};
    struct fetch f = {.req = {.method = "DELETE", .headers = headers, .nheaders = 2}};

    open_server(e, hello, NULL);
    open_client(e, NULL);
    f.req.url = e->url;
    fetch_run(&f, e->transport, e->loop);
    assert_string_equal(ch_buf_str(&e->seen), "DELETE /path?q=1 HTTP/1.1\r\nhost: other.test\r\n"
                                              "USER-AGENT: mine\r\n\r\n");
    fetch_release(&f);
}

static void test_body_pieces(void **state) {
    struct env *e = *state;
    struct ch_sv pieces[] = {CH_SV("ab"), CH_SV(""), CH_SV("cde"), {NULL, 0}, CH_SV("f")};
    struct fetch f = {.req = {.method = "POST", .body = pieces, .nbody = CH_LEN(pieces)}};

    open_server(e, hello, NULL);
    open_client(e, NULL);
    f.req.url = e->url;
    fetch_run(&f, e->transport, e->loop);
    assert_int_equal(f.err.code, 0);
    assert_non_null(strstr(ch_buf_str(&e->seen), "\r\nContent-Length: 6\r\n\r\nabcdef"));
    fetch_release(&f);

    f = (struct fetch){.req = {.method = "POST", .url = e->url}};
    fetch_run(&f, e->transport, e->loop);
    assert_non_null(strstr(ch_buf_str(&e->seen), "\r\nContent-Length: 0\r\n\r\n"));
    fetch_release(&f);
}

static uint64_t checksum(struct ch_sv s) {
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
    return h;
}

/* More than the kernel takes at once, in more pieces than one call takes. */
static void test_large_body(void **state) {
    struct env *e = *state;
    enum { PIECES = 3000, SIZE = 4001 };
    struct ch_sv *pieces = ch_malloc(PIECES * sizeof(*pieces));
    char *bytes = ch_malloc(PIECES + SIZE);
    struct fetch f = {.req = {.method = "POST", .body = pieces, .nbody = PIECES}};
    CH_BUF_AUTO all = {0};

    for (size_t i = 0; i < PIECES + SIZE; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = ch_sv(bytes + i, SIZE);
        ch_buf_add_sv(&all, pieces[i]);
    }
    open_server(e, hello, NULL);
    open_client(e, NULL);
    f.req.url = e->url;
    for (int round = 0; round < 2; round++) { /* the second on the same connection */
        fetch_run(&f, e->transport, e->loop);
        assert_int_equal(f.err.code, 0);
        struct ch_sv seen = ch_buf_sv(&e->seen);
        assert_true(seen.n > all.n);
        assert_true(checksum(ch_sv(seen.p + seen.n - all.n, all.n)) == checksum(ch_buf_sv(&all)));
        fetch_release(&f);
        f = (struct fetch){.req = f.req};
    }
    assert_int_equal(httpd_accepted(e->server), 1);
    ch_free(pieces);
    ch_free(bytes);
}

static void test_request_is_refused(void **state) {
    static const struct {
        const char *method;
        struct ch_header header;
        const char *message;
    } table[] = {
        {"GET", {CH_SV("X"), CH_SV("a\r\nEvil: b")}, "control character"},
        {"GET", {CH_SV("X"), CH_SV("a\nb")}, "control character"},
        {"GET", {CH_SV("X"), CH_SV("a\0b")}, "control character"},
        {"GET", {CH_SV("X"), CH_SV("a\x7f")}, "control character"},
        {"GET", {CH_SV("X\r\nEvil"), CH_SV("b")}, "bad HTTP header name"},
        {"GET", {CH_SV("X:"), CH_SV("b")}, "bad HTTP header name"},
        {"GET", {CH_SV("X Y"), CH_SV("b")}, "bad HTTP header name"},
        {"GET", {CH_SV(""), CH_SV("b")}, "bad HTTP header name"},
        {"GET", {CH_SV("Content-Length"), CH_SV("3")}, "set by the client"},
        {"GET", {CH_SV("transfer-ENCODING"), CH_SV("chunked")}, "set by the client"},
        {"GET", {CH_SV("Connection"), CH_SV("close")}, "set by the client"},
        {"GET /x HTTP/1.1\r\nA: b\r\n\r\nGET", {CH_SV("X"), CH_SV("a")}, "bad HTTP method"},
        {"", {CH_SV("X"), CH_SV("a")}, "bad HTTP method"},
        {"CONNECT", {CH_SV("X"), CH_SV("a")}, "bad HTTP method"},
    };
    struct env *e = *state;

    open_server(e, hello, NULL);
    open_client(e, NULL);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct fetch f = {.req = {.method = table[i].method,
                                  .url = e->url,
                                  .headers = &table[i].header,
                                  .nheaders = 1}};
        fetch_run(&f, e->transport, e->loop);
        if (f.err.code != CHELA_EINVAL || !strstr(f.err.message, table[i].message))
            fail_msg("%zu: %d %s", i, f.err.code, f.err.message);
        assert_null(strstr(f.err.message, "Evil: b"));
        fetch_release(&f);
    }
    assert_int_equal(httpd_accepted(e->server), 0);
}

/* --- failures to get there */

static unsigned unused_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void test_bad_urls(void **state) {
    static const struct {
        const char *url, *message;
        int code;
    } table[] = {
        {"", "it is empty", CHELA_EINVAL},
        {"example.com", "must start with", CHELA_EINVAL},
        {"ftp://127.0.0.1/", "unsupported URL scheme \"ftp\"", CHELA_EINVAL},
        {"http://user:pw@127.0.0.1/", "credentials do not belong", CHELA_EINVAL},
        {"http://@127.0.0.1/", "credentials do not belong", CHELA_EINVAL},
        {"http://127.0.0.1/a\r\nX: y", "percent-encoded", CHELA_EINVAL},
        {"http://no-such-host.invalid/", "cannot find no-such-host.invalid", CHELA_ENET},
    };
    struct env *e = *state;

    open_client(e, NULL);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct fetch f = {.req = {.url = table[i].url}};
        fetch_start(&f, e->transport);
        assert_int_equal(f.dones, 0);
        assert_int_equal(ch_loop_run(e->loop, &f.done), 0);
        if (f.err.code != table[i].code || !strstr(f.err.message, table[i].message))
            fail_msg("%s: %d %s", table[i].url, f.err.code, f.err.message);
        assert_int_equal(f.heads, 0);
        fetch_release(&f);
    }
}

static void test_refused(void **state) {
    struct env *e = *state;
    char want[96];
    static const char *const hosts[] = {"127.0.0.1", "localhost"};

    open_client(e, NULL);
    for (size_t i = 0; i < CH_LEN(hosts); i++) {
        unsigned port = unused_port();
        struct fetch f = {.req = {.url = e->url}};
        snprintf(e->url, sizeof(e->url), "http://%s:%u/", hosts[i], port);
        snprintf(want, sizeof(want), "connection refused by %s:%u", hosts[i], port);
        fetch_run(&f, e->transport, e->loop);
        assert_int_equal(f.err.code, CHELA_ENET);
        assert_string_equal(f.err.message, want);
        fetch_release(&f);
    }
}

/* localhost is ::1 first; the server listens on 127.0.0.1 alone. */
static void test_next_address(void **state) {
    struct env *e = *state;
    struct fetch f = {.req = {.url = e->url}};

    open_server(e, hello, NULL);
    open_client(e, NULL);
    snprintf(e->url, sizeof(e->url), "http://localhost:%u/", httpd_port(e->server));
    fetch_run(&f, e->transport, e->loop);
    assert_int_equal(f.err.code, 0);
    assert_string_equal(ch_buf_str(&f.body), "hello");
    fetch_release(&f);
}

/* Listen where the queue is full already: the kernel answers nobody. */
static int full_listener(struct sockaddr *at, socklen_t n, int fillers[4]) {
    int fd = socket(at->sa_family, SOCK_STREAM, 0);

    if (bind(fd, at, n) < 0) {
        close(fd);
        return -1;
    }
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, at, &n), 0);
    for (int i = 0; i < 4; i++) {
        fillers[i] = socket(at->sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
        int rc = connect(fillers[i], at, n);
        assert_true(rc == 0 || errno == EINPROGRESS);
    }
    return fd;
}

static void close_all(int fd, const int fillers[4]) {
    close(fd);
    for (int i = 0; i < 4; i++)
        close(fillers[i]);
}

/* ::1 says nothing at all; 127.0.0.1 is tried a quarter of a second later. */
static void test_silent_address(void **state) {
    struct env *e = *state;
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct fetch f = {.req = {.url = e->url}};
    int fillers[4];

    open_server(e, hello, NULL);
    open_client(e, NULL);
    at.sin6_port = htons((uint16_t)httpd_port(e->server));
    int fd = full_listener((struct sockaddr *)&at, sizeof(at), fillers);
    if (fd < 0)
        skip(); /* no IPv6 here */
    snprintf(e->url, sizeof(e->url), "http://localhost:%u/", httpd_port(e->server));
    int64_t start = ch_mono_ms(&ch_clock_system);
    fetch_run(&f, e->transport, e->loop);
    int64_t took = ch_mono_ms(&ch_clock_system) - start;
    assert_int_equal(f.err.code, 0);
    assert_true(took >= CH_DEFAULT_STAGGER_MS - 10);
    fetch_release(&f);
    close_all(fd, fillers);
}

/* --- the response, over a socket */

static void test_responses(void **state) {
    static const struct {
        const char *method, *answer, *body;
        int status;
    } table[] = {
        {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc",
         200},
        {"GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "x",
         200},
        {"GET", "HTTP/1.1 204 No Content\r\n\r\n", "", 204},
        {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "", 304},
        {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "", 200},
        {"GET", "HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nContent-Length: 0\r\n\r\n",
         "", 302},
        {"POST", "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}", "{}", 500},
    };
    struct env *e = *state;

    open_server(e, scripted, NULL);
    open_client(e, NULL);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct fetch f = {.req = {.method = table[i].method, .url = e->url}};
        e->answer = table[i].answer;
        fetch_run(&f, e->transport, e->loop);
        assert_int_equal(f.err.code, 0);
        assert_int_equal(f.status, table[i].status);
        assert_string_equal(ch_buf_str(&f.body), table[i].body);
        fetch_release(&f);
    }
    assert_int_equal(httpd_accepted(e->server), 1); /* all of them left it usable */
}

static void then_end(struct httpd_conn *c, struct ch_sv request, void *user) {
    scripted(c, request, user);
    httpd_end(c);
}

static void test_closed_by_the_server(void **state) {
    static const struct {
        const char *answer;
        int code, http_status;
        const char *message;
    } table[] = {
        {"HTTP/1.1 200 OK\r\n\r\nuntil the end", 0, 0, ""},
        {"HTTP/1.0 200 OK\r\n\r\nuntil the end", 0, 0, ""},
        {"", CHELA_ENET, 0, "without a response"},
        {"HTTP/1.1 200 OK\r\nConte", CHELA_ENET, 0, "before the response was complete"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", CHELA_ENET, 200,
         "before the response"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", CHELA_ENET, 200,
         "before the"},
        {"SSH-2.0-x\r\n", CHELA_EPROTO, 0, "did not answer in HTTP"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", CHELA_EPROTO, 200,
         "malformed HTTP response"},
    };
    struct env *e = *state;
    char peer[32];

    open_server(e, then_end, NULL);
    open_client(e, NULL);
    snprintf(peer, sizeof(peer), "127.0.0.1:%u", httpd_port(e->server));
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct fetch f = {.req = {.url = e->url}};
        e->answer = table[i].answer;
        fetch_run(&f, e->transport, e->loop);
        if (f.err.code != table[i].code || !strstr(f.err.message, table[i].message))
            fail_msg("%zu: %d %s", i, f.err.code, f.err.message);
        assert_int_equal(f.err.http_status, table[i].http_status);
        if (f.err.code)
            assert_non_null(strstr(f.err.message, peer));
        else
            assert_string_equal(ch_buf_str(&f.body), "until the end");
        fetch_release(&f);
    }
    assert_int_equal(httpd_accepted(e->server), CH_LEN(table)); /* no retry of any */
}

static const char chunks[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n"
                             "5\r\nhello\r\n6;e=1\r\n world\r\n0\r\nT: 1\r\n\r\n";

static void cut_once(struct httpd_conn *c, struct ch_sv request, void *user) {
    struct env *e = user;
    (void)request;
    httpd_send(c, ch_sv(chunks, e->cut));
    httpd_pause(c, 1);
    httpd_sends(c, chunks + e->cut);
}

static void test_every_cut(void **state) {
    struct env *e = *state;

    open_server(e, cut_once, NULL);
    open_client(e, NULL);
    for (e->cut = 1; e->cut < sizeof(chunks) - 1; e->cut++) {
        struct fetch f = {.req = {.url = e->url}};
        fetch_run(&f, e->transport, e->loop);
        assert_int_equal(f.err.code, 0);
        assert_string_equal(ch_buf_str(&f.body), "hello world");
        assert_string_equal(ch_buf_str(&f.headers), "transfer-encoding=chunked\nx-a=b\n");
        fetch_release(&f);
    }
    assert_int_equal(httpd_accepted(e->server), 1);
}

static void endless(struct httpd_conn *c, struct ch_sv request, void *user) {
    CH_BUF_AUTO filler = {0};
    (void)request, (void)user;
    httpd_sends(c, "HTTP/1.1 200 OK\r\n\r\n");
    for (int i = 0; i < 20000; i++)
        ch_buf_addc(&filler, 'x');
    for (int i = 0; i < 50; i++)
        httpd_send(c, ch_buf_sv(&filler));
}

static void test_body_limit(void **state) {
    struct env *e = *state;
    struct fetch f = {.req = {.url = e->url, .max_body = 50000}};

    open_server(e, endless, NULL);
    open_client(e, NULL);
    fetch_run(&f, e->transport, e->loop);
    assert_int_equal(f.err.code, CHELA_ELIMIT);
    assert_non_null(strstr(f.err.message, "larger than 50000 bytes"));
    assert_int_equal(f.err.http_status, 200);
    assert_true(f.body.n <= 50000);
    fetch_release(&f);
}

static void early_refusal(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
}

/* The answer may come while the request is still being sent. */
static void test_answer_before_the_end_of_the_request(void **state) {
    struct env *e = *state;
    struct ch_sv body = {.n = 30 * CH_MB};
    struct fetch f = {.req = {.method = "POST", .url = e->url, .body = &body, .nbody = 1}};

    body.p = ch_alloc(body.n);
    open_server(e, silent, early_refusal);
    open_client(e, NULL);
    fetch_run(&f, e->transport, e->loop);
    assert_int_equal(f.err.code, 0);
    assert_int_equal(f.status, 413);
    ch_free((char *)(uintptr_t)body.p); /* libuv must have let go of it */
    run_for(e->loop, 20);
    assert_int_equal(httpd_requests(e->server), 0);
    fetch_release(&f);
}

/* --- keeping connections */

static void get_hello(struct env *e, int want_code) {
    struct fetch f = {.req = {.url = e->url}};
    fetch_run(&f, e->transport, e->loop);
    if (f.err.code != want_code)
        fail_msg("%d %s", f.err.code, f.err.message);
    if (!want_code)
        assert_string_equal(ch_buf_str(&f.body), "hello");
    fetch_release(&f);
}

static void test_reuse(void **state) {
    struct env *e = *state;
    open_server(e, hello, NULL);
    open_client(e, NULL);
    for (int i = 0; i < 5; i++)
        get_hello(e, 0);
    assert_int_equal(httpd_accepted(e->server), 1);
    assert_int_equal(httpd_requests(e->server), 5);
}

static void test_no_reuse_when_told(void **state) {
    struct env *e = *state;
    open_server(e, scripted, NULL);
    open_client(e, NULL);
    e->answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    get_hello(e, 0);
    get_hello(e, 0);
    assert_int_equal(httpd_accepted(e->server), 2);
    e->answer = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    get_hello(e, 0);
    get_hello(e, 0);
    assert_int_equal(httpd_accepted(e->server), 4);
}

static void start_second(struct fetch *f) {
    fetch_start(f->user, f->transport);
}

/* Starting the next call in on_done finds the connection already free. */
static void test_next_call_in_done(void **state) {
    struct env *e = *state;
    struct fetch second = {.req = {.url = e->url}};
    struct fetch first = {.req = {.url = e->url}, .then = start_second, .user = &second};

    open_server(e, hello, NULL);
    open_client(e, NULL);
    fetch_start(&first, e->transport);
    assert_int_equal(ch_loop_run(e->loop, &second.done), 0);
    assert_int_equal(first.dones + second.dones, 2);
    assert_int_equal(second.err.code, 0);
    assert_int_equal(httpd_accepted(e->server), 1);
    fetch_release(&first);
    fetch_release(&second);
}

/* Answers the first request of a connection, and hangs up on the second. */
static void second_is_cut(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    if (httpd_turn(c) == 1)
        httpd_sends(c, HELLO);
    else
        httpd_cut(c);
}

static void second_is_reset(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    if (httpd_turn(c) == 1)
        httpd_sends(c, HELLO);
    else
        httpd_reset(c);
}

static void second_is_half(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, httpd_turn(c) == 1 ? HELLO : "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
    if (httpd_turn(c) == 2)
        httpd_cut(c);
}

static void only_the_first(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    if (httpd_turn(c) == 1 && httpd_number(c) == 1)
        httpd_sends(c, HELLO);
    else
        httpd_cut(c);
}

static void test_stale_connection(void **state) {
    static const struct {
        httpd_fn *server;
        int code;
        unsigned accepted, requests;
    } table[] = {
        {second_is_cut, 0, 2, 3},
        {second_is_reset, 0, 2, 3},
        {second_is_half, CHELA_ENET, 1, 2},
        {only_the_first, CHELA_ENET, 2, 3},
    };
    struct env *e = *state;

    open_client(e, NULL);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        open_server(e, table[i].server, NULL);
        get_hello(e, 0);
        get_hello(e, table[i].code);
        assert_int_equal(httpd_accepted(e->server), table[i].accepted);
        assert_int_equal(httpd_requests(e->server), table[i].requests);
        httpd_close(e->server);
    }
    e->server = NULL;
}

static void closes_when_idle(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, HELLO);
    httpd_pause(c, 1);
    httpd_end(c);
}

static void speaks_when_idle(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, HELLO);
    httpd_pause(c, 1);
    httpd_sends(c, "HTTP/1.1 408 Request Timeout\r\n\r\n");
}

static void test_closed_while_idle(void **state) {
    httpd_fn *const table[] = {closes_when_idle, speaks_when_idle};
    struct env *e = *state;

    open_client(e, NULL);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        open_server(e, table[i], NULL);
        get_hello(e, 0);
        expect_hung_up(e);
        get_hello(e, 0);
        assert_int_equal(httpd_accepted(e->server), 2);
        assert_int_equal(httpd_requests(e->server), 2);
        httpd_close(e->server);
    }
    e->server = NULL;
}

#define CHUNKED_HELLO "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"

/* A last chunk too many, at once and a little later. */
static void extra_at_once(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, CHUNKED_HELLO "0\r\n\r\n");
}

static void extra_later(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    if (httpd_turn(c) == 1) {
        httpd_sends(c, CHUNKED_HELLO);
        httpd_pause(c, 3);
        httpd_sends(c, "0\r\n\r\n");
    }
}

static void test_bytes_too_many(void **state) {
    struct env *e = *state;
    struct fetch second = {.req = {.url = e->url}};
    struct fetch first = {.req = {.url = e->url}, .then = start_second, .user = &second};

    open_client(e, NULL);
    open_server(e, extra_at_once, NULL);
    get_hello(e, 0);
    get_hello(e, 0);
    assert_int_equal(httpd_accepted(e->server), 2);
    httpd_close(e->server);

    open_server(e, extra_later, NULL);
    fetch_start(&first, e->transport);
    assert_int_equal(ch_loop_run(e->loop, &second.done), 0);
    assert_int_equal(second.err.code, 0);
    assert_string_equal(ch_buf_str(&second.body), "hello");
    assert_int_equal(httpd_accepted(e->server), 2);
    fetch_release(&first);
    fetch_release(&second);
}

static void count_refs(uv_handle_t *h, void *user) {
    int *n = user;
    *n += h->type == UV_TCP && uv_has_ref(h) && !uv_is_closing(h);
}

/* A host's uv_run must be able to end while a connection is kept. */
static void test_idle_does_not_hold_the_loop(void **state) {
    struct env *e = *state;
    int n = 0;

    open_server(e, hello, NULL);
    open_client(e, NULL);
    get_hello(e, 0);
    uv_walk(ch_loop_uv(e->loop), count_refs, &n);
    assert_int_equal(n, 2); /* the server's two, not ours */
}

static int64_t held_now(void *user) {
    return *(int64_t *)user;
}

static void test_idle_expires(void **state) {
    struct env *e = *state;
    int64_t time = 1000;
    struct ch_clock clock = {held_now, held_now, &time};
    struct ch_loop *loop = e->loop;

    assert_int_equal(ch_loop_new(NULL, &clock, &e->loop, NULL), 0);
    ch_loop_close(loop, NULL, NULL);
    open_server(e, hello, NULL);
    open_client(e, NULL);
    get_hello(e, 0);
    time += CH_DEFAULT_KEEP_MS - 1;
    for (int i = 0; i < 5; i++)
        ch_loop_tick(e->loop);
    assert_int_equal(httpd_open(e->server), 1);
    time += 1;
    for (int i = 0; i < 5; i++)
        ch_loop_tick(e->loop);
    assert_int_equal(httpd_open(e->server), 0);
    ch_http_close(e->http);
    e->http = NULL;
    httpd_close(e->server);
    e->server = NULL;
    ch_loop_close(e->loop, NULL, NULL);
    assert_int_equal(ch_loop_new(NULL, NULL, &e->loop, NULL), 0);
}

/* --- timeouts */

static void drips(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, "HTTP/1.1 200 OK\r\n\r\n");
    for (int i = 0; i < 200; i++) {
        httpd_pause(c, 5);
        httpd_sends(c, "x");
    }
}

static void stalls(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, "HTTP/1.1 200 OK\r\n\r\nx");
}

static void test_timeouts(void **state) {
    static const struct {
        httpd_fn *server;
        struct ch_http_timeouts timeouts;
        const char *message;
        int http_status;
    } table[] = {
        {silent, {.first_byte = 40}, "first-byte timeout: no response from %s within 40 ms", 0},
        {stalls, {.idle = 40}, "idle timeout: nothing more from %s for 40 ms", 200},
        {drips,
         {.idle = 1000, .total = 60},
         "total timeout: the response of %s took longer than 60 ms",
         200},
        {silent, {.total = 60}, "total timeout: the response of %s took longer than 60 ms", 0},
        {silent, {.first_byte = 1000}, "first-byte timeout: no response from %s within 1 s", 0},
    };
    struct env *e = *state;

    open_client(e, NULL);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct fetch f = {.req = {.url = e->url, .timeouts = table[i].timeouts}};
        char peer[32], want[128];
        open_server(e, table[i].server, NULL);
        fetch_run(&f, e->transport, e->loop);
        snprintf(peer, sizeof(peer), "127.0.0.1:%u", httpd_port(e->server));
        snprintf(want, sizeof(want), table[i].message, peer);
        assert_int_equal(f.err.code, CHELA_ETIMEOUT);
        assert_string_equal(f.err.message, want);
        assert_int_equal(f.err.http_status, table[i].http_status);
        assert_int_equal(f.dones, 1);
        expect_hung_up(e);
        fetch_release(&f);
        httpd_close(e->server);
    }
    e->server = NULL;
}

/* A body that does not end, when the caller has all that it needs. */
static void test_enough(void **state) {
    static const bool enough = true;
    httpd_fn *const table[] = {stalls, drips};
    struct env *e = *state;

    open_client(e, NULL);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct fetch f = {
            .req = {.url = e->url, .timeouts = {.idle = 20000}, .enough = &enough}};
        open_server(e, table[i], NULL);
        fetch_run(&f, e->transport, e->loop);
        assert_int_equal(f.err.code, 0);
        assert_int_equal(f.status, 200);
        assert_true(f.body.n > 0);
        expect_hung_up(e);
        fetch_release(&f);
        httpd_close(e->server);
    }
    e->server = NULL;
}

/* Data keeps a call alive, however long it takes in all. */
static void test_no_timeout_while_data_comes(void **state) {
    struct env *e = *state;
    struct fetch f = {.req = {.url = e->url, .timeouts = {.first_byte = 300, .idle = 300}}};

    open_server(e, drips, NULL);
    open_client(e, NULL);
    fetch_start(&f, e->transport);
    run_for(e->loop, 900);
    assert_int_equal(f.dones, 0);
    assert_true(f.body.n > 10);
    fetch_release(&f);
}

static void sleeps_then_goes_on(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx");
    httpd_pause(c, 30);
    httpd_sends(c, "y");
}

static void hold_up(struct ch_timer *timer) {
    (void)timer;
    usleep(200 * 1000);
}

/* The process stands still past the timeout; the data came meanwhile. */
static void test_stall_is_not_a_timeout(void **state) {
    struct env *e = *state;
    struct fetch f = {.req = {.url = e->url, .timeouts = {.idle = 100}}};
    struct ch_timer stall = {0};

    open_server(e, sleeps_then_goes_on, NULL);
    open_client(e, NULL);
    fetch_start(&f, e->transport);
    assert_int_equal(ch_loop_run(e->loop, &f.headed), 0);
    ch_timer_start(e->loop, &stall, 1, hold_up);
    assert_int_equal(ch_loop_run(e->loop, &f.done), 0);
    assert_int_equal(f.err.code, 0);
    assert_string_equal(ch_buf_str(&f.body), "xy");
    fetch_release(&f);
}

static void test_connect_timeout(void **state) {
    struct env *e = *state;
    struct fetch f = {.req = {.url = e->url, .timeouts = {.connect = 50}}};
    char want[96];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fillers[4], fd = full_listener((struct sockaddr *)&at, sizeof(at), fillers);
    unsigned port = ntohs(at.sin_port);

    open_client(e, NULL);
    snprintf(e->url, sizeof(e->url), "http://127.0.0.1:%u/", port);
    snprintf(want, sizeof(want), "connect timeout: no connection to 127.0.0.1:%u within 50 ms",
             port);
    fetch_run(&f, e->transport, e->loop);
    assert_int_equal(f.err.code, CHELA_ETIMEOUT);
    assert_string_equal(f.err.message, want);
    fetch_release(&f);
    close_all(fd, fillers);
}

/* --- cancelling */

static void test_cancel(void **state) {
    static const struct {
        enum fetch_stop stop;
        bool run; /* until a head has come; else it is cancelled at once */
    } table[] = {
        {FETCH_GO_ON, false},
        {FETCH_GO_ON, true},
        {FETCH_CANCEL_AT_HEAD, true},
        {FETCH_CANCEL_AT_DATA, true},
    };
    struct env *e = *state;

    open_server(e, stalls, NULL);
    open_client(e, NULL);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct fetch f = {.req = {.url = e->url}, .stop = table[i].stop};
        fetch_start(&f, e->transport);
        if (table[i].run)
            assert_int_equal(ch_loop_run(e->loop, &f.headed), 0);
        if (f.call) {
            ch_transport_cancel(e->transport, f.call);
            f.call = NULL;
        }
        f.done = true;
        run_for(e->loop, 10);
        expect_hung_up(e);
        assert_int_equal(f.heads, table[i].run);
        assert_int_equal(f.dones, 0);
        assert_int_equal(f.body.n, table[i].run && table[i].stop != FETCH_CANCEL_AT_HEAD);
        fetch_release(&f);
    }
}

static void test_cancel_what_fails(void **state) {
    static const char *const urls[] = {"nonsense", "http://127.0.0.1:1/", "http://localhost:1/",
                                       "http://no-such-host.invalid/"};
    struct env *e = *state;

    open_client(e, NULL);
    for (size_t i = 0; i < CH_LEN(urls); i++) {
        struct fetch f = {.req = {.url = urls[i]}};
        fetch_start(&f, e->transport);
        ch_transport_cancel(e->transport, f.call);
        f.call = NULL;
        f.done = true;
        run_for(e->loop, 5);
        assert_int_equal(f.dones, 0);
        fetch_release(&f);
    }
}

static void cancel_other(struct fetch *f) {
    struct fetch *other = f->user;
    if (!other->call)
        return;
    ch_transport_cancel(other->transport, other->call);
    other->call = NULL;
    other->done = true;
}

static void test_cancel_each_other(void **state) {
    struct env *e = *state;
    struct fetch a = {.req = {.url = e->url}, .then = cancel_other};
    struct fetch b = {.req = {.url = e->url}, .at_head = cancel_other};

    a.user = &b;
    b.user = &a;
    open_server(e, hello, NULL);
    open_client(e, NULL);
    fetch_start(&a, e->transport);
    fetch_start(&b, e->transport);
    assert_int_equal(ch_loop_run(e->loop, &a.done), 0);
    assert_int_equal(ch_loop_run(e->loop, &b.done), 0);
    assert_int_equal(a.dones + b.dones, 1);
    fetch_release(&a);
    fetch_release(&b);
}

static void close_client(struct fetch *f) {
    struct env *e = f->user;
    ch_http_close(e->http);
    e->http = NULL;
    f->call = NULL;
}

static void test_close_client_anywhere(void **state) {
    struct env *e = *state;
    struct fetch at_head = {.req = {.url = e->url}, .at_head = close_client, .user = e};
    struct fetch at_done = {.req = {.url = e->url}, .then = close_client, .user = e};
    struct fetch waiting = {.req = {.url = e->url}};

    open_server(e, hello, NULL);
    open_client(e, NULL);
    fetch_start(&at_head, e->transport);
    assert_int_equal(ch_loop_run(e->loop, &at_head.headed), 0);
    run_for(e->loop, 10);
    assert_int_equal(at_head.heads, 1);
    assert_int_equal(at_head.dones, 0);
    assert_int_equal(at_head.body.n, 0);

    open_client(e, NULL);
    get_hello(e, 0); /* leaves one connection waiting */
    fetch_run(&at_done, e->transport, e->loop);
    assert_int_equal(at_done.dones, 1);

    open_client(e, NULL);
    fetch_start(&waiting, e->transport);
    ch_http_close(e->http);
    e->http = NULL;
    waiting.call = NULL;
    expect_hung_up(e);
    assert_int_equal(waiting.dones, 0);
    fetch_release(&at_head);
    fetch_release(&at_done);
    fetch_release(&waiting);
}

/* --- many at once */

static void slow_hello(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_pause(c, 30);
    httpd_sends(c, HELLO);
}

static size_t raise_files(size_t want) {
    struct rlimit lim;
    getrlimit(RLIMIT_NOFILE, &lim);
    lim.rlim_cur = CH_MIN(lim.rlim_max, (rlim_t)CH_MAX(want, (size_t)lim.rlim_cur));
    setrlimit(RLIMIT_NOFILE, &lim);
    return (size_t)lim.rlim_cur;
}

static void test_many(void **state) {
    struct env *e = *state;
    size_t n = CH_MIN((size_t)1000, (raise_files(2200) - 100) / 2);
    struct fetch *f = ch_alloc(n * sizeof(*f));

    open_server(e, slow_hello, NULL);
    open_client(e, NULL);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < n; i++) {
            f[i] = (struct fetch){.req = {.url = e->url}};
            fetch_start(&f[i], e->transport);
        }
        for (size_t i = 0; i < n; i++)
            assert_int_equal(ch_loop_run(e->loop, &f[i].done), 0);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(f[i].err.code, 0);
            assert_string_equal(ch_buf_str(&f[i].body), "hello");
            fetch_release(&f[i]);
        }
    }
    assert_int_equal(httpd_requests(e->server), 2 * n);
    assert_int_equal(httpd_accepted(e->server), n); /* the second round reuses */
    ch_free(f);
}

/* --- anything at any time */

static uint32_t dice(struct env *e, uint32_t sides) {
    e->seed = e->seed * 1664525u + 1013904223u;
    return (e->seed >> 8) % sides;
}

static void moody(struct httpd_conn *c, struct ch_sv request, void *user) {
    struct env *e = user;
    size_t cut = dice(e, sizeof(chunks));
    (void)request;

    httpd_send(c, ch_sv(chunks, cut));
    if (dice(e, 3) == 0)
        httpd_pause(c, dice(e, 3));
    switch (dice(e, 10)) {
    case 0:
        httpd_end(c);
        return;
    case 1:
        httpd_reset(c);
        return;
    case 2:
        httpd_sends(c, "garbage\r\n\r\n");
        return;
    case 3:
        httpd_sends(c, chunks + cut);
        httpd_sends(c, "0\r\n\r\n");
        return;
    case 4:
        return; /* and nothing more */
    }
    httpd_sends(c, chunks + cut);
}

static void cancel_self(struct fetch *f) {
    struct env *e = f->user;
    if (dice(e, 8) > 0)
        return;
    ch_transport_cancel(f->transport, f->call);
    f->call = NULL;
    f->done = true;
}

/* Every call ends exactly once, whatever happens and whenever it is cancelled;
 * the sanitizers watch the rest. The seed is fixed. */
static void test_anything(void **state) {
    struct env *e = *state;
    enum { CALLS = 800, AT_ONCE = 20 };
    struct fetch *calls = ch_alloc(CALLS * sizeof(*calls));
    int whole = 0, failed = 0, cancelled = 0;

    e->seed = 42;
    open_server(e, moody, NULL);
    open_client(e, NULL);
    for (int i = 0; i < CALLS + AT_ONCE; i++) {
        if (i < CALLS) {
            calls[i] =
                (struct fetch){.req = {.url = e->url, .timeouts = {.idle = 20, .first_byte = 20}},
                               .at_head = cancel_self,
                               .user = e};
            fetch_start(&calls[i], e->transport);
        }
        if (i >= AT_ONCE) {
            struct fetch *f = &calls[i - AT_ONCE];
            if (dice(e, 8) == 0 && f->call) {
                ch_transport_cancel(e->transport, f->call);
                f->call = NULL;
                f->done = true;
            }
            assert_int_equal(ch_loop_run(e->loop, &f->done), 0);
        }
    }
    run_for(e->loop, 30);
    for (int i = 0; i < CALLS; i++) {
        struct fetch *f = &calls[i];
        assert_true(f->dones <= 1);
        whole += f->dones && !f->err.code;
        failed += f->dones && f->err.code;
        cancelled += !f->dones;
        if (f->dones && !f->err.code)
            assert_string_equal(ch_buf_str(&f->body), "hello world");
        fetch_release(f);
    }
    assert_int_equal(whole + failed + cancelled, CALLS);
    assert_true(whole > CALLS / 4 && failed > CALLS / 20 && cancelled > CALLS / 20);
    ch_free(calls);
}

/* --- proxies */

static void open_proxied(struct env *e, const char *userinfo, const char *no_proxy) {
    char proxy[96];
    snprintf(proxy, sizeof(proxy), "http://%s127.0.0.1:%u", userinfo, httpd_port(e->server));
    open_client(e, &(struct ch_http_opts){.proxy_http = proxy, .no_proxy = no_proxy});
}

static void test_proxy_absolute_form(void **state) {
    struct env *e = *state;
    struct fetch f = {.req = {.url = "http://api.test:81/x?y"}};

    open_server(e, hello, NULL);
    open_proxied(e, "user:pass%40word@", NULL);
    fetch_run(&f, e->transport, e->loop);
    assert_int_equal(f.err.code, 0);
    assert_string_equal(ch_buf_str(&e->seen),
                        "GET http://api.test:81/x?y HTTP/1.1\r\nHost: api.test:81\r\n"
                        "User-Agent: chela/" CHELA_VERSION "\r\n"
                        "Proxy-Authorization: Basic dXNlcjpwYXNzQHdvcmQ=\r\n\r\n");
    fetch_release(&f);

    f = (struct fetch){.req = {.url = "http://other.test/"}};
    fetch_run(&f, e->transport, e->loop);
    assert_true(ch_sv_starts(ch_buf_sv(&e->seen), "GET http://other.test/ HTTP/1.1\r\n"));
    assert_int_equal(httpd_accepted(e->server), 1); /* one connection to the proxy */
    fetch_release(&f);
}

static void test_proxy_bypassed(void **state) {
    struct env *e = *state;

    open_server(e, hello, NULL);
    open_proxied(e, "user:password@", NULL);
    get_hello(e, 0); /* loopback */
    assert_true(ch_sv_starts(ch_buf_sv(&e->seen), "GET /path?q=1 HTTP/1.1\r\n"));
    assert_null(strstr(ch_buf_str(&e->seen), "roxy-"));
}

static void test_proxy_failures(void **state) {
    struct env *e = *state;
    struct fetch f = {.req = {.url = "http://api.test/"}};
    char proxy[64];

    open_server(e, scripted, NULL);
    e->answer = "HTTP/1.1 407 Auth\r\nContent-Length: 3\r\n\r\nwho";
    open_proxied(e, "user:topsecret@", NULL);
    fetch_run(&f, e->transport, e->loop);
    assert_int_equal(f.err.code, CHELA_EAUTH);
    assert_non_null(strstr(f.err.message, "wants credentials (HTTP 407)"));
    assert_null(strstr(f.err.message, "topsecret"));
    assert_int_equal(f.heads, 0);
    assert_int_equal(f.body.n, 0);
    fetch_release(&f);
    ch_http_close(e->http);

    snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%u", unused_port());
    open_client(e, &(struct ch_http_opts){.proxy_http = proxy});
    f = (struct fetch){.req = {.url = "http://api.test/"}};
    fetch_run(&f, e->transport, e->loop);
    assert_int_equal(f.err.code, CHELA_ENET);
    assert_non_null(strstr(f.err.message, "connection refused by proxy 127.0.0.1:"));
    fetch_release(&f);
    ch_http_close(e->http);

    open_client(e, &(struct ch_http_opts){.proxy_http = "socks5://u:topsecret@127.0.0.1"});
    f = (struct fetch){.req = {.url = "http://api.test/"}};
    fetch_run(&f, e->transport, e->loop);
    assert_int_equal(f.err.code, CHELA_ECONFIG);
    assert_null(strstr(f.err.message, "topsecret"));
    fetch_release(&f);
}

static void test_header_find(void **state) {
    struct ch_header headers[] = {{CH_SV("a"), CH_SV("1")}, {CH_SV("b"), CH_SV("")}};
    (void)state;
    assert_true(ch_sv_is(ch_header_find(headers, 2, "a"), "1"));
    assert_non_null(ch_header_find(headers, 2, "b").p);
    assert_null(ch_header_find(headers, 2, "c").p);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_get),
        CASE(test_given_headers_replace_ours),
        CASE(test_body_pieces),
        CASE(test_large_body),
        CASE(test_request_is_refused),
        CASE(test_bad_urls),
        CASE(test_refused),
        CASE(test_next_address),
        CASE(test_silent_address),
        CASE(test_responses),
        CASE(test_closed_by_the_server),
        CASE(test_every_cut),
        CASE(test_body_limit),
        CASE(test_answer_before_the_end_of_the_request),
        CASE(test_reuse),
        CASE(test_no_reuse_when_told),
        CASE(test_next_call_in_done),
        CASE(test_stale_connection),
        CASE(test_closed_while_idle),
        CASE(test_bytes_too_many),
        CASE(test_idle_does_not_hold_the_loop),
        CASE(test_idle_expires),
        CASE(test_timeouts),
        CASE(test_enough),
        CASE(test_no_timeout_while_data_comes),
        CASE(test_stall_is_not_a_timeout),
        CASE(test_connect_timeout),
        CASE(test_cancel),
        CASE(test_cancel_what_fails),
        CASE(test_cancel_each_other),
        CASE(test_close_client_anywhere),
        CASE(test_many),
        CASE(test_anything),
        CASE(test_proxy_absolute_form),
        CASE(test_proxy_bypassed),
        CASE(test_proxy_failures),
        cmocka_unit_test(test_header_find),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}

/* test_tls.c -- https, with authorities and certificates made on the spot, and
 * tunnels through a proxy. The module is loaded from the build directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http.h"
#include "support/fetch.h"
#include "support/tls_world.h"

#define NAMES "DNS:localhost,IP:127.0.0.1"

struct env {
    struct tls_world w;
    struct ch_transport *transport;
    struct httpd *proxy;
    char url[64];
    struct ch_buf seen; /* the last request the server got */
    struct ch_buf proxy_seen;
    const char *proxy_answer; /* NULL: open the tunnel */
    size_t size;              /* of the body that `large` sends */
};

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));
    *state = e;
    tls_world_init(&e->w);
    return 0;
}

static int tear_down(void **state) {
    struct env *e = *state;
    httpd_close(e->proxy);
    tls_world_release(&e->w);
    ch_buf_release(&e->seen);
    ch_buf_release(&e->proxy_seen);
    ch_free(e);
    return 0;
}

static void open_server(struct env *e, httpd_fn *on_request, const char *names, int days) {
    e->w.identity = test_ca_issue(e->w.ca, names, days);
    struct httpd_opts opts = {
        .on_request = on_request, .user = e, .layer = &httpd_tls_layer, .layer_arg = e->w.identity};
    e->w.server = httpd_new(ch_loop_uv(e->w.loop), &opts);
    snprintf(e->url, sizeof(e->url), "https://127.0.0.1:%u/x", httpd_port(e->w.server));
}

static void open_client(struct env *e, struct ch_http_opts opts) {
    opts.module_path = e->w.modules;
    e->w.http = ch_http_new(e->w.loop, &opts);
    e->transport = ch_http_transport(e->w.http);
}

static void hello(struct httpd_conn *c, struct ch_sv request, void *user) {
    struct env *e = user;
    ch_buf_clear(&e->seen);
    ch_buf_add_sv(&e->seen, request);
    httpd_sends(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
}

static void get_hello(struct env *e) {
    struct fetch f = {.req = {.url = e->url}};
    fetch_run(&f, e->transport, e->w.loop);
    if (f.err.code)
        fail_msg("%s", f.err.message);
    assert_string_equal(ch_buf_str(&f.body), "hello");
    fetch_release(&f);
}

static void expect_failure(struct env *e, int code, const char *message) {
    struct fetch f = {.req = {.url = e->url, .timeouts = {.connect = 8000}}};
    fetch_run(&f, e->transport, e->w.loop);
    if (f.err.code != code || !strstr(f.err.message, message))
        fail_msg("%d %s", f.err.code, f.err.message);
    assert_int_equal(f.dones, 1);
    fetch_release(&f);
}

static void test_trusted(void **state) {
    struct env *e = *state;
    open_server(e, hello, NAMES, 1);
    open_client(e, (struct ch_http_opts){.ca_file = e->w.ca_file});
    for (int i = 0; i < 3; i++)
        get_hello(e);
    assert_int_equal(httpd_accepted(e->w.server), 1);
    snprintf(e->url, sizeof(e->url), "https://localhost:%u/x", httpd_port(e->w.server));
    get_hello(e);
    assert_non_null(strstr(ch_buf_str(&e->seen), "\r\nHost: localhost:"));
    assert_int_equal(httpd_accepted(e->w.server), 2); /* another name, another connection */
}

static void test_not_trusted(void **state) {
    static const struct {
        const char *names, *message;
        int days;
        bool trusted;
    } table[] = {
        {NAMES, "TLS with 127.0.0.1: certificate verify failed: unable to get local issuer", 1,
         false},
        {NAMES, "certificate verify failed: certificate has expired", -1, true},
        {"DNS:other.test", "certificate verify failed: IP address mismatch", 1, true},
        {"IP:127.0.0.2", "certificate verify failed: IP address mismatch", 1, true},
        {"DNS:127.0.0.1", "certificate verify failed: IP address mismatch", 1, true},
    };
    struct env *e = *state;

    for (size_t i = 0; i < CH_LEN(table); i++) {
        open_server(e, hello, table[i].names, table[i].days);
        open_client(e, (struct ch_http_opts){.ca_file = table[i].trusted ? e->w.ca_file : NULL});
        expect_failure(e, CHELA_ETLS, table[i].message);
        assert_int_equal(httpd_requests(e->w.server), 0);
        ch_http_close(e->w.http);
        httpd_close(e->w.server);
        run_for(e->w.loop, 5);
        test_ca_issue_free(e->w.identity);
    }
    e->w.http = NULL;
    e->w.server = NULL;
    e->w.identity = NULL;
}

static void test_wrong_name(void **state) {
    struct env *e = *state;
    open_server(e, hello, "DNS:other.test,DNS:*.localhost,IP:127.0.0.1", 1);
    open_client(e, (struct ch_http_opts){.ca_file = e->w.ca_file});
    snprintf(e->url, sizeof(e->url), "https://localhost:%u/x", httpd_port(e->w.server));
    expect_failure(e, CHELA_ETLS,
                   "TLS with localhost: certificate verify failed: hostname mismatch");
}

/* What OpenSSL's users set for all programs counts here too. */
static void test_trust_from_the_environment(void **state) {
    struct env *e = *state;
    open_server(e, hello, NAMES, 1);
    open_client(e, (struct ch_http_opts){0});
    setenv("SSL_CERT_FILE", e->w.ca_file, 1);
    get_hello(e);
    unsetenv("SSL_CERT_FILE");
}

static void test_self_signed(void **state) {
    struct env *e = *state;
    struct test_ca *own = test_ca_new();
    e->w.identity = test_ca_self(own);
    struct httpd_opts opts = {
        .on_request = hello, .user = e, .layer = &httpd_tls_layer, .layer_arg = e->w.identity};
    e->w.server = httpd_new(ch_loop_uv(e->w.loop), &opts);
    snprintf(e->url, sizeof(e->url), "https://127.0.0.1:%u/x", httpd_port(e->w.server));
    open_client(e, (struct ch_http_opts){.ca_file = e->w.ca_file});
    expect_failure(e, CHELA_ETLS, "certificate verify failed: self-signed certificate");
    test_ca_free(own);
}

static void plain_hello(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, "HTTP/1.1 400 Bad\r\n\r\n");
}

static void nothing(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)c, (void)request, (void)user;
}

static void hang_up(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_cut(c);
}

static void test_peer_without_tls(void **state) {
    static const struct {
        httpd_fn *on_accept;
        int64_t connect;
        int code;
        const char *message;
    } table[] = {
        {plain_hello, 5000, CHELA_ETLS, "does not speak TLS"},
        {hang_up, 5000, CHELA_ENET, "during the TLS handshake"},
        {nothing, 100, CHELA_ETIMEOUT, "connect timeout: no connection to 127.0.0.1:"},
    };
    struct env *e = *state;

    open_client(e, (struct ch_http_opts){.ca_file = e->w.ca_file});
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct httpd_opts opts = {.on_request = nothing, .on_accept = table[i].on_accept};
        struct fetch f = {.req = {.url = e->url, .timeouts = {.connect = table[i].connect}}};
        e->w.server = httpd_new(ch_loop_uv(e->w.loop), &opts);
        snprintf(e->url, sizeof(e->url), "https://127.0.0.1:%u/x", httpd_port(e->w.server));
        fetch_run(&f, e->transport, e->w.loop);
        if (f.err.code != table[i].code || !strstr(f.err.message, table[i].message))
            fail_msg("%zu: %d %s", i, f.err.code, f.err.message);
        fetch_release(&f);
        httpd_close(e->w.server);
    }
    e->w.server = NULL;
}

static void until_end(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, "HTTP/1.1 200 OK\r\n\r\nhello");
    httpd_end(c);
}

static void until_cut(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, "HTTP/1.1 200 OK\r\n\r\nhello");
    httpd_cut(c);
}

/* A body that ends with the connection is whole only if TLS says so. */
static void test_end_and_truncation(void **state) {
    struct env *e = *state;
    open_server(e, until_end, NAMES, 1);
    open_client(e, (struct ch_http_opts){.ca_file = e->w.ca_file});
    get_hello(e);
    httpd_close(e->w.server);
    run_for(e->w.loop, 5);
    test_ca_issue_free(e->w.identity);

    open_server(e, until_cut, NAMES, 1);
    struct fetch f = {.req = {.url = e->url}};
    fetch_run(&f, e->transport, e->w.loop);
    assert_int_equal(f.err.code, CHELA_ENET);
    assert_int_equal(f.err.http_status, 200);
    assert_non_null(strstr(f.err.message, "without a TLS close_notify"));
    fetch_release(&f);
}

static void hello_then_cut(struct httpd_conn *c, struct ch_sv request, void *user) {
    if (httpd_turn(c) == 1)
        hello(c, request, user);
    else
        httpd_cut(c);
}

static void test_stale_connection(void **state) {
    struct env *e = *state;
    open_server(e, hello_then_cut, NAMES, 1);
    open_client(e, (struct ch_http_opts){.ca_file = e->w.ca_file});
    get_hello(e);
    get_hello(e);
    assert_int_equal(httpd_accepted(e->w.server), 2);
    assert_int_equal(httpd_requests(e->w.server), 3);
}

static void large(struct httpd_conn *c, struct ch_sv request, void *user) {
    struct env *e = user;
    CH_BUF_AUTO body = {0};
    char head[96];

    ch_buf_clear(&e->seen);
    ch_buf_add_sv(&e->seen, request);
    for (size_t i = 0; i < e->size; i++)
        ch_buf_addc(&body, (char)(i * 31 + i / 199));
    snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", e->size);
    httpd_sends(c, head);
    httpd_send(c, ch_buf_sv(&body));
}

/* Many records each way, more than the kernel takes at once. */
static void test_large_bodies(void **state) {
    struct env *e = *state;
    struct ch_sv pieces[3];
    struct fetch f = {.req = {.method = "POST", .body = pieces, .nbody = 3}};
    size_t n = 3 * CH_MB;
    char *bytes = ch_malloc(n);

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * 13 + i / 257);
    pieces[0] = ch_sv(bytes, 1);
    pieces[1] = ch_sv(bytes + 1, 40000);
    pieces[2] = ch_sv(bytes + 40001, n - 40001);
    e->size = 2 * CH_MB + 7;
    open_server(e, large, NAMES, 1);
    open_client(e, (struct ch_http_opts){.ca_file = e->w.ca_file});
    f.req.url = e->url;
    fetch_run(&f, e->transport, e->w.loop);
    assert_int_equal(f.err.code, 0);
    assert_int_equal(f.body.n, e->size);
    for (size_t i = 0; i < e->size; i++)
        if (f.body.p[i] != (char)(i * 31 + i / 199))
            fail_msg("byte %zu", i);
    assert_true(e->seen.n > n);
    assert_memory_equal(e->seen.p + e->seen.n - n, bytes, n);
    fetch_release(&f);
    ch_free(bytes);
}

static void close_client(struct fetch *f) {
    struct env *e = f->user;
    ch_http_close(e->w.http);
    e->w.http = NULL;
    f->call = NULL;
}

static void test_cancel(void **state) {
    static const enum fetch_stop stops[] = {FETCH_CANCEL_AT_HEAD, FETCH_CANCEL_AT_DATA};
    struct env *e = *state;

    open_server(e, hello, NAMES, 1);
    open_client(e, (struct ch_http_opts){.ca_file = e->w.ca_file});
    for (size_t i = 0; i < CH_LEN(stops); i++) {
        struct fetch f = {.req = {.url = e->url}, .stop = stops[i]};
        fetch_run(&f, e->transport, e->w.loop);
        for (int k = 0; k < 400 && httpd_open(e->w.server) > 0; k++)
            run_for(e->w.loop, 5);
        assert_int_equal(httpd_open(e->w.server), 0);
        assert_int_equal(f.dones, 0);
        fetch_release(&f);
    }
    struct fetch f = {.req = {.url = e->url}, .at_head = close_client, .user = e};
    fetch_start(&f, e->transport);
    assert_int_equal(ch_loop_run(e->w.loop, &f.headed), 0);
    run_for(e->w.loop, 10);
    assert_int_equal(f.heads, 1);
    assert_int_equal(f.dones, 0);
    fetch_release(&f);
}

/* --- through a proxy */

static void proxy_request(struct httpd_conn *c, struct ch_sv request, void *user) {
    struct env *e = user;
    ch_buf_clear(&e->proxy_seen);
    ch_buf_add_sv(&e->proxy_seen, request);
    if (e->proxy_answer) {
        httpd_sends(c, e->proxy_answer);
        return;
    }
    httpd_sends(c, "HTTP/1.1 200 Connection established\r\nX-Via: p\r\n\r\n");
    httpd_tunnel(c, httpd_port(e->w.server));
}

static void open_proxy(struct env *e) {
    struct httpd_opts opts = {.on_request = proxy_request, .user = e};
    char proxy[96];

    e->proxy = httpd_new(ch_loop_uv(e->w.loop), &opts);
    snprintf(proxy, sizeof(proxy), "http://me:s3cret-word@127.0.0.1:%u", httpd_port(e->proxy));
    open_client(e, (struct ch_http_opts){.ca_file = e->w.ca_file, .proxy_https = proxy});
    snprintf(e->url, sizeof(e->url), "https://api.test:8443/x");
}

static void test_tunnel(void **state) {
    struct env *e = *state;
    open_server(e, hello, "DNS:api.test", 1);
    open_proxy(e);
    for (int i = 0; i < 3; i++)
        get_hello(e);
    assert_string_equal(ch_buf_str(&e->proxy_seen),
                        "CONNECT api.test:8443 HTTP/1.1\r\nHost: api.test:8443\r\n"
                        "Proxy-Authorization: Basic bWU6czNjcmV0LXdvcmQ=\r\n\r\n");
    assert_true(ch_sv_starts(ch_buf_sv(&e->seen), "GET /x HTTP/1.1\r\nHost: api.test:8443\r\n"));
    assert_null(strstr(ch_buf_str(&e->seen), "roxy-"));
    assert_int_equal(httpd_accepted(e->proxy), 1);
    assert_int_equal(httpd_accepted(e->w.server), 1);
}

static void test_tunnel_refused(void **state) {
    static const struct {
        const char *answer, *message;
        int code;
    } table[] = {
        {"HTTP/1.1 407 Auth\r\nContent-Length: 3\r\n\r\nwho", "wants credentials (HTTP 407)",
         CHELA_EAUTH},
        {"HTTP/1.1 403 No\r\n\r\n", "refused a connection to api.test:8443 (HTTP 403)",
         CHELA_EPERM},
        {"HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n", "refused a connection to api.test:8443",
         CHELA_ENET},
        {"HTTP/1.1 200 OK\r\n\r\nearly", "broke the CONNECT", CHELA_EPROTO},
        {"SSH-2.0-x\r\n", "the proxy did not answer in HTTP", CHELA_EPROTO},
    };
    struct env *e = *state;

    open_proxy(e);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        e->proxy_answer = table[i].answer;
        expect_failure(e, table[i].code, table[i].message);
    }
}

static void test_tunnel_to_the_wrong_server(void **state) {
    struct env *e = *state;
    open_server(e, hello, "DNS:evil.test", 1);
    open_proxy(e);
    expect_failure(e, CHELA_ETLS, "TLS with api.test: certificate verify failed");
    assert_int_equal(httpd_requests(e->w.server), 0);
}

/* --- set-up problems */

static void test_no_module(void **state) {
    struct env *e = *state;
    struct ch_http_opts opts = {.module_path = "/nonexistent:relative"};
    e->w.http = ch_http_new(e->w.loop, &opts);
    e->transport = ch_http_transport(e->w.http);
    snprintf(e->url, sizeof(e->url), "https://127.0.0.1:1/");
    expect_failure(e, CHELA_EMODULE, "libchela-tls.so was not found in /nonexistent, /");
}

static void test_bad_ca_file(void **state) {
    struct env *e = *state;
    open_client(e, (struct ch_http_opts){.ca_file = "/nonexistent/ca.pem"});
    snprintf(e->url, sizeof(e->url), "https://127.0.0.1:1/");
    expect_failure(e, CHELA_ETLS, "no CA certificates could be read from /nonexistent/ca.pem");
}

/* Appends the file of an authority, and removes the file. */
static void add_authority(struct ch_buf *out, struct test_ca *ca) {
    char *file = test_ca_write(ca);
    struct chela_error err = {0};
    assert_int_equal(ch_file_load(file, CH_MB, out, &err), 0);
    unlink(file);
    ch_free(file);
    test_ca_free(ca);
}

/* Only the certificates that a chain asks for are parsed. All authorities of the tests have the
 * same name, so the right one has to be found among them. */
static void test_bundles(void **state) {
    static const struct {
        const char *before, *after; /* o: another authority, c: a comment, x: an unknown block */
        bool right;                 /* the right authority is between them */
        const char *message;        /* NULL: trusted */
    } table[] = {
        {"", "", true, NULL},
        {"coo", "oc", true, NULL},
        {"x", "o", true, NULL},
        {"ooo", "", false, "certificate verify failed"},
        {"o", "d", true, "no CA certificates could be read from"},
        {"c", "", false, "no CA certificates could be read from"},
        {"", "", false, "no CA certificates could be read from"},
    };
    struct env *e = *state;
    open_server(e, hello, NAMES, 1);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        CH_BUF_AUTO bundle = {0};
        CH_BUF_AUTO kinds = {0};
        struct chela_error err = {0};
        char path[] = "/tmp/chela-bundle-XXXXXX";
        int fd = mkstemp(path);
        ch_buf_addf(&kinds, "%s%s%s", table[i].before, table[i].right ? "!" : "", table[i].after);
        for (const char *k = ch_buf_str(&kinds); *k; k++)
            if (*k == 'o')
                add_authority(&bundle, test_ca_new());
            else if (*k == '!')
                assert_int_equal(ch_file_load(e->w.ca_file, CH_MB, &bundle, &err), 0);
            else
                ch_buf_add_str(&bundle, *k == 'c'   ? "# no -----BEGIN CERTIFICATE-----\n\n"
                                        : *k == 'x' ? "-----BEGIN X-----\nAAAA\n-----END X-----\n"
                                                    : "-----BEGIN CERTIFICATE-----\nMIIA\n"
                                                      "-----END CERTIFICATE-----\n");
        assert_int_equal(write(fd, ch_buf_str(&bundle), bundle.n), bundle.n);
        close(fd);
        open_client(e, (struct ch_http_opts){.ca_file = path});
        if (table[i].message)
            expect_failure(e, CHELA_ETLS, table[i].message);
        else
            get_hello(e);
        ch_http_close(e->w.http);
        e->w.http = NULL;
        run_for(e->w.loop, 5);
        unlink(path);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_no_module),
        CASE(test_trusted),
        CASE(test_not_trusted),
        CASE(test_wrong_name),
        CASE(test_trust_from_the_environment),
        CASE(test_self_signed),
        CASE(test_peer_without_tls),
        CASE(test_end_and_truncation),
        CASE(test_stale_connection),
        CASE(test_large_bodies),
        CASE(test_cancel),
        CASE(test_tunnel),
        CASE(test_tunnel_refused),
        CASE(test_tunnel_to_the_wrong_server),
        CASE(test_bad_ca_file),
        CASE(test_bundles),
    };
    return cmocka_run_group_tests_name("tls", tests, NULL, NULL);
}

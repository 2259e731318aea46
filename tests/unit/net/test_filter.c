/* test_filter.c -- requests with an address filter: what it refuses is never
 * connected to, however the address was named and whatever else was open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>

#include "base/mem.h"
#include "net/address.h"
#include "net/http.h"
#include "support/fetch.h"
#include "support/httpd.h"

struct env {
    struct ch_loop *loop;
    struct ch_http *http;
    struct ch_transport *transport;
    struct httpd *server;
    char url[64];
    unsigned asked; /* by the filter */
    uint16_t port;  /* the last address it was asked about */
};

static const char *count_all(const struct sockaddr *to, void *user) {
    struct env *e = user;
    e->asked++;
    e->port = ntohs(to->sa_family == AF_INET ? ((const struct sockaddr_in *)to)->sin_port
                                             : ((const struct sockaddr_in6 *)to)->sin6_port);
    return NULL;
}

static const char *public_only(const struct sockaddr *to, void *user) {
    ((struct env *)user)->asked++;
    return ch_address_kind(to);
}

static const char *v4_only(const struct sockaddr *to, void *user) {
    ((struct env *)user)->asked++;
    return to->sa_family == AF_INET ? NULL : "wrong";
}

static void answer(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));
    struct httpd_opts opts = {.on_request = answer, .user = e};
    *state = e;
    assert_int_equal(ch_loop_new(NULL, NULL, &e->loop, NULL), 0);
    e->server = httpd_new(ch_loop_uv(e->loop), &opts);
    snprintf(e->url, sizeof(e->url), "http://127.0.0.1:%u/", httpd_port(e->server));
    return 0;
}

static void open_client(struct env *e, const char *proxy) {
    struct ch_http_opts opts = {.proxy_http = proxy};
    e->http = ch_http_new(e->loop, &opts);
    e->transport = ch_http_transport(e->http);
}

static int tear_down(void **state) {
    struct env *e = *state;
    ch_http_close(e->http);
    httpd_close(e->server);
    ch_loop_close(e->loop, NULL, NULL);
    ch_free(e);
    return 0;
}

static void get(struct env *e, const char *url, const struct ch_address_filter *filter,
                struct fetch *f) {
    *f = (struct fetch){.req = {.url = url, .filter = filter}};
    fetch_run(f, e->transport, e->loop);
}

static void test_refused(void **state) {
    struct env *e = *state;
    struct ch_address_filter filter = {public_only, e};
    struct fetch f;

    open_client(e, NULL);
    get(e, e->url, &filter, &f);
    assert_int_equal(f.err.code, CHELA_EPERM);
    assert_string_equal(
        f.err.message,
        "127.0.0.1 resolves to an address (loopback) that is not allowed");
    assert_int_equal(e->asked, 1);
    assert_int_equal(httpd_accepted(e->server), 0);
    fetch_release(&f);
}

static void test_asked_with_the_port(void **state) {
    struct env *e = *state;
    struct ch_address_filter filter = {count_all, e};
    struct fetch f;

    open_client(e, NULL);
    get(e, e->url, &filter, &f);
    assert_int_equal(f.err.code, 0);
    assert_int_equal(f.status, 200);
    assert_int_equal(e->asked, 1);
    assert_int_equal(e->port, httpd_port(e->server));
    fetch_release(&f);
}

/* localhost is ::1 and 127.0.0.1: both are judged, one may be used. */
static void test_each_address(void **state) {
    struct env *e = *state;
    struct ch_address_filter all = {public_only, e}, some = {v4_only, e};
    char url[64];
    struct fetch f;

    open_client(e, NULL);
    snprintf(url, sizeof(url), "http://localhost:%u/", httpd_port(e->server));
    get(e, url, &all, &f);
    assert_int_equal(f.err.code, CHELA_EPERM);
    assert_int_equal(e->asked, 2);
    assert_int_equal(httpd_accepted(e->server), 0);
    fetch_release(&f);
    get(e, url, &some, &f);
    assert_int_equal(f.status, 200);
    assert_int_equal(e->asked, 4);
    fetch_release(&f);
}

/* A connection that waits was made without asking, and one that was asked
 * about is not kept. */
static void test_no_shared_connections(void **state) {
    struct env *e = *state;
    struct ch_address_filter refuse = {public_only, e}, pass = {count_all, e};
    struct fetch f;

    open_client(e, NULL);
    get(e, e->url, NULL, &f);
    assert_int_equal(f.status, 200);
    fetch_release(&f);
    get(e, e->url, &refuse, &f);
    assert_int_equal(f.err.code, CHELA_EPERM);
    assert_int_equal(httpd_requests(e->server), 1);
    fetch_release(&f);
    get(e, e->url, &pass, &f);
    assert_int_equal(httpd_accepted(e->server), 2);
    fetch_release(&f);
    get(e, e->url, &pass, &f);
    assert_int_equal(httpd_accepted(e->server), 3);
    fetch_release(&f);
}

/* A proxy would be asked to connect in our place. 192.0.2.1 leads nowhere, so
 * that only a request to the proxy could be answered. */
static void test_no_proxy(void **state) {
    struct env *e = *state;
    struct ch_address_filter filter = {public_only, e};
    struct fetch f;

    open_client(e, e->url);
    get(e, "http://192.0.2.1/", NULL, &f);
    assert_int_equal(f.status, 200);
    fetch_release(&f);
    get(e, "http://192.0.2.1/", &filter, &f);
    assert_int_equal(f.err.code, CHELA_EPERM);
    assert_int_equal(httpd_requests(e->server), 1);
    fetch_release(&f);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_refused),      TEST(test_asked_with_the_port),
        TEST(test_each_address), TEST(test_no_shared_connections),
        TEST(test_no_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

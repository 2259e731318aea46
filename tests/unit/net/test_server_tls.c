/* test_server_tls.c -- our server and a client that abuses TLS itself. The module
 * is loaded from the build directory. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/server.h"
#include "net/wire.h"
#include "support/httpd_tls.h"
#include "support/modules.h"

#define MOST_UPDATES 2000000 /* a server without a bound would take them all */

struct world {
    struct ch_loop *loop;
    struct ch_server *server;
    SSL_CTX *ctx;
    unsigned requests;
};

static void on_head(struct ch_exchange *x, void *user) {
    (void)x, (void)user;
}

static void on_request(struct ch_exchange *x, void *user) {
    ((struct world *)user)->requests++;
    ch_exchange_respond(x, 200, "text/plain", CH_SV("ok"));
}

static int set_up(void **state) {
    struct world *w = ch_alloc(sizeof(*w));
    struct test_ca *ca = test_ca_new();
    char *cert = test_ca_write(ca), *key = test_ca_write_key(ca), *modules = modules_dir();
    struct ch_server_opts opts = {
        .listen = "127.0.0.1:0", .head = on_head, .request = on_request, .user = w};
    struct ch_identity *id = NULL;
    struct chela_error err = {0};
    *state = w;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(ch_identity_new(cert, key, modules, &id, &err), 0);
    assert_int_equal(ch_loop_new(NULL, NULL, &w->loop, &err), 0);
    assert_int_equal(ch_server_new(w->loop, &opts, &w->server, &err), 0);
    ch_server_identify(w->server, id);
    w->ctx = SSL_CTX_new(TLS_client_method());
    unlink(cert);
    unlink(key);
    ch_free(cert);
    ch_free(key);
    ch_free(modules);
    test_ca_free(ca);
    return 0;
}

static int tear_down(void **state) {
    struct world *w = *state;
    ch_server_close(w->server);
    ch_loop_close(w->loop, NULL, NULL);
    SSL_CTX_free(w->ctx);
    ch_free(w);
    return 0;
}

/* In small segments, and few of them: the kernel keeps little of what is unread. */
static SSL *dial(struct world *w) {
    struct sockaddr_in to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 4096, size = 536;
    SSL *ssl = SSL_new(w->ctx);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)strtol(strrchr(ch_server_address(w->server), ':') + 1, NULL, 10));
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &size, sizeof(size));
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    SSL_set_fd(ssl, fd);
    SSL_set_connect_state(ssl);
    return ssl;
}

static void hang_up(SSL *ssl) {
    close(SSL_get_fd(ssl));
    SSL_free(ssl);
}

static bool wants_more(SSL *ssl, int rc) {
    int why = SSL_get_error(ssl, rc);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

static bool shake(struct world *w, SSL *ssl) {
    int rc = 0;
    for (int i = 0; i < 5000 && (rc = SSL_do_handshake(ssl)) != 1 && wants_more(ssl, rc); i++) {
        ch_loop_tick(w->loop);
        poll(NULL, 0, 1);
    }
    return rc == 1;
}

static void get(struct world *w, SSL *ssl) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    char answer[512];
    int n = 0;
    assert_true(SSL_write(ssl, request, sizeof(request) - 1) > 0);
    for (int i = 0; i < 5000 && (n = SSL_read(ssl, answer, sizeof(answer))) <= 0; i++) {
        assert_true(wants_more(ssl, n));
        ch_loop_tick(w->loop);
        poll(NULL, 0, 1);
    }
    assert_true(n > 12 && memcmp(answer, "HTTP/1.1 200", 12) == 0);
}

/* Ask for a new key; false: the server has hung up. */
static bool update(struct world *w, SSL *ssl) {
    int rc = SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1 ? SSL_do_handshake(ssl) : -1;
    while (rc != 1 && wants_more(ssl, rc)) {
        ch_loop_tick(w->loop);
        if (ch_server_clients(w->server) == 0)
            return false;
        rc = SSL_do_handshake(ssl);
    }
    return rc == 1;
}

/* A client that reads may have as many as it likes. */
static void test_new_keys(void **state) {
    struct world *w = *state;
    SSL *ssl = dial(w);
    assert_true(shake(w, ssl));
    get(w, ssl);
    for (int i = 0; i < 200; i++) {
        assert_true(update(w, ssl));
        if (i % 20 == 0)
            get(w, ssl);
    }
    get(w, ssl);
    assert_int_equal(ch_server_clients(w->server), 1);
    hang_up(ssl);
}

/* One that never reads is left, before its answers fill the memory. */
static void test_keys_nobody_reads(void **state) {
    struct world *w = *state;
    SSL *ssl = dial(w);
    int n = 0;
    assert_true(shake(w, ssl));
    get(w, ssl);
    while (n < MOST_UPDATES && ch_server_clients(w->server) && update(w, ssl))
        if (++n % 64 == 0)
            ch_loop_tick(w->loop);
    assert_true(n < MOST_UPDATES);
    for (int i = 0; i < 1000 && ch_server_clients(w->server); i++)
        ch_loop_tick(w->loop);
    assert_int_equal(ch_server_clients(w->server), 0);
    hang_up(ssl);
    ssl = dial(w);
    assert_true(shake(w, ssl));
    get(w, ssl);
    hang_up(ssl);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_new_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys_nobody_reads, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

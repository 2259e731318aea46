/* test_mcp_auth.c -- a log-in to a server that names addresses without TLS, or a foreign issuer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "mcp/mcp_auth.h"

#define CHALLENGE "Bearer resource_metadata=\"http://169.254.169.254/latest\""
#define RESOURCE "{\"resource\":\"https://mcp.example/mcp\",\"authorization_servers\":[\"%s\"]}"
#define SERVER                                                                              \
    "{\"issuer\":\"https://as.example\",\"code_challenge_methods_supported\":[\"S256\"],"  \
    "\"authorization_endpoint\":\"https://as.example/a\",\"token_endpoint\":\"%s/t\","     \
    "\"registration_endpoint\":\"%s/r\"}"

/* A transport that keeps the last request. */
static struct {
    struct ch_transport transport;
    const struct ch_http_handler *handler;
    void *user;
    char url[200];
} wire;

static struct ch_http_call *start(struct ch_transport *t, const struct ch_http_request *req,
                                  const struct ch_http_handler *handler, void *user) {
    (void)t;
    wire.handler = handler;
    wire.user = user;
    snprintf(wire.url, sizeof(wire.url), "%s", req->url);
    return (struct ch_http_call *)&wire;
}

static void cancel(struct ch_transport *t, struct ch_http_call *call) {
    (void)t, (void)call;
}

static void answer(const char *body) {
    wire.url[0] = '\0';
    wire.handler->on_head(&(struct ch_http_head){.status = 200}, wire.user);
    wire.handler->on_data(ch_sv_str(body), wire.user);
    wire.handler->on_done(NULL, wire.user);
}

static char why[CHELA_ERROR_MAX];

static void on_token(const struct chela_error *err, void *user) {
    (void)user;
    snprintf(why, sizeof(why), "%s", err ? err->message : "a token");
}

static struct ch_mcp_auth *log_in_with(struct ch_loop *loop, struct ch_mcp_auth_opts o) {
    static const struct ch_transport_ops ops = {.name = "test", .start = start, .cancel = cancel};
    wire.transport.ops = &ops;
    why[0] = '\0';
    o.loop = loop;
    o.transport = &wire.transport;
    o.name = "s";
    struct ch_mcp_auth *auth = ch_mcp_auth_new(&o);
    assert_int_equal(ch_mcp_auth_start(auth, 401, CHALLENGE, on_token, NULL), 0);
    return auth;
}

static struct ch_mcp_auth *log_in(struct ch_loop *loop, const char *url) {
    return log_in_with(loop, (struct ch_mcp_auth_opts){.url = url});
}

static void test_addresses(void **state) {
    static const struct {
        const char *issuer, *tokens, *clients, *problem;
    } table[] = {
        {"http://10.0.0.1", "", "", "the authorization server is not a public https URL"},
        {"https://10.0.0.1", "", "", "not a public https URL"},
        {"https://127.0.0.1:8443", "", "", "not a public https URL"},
        {"https://[fd00::1]", "", "", "not a public https URL"},
        {"https://localhost:8443", "", "", "not a public https URL"},
        {"https://as.example", "http://10.0.0.1", "https://as.example", "not a public https URL"},
        {"https://as.example", "https://10.0.0.1", "https://as.example", "not a public https URL"},
        {"https://as.example", "https://as.example", "http://10.0.0.1", "not a public https URL"},
        {"https://as.example", "https://as.example", "https://as.example", "nobody can log in"},
    };
    struct ch_loop *loop;
    char body[1000];
    (void)state;
    assert_int_equal(ch_loop_new(NULL, NULL, &loop, NULL), 0);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        struct ch_mcp_auth *auth = log_in(loop, "https://mcp.example/mcp");
        assert_string_equal(wire.url,
                            "https://mcp.example/.well-known/oauth-protected-resource/mcp");
        snprintf(body, sizeof(body), RESOURCE, table[i].issuer);
        answer(body);
        if (*table[i].tokens) {
            assert_string_equal(wire.url,
                                "https://as.example/.well-known/oauth-authorization-server");
            snprintf(body, sizeof(body), SERVER, table[i].tokens, table[i].clients);
            answer(body);
        }
        assert_non_null(strstr(why, table[i].problem));
        assert_string_equal(wire.url, "");
        ch_mcp_auth_free(auth);
    }
    ch_loop_close(loop, NULL, NULL);
}

/* A server on this machine names other ports of it, and no addresses of others, unless they are of
 * the configured issuer. */
static void test_without_tls(void **state) {
    struct ch_loop *loop;
    (void)state;
    assert_int_equal(ch_loop_new(NULL, NULL, &loop, NULL), 0);
    struct ch_mcp_auth *auth = log_in(loop, "http://127.0.0.1:1/mcp");
    assert_string_equal(wire.url, "http://127.0.0.1:1/.well-known/oauth-protected-resource/mcp");
    answer("{\"resource\":\"http://127.0.0.1:1/mcp\","
           "\"authorization_servers\":[\"http://localhost:2\"]}");
    assert_string_equal(wire.url, "http://localhost:2/.well-known/oauth-authorization-server");
    ch_mcp_auth_free(auth);
    auth = log_in_with(loop, (struct ch_mcp_auth_opts){.url = "http://127.0.0.1:1/mcp",
                                                       .issuer = "http://169.254.169.254"});
    assert_string_equal(wire.url, "http://169.254.169.254/latest");
    ch_mcp_auth_free(auth);
    ch_loop_close(loop, NULL, NULL);
}

/* The credentials of a client are for one issuer. */
static void test_issuer(void **state) {
    static const char stored[] =
        "{\"url\":\"https://mcp.example/mcp\",\"token\":\"old\",\"id\":\"me\","
        "\"secret\":\"s3cret\",\"issuer\":\"https://as.example\",\"refresh\":\"r\"}";
    static const struct {
        const char *configured, *id, *stored, *named, *problem;
    } table[] = {
        {NULL, "me", NULL, "https://evil.example", NULL},
        {NULL, "me", stored, "https://as.example", NULL},
        {NULL, "other", stored, "https://evil.example", NULL},
        {NULL, NULL, stored, "https://evil.example", NULL}, /* registers itself there */
        {NULL, "me", stored, "https://evil.example\",\"https://as.example", NULL},
        {NULL, "me", stored, "https://evil.example",
         "the server names the authorization server https://evil.example, not https://as.example "
         "of the last log-in: if the change is right, set auth.issuer"},
        {"https://as.example", "me", NULL, "https://as.example", NULL},
        {"https://as.example", NULL, NULL, "https://evil.example", "(auth.issuer)"},
        {"https://as.example", "me", NULL, "https://evil.example", "(auth.issuer)"},
        {"https://new.example", "me", stored, "https://new.example", NULL},
        {"https://new.example", "me", stored, "https://as.example", "(auth.issuer)"},
    };
    struct ch_loop *loop;
    char body[1000], path[] = "/tmp/chela-auth-XXXXXX";
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(ch_loop_new(NULL, NULL, &loop, NULL), 0);
    for (size_t i = 0; i < CH_LEN(table); i++) {
        FILE *f = fopen(path, "w");
        fputs(table[i].stored ? table[i].stored : "", f);
        fclose(f);
        struct ch_mcp_auth *auth = log_in_with(
            loop, (struct ch_mcp_auth_opts){.url = "https://mcp.example/mcp", .path = path,
                                            .client_id = table[i].id, .client_secret = "s3cret",
                                            .issuer = table[i].configured});
        snprintf(body, sizeof(body), RESOURCE, table[i].named);
        answer(body);
        if (table[i].problem) {
            assert_non_null(strstr(why, table[i].problem));
            assert_string_equal(wire.url, "");
        } else
            assert_non_null(strstr(wire.url, "/.well-known/oauth-authorization-server"));
        ch_mcp_auth_free(auth);
    }
    unlink(path);
    ch_loop_close(loop, NULL, NULL);
}

/* Without metadata of the resource, a configured issuer is used, and needs metadata. */
static void test_issuer_without_metadata(void **state) {
    struct ch_loop *loop;
    (void)state;
    assert_int_equal(ch_loop_new(NULL, NULL, &loop, NULL), 0);
    struct ch_mcp_auth *auth =
        log_in_with(loop, (struct ch_mcp_auth_opts){.url = "https://mcp.example/",
                                                    .client_id = "me",
                                                    .issuer = "https://as.example"});
    answer("none");
    assert_string_equal(wire.url, "https://as.example/.well-known/oauth-authorization-server");
    answer("none");
    answer("none");
    assert_non_null(strstr(why, "the authorization server has no metadata"));
    ch_mcp_auth_free(auth);
    ch_loop_close(loop, NULL, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses),
                                       cmocka_unit_test(test_without_tls),
                                       cmocka_unit_test(test_issuer),
                                       cmocka_unit_test(test_issuer_without_metadata)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_auth.c -- which hosts, origins and tokens are accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "gateway/request/attempts.h"
#include "gateway/request/auth.h"

#define TOKEN "0123456789abcdef-token"

static const char *const hosts[] = {"chela.example", NULL};
static const char *const origins[] = {"https://app.example", NULL};

static const struct {
    const char *name, *headers;
    int status; /* 0: accepted */
} callers[] = {
    {"localhost", "Host: localhost:8787\r\n", 0},
    {"an address", "Host: 127.0.0.1\r\n", 0},
    {"an IPv6 address", "Host: [::1]:8787\r\n", 0},
    {"a name of ours", "Host: CHELA.example\r\n", 0},
    {"no name", "X: y\r\n", 400},
    {"another name", "Host: evil.example\r\n", 421},
    {"a name that begins like ours", "Host: chela.example.evil\r\n", 421},
    {"a name that ends like ours", "Host: evil-chela.example\r\n", 421},
    {"an address in a name", "Host: 127.0.0.1.evil.example\r\n", 421},
    {"half an address", "Host: [::1\r\n", 400},
    {"an address and more", "Host: [::1]evil\r\n", 400},
    {"an address and a name", "Host: [::1].evil.example\r\n", 400},
    {"an IPv6 zone", "Host: [fe80::1%25lo]\r\n", 400},
    {"no address in brackets", "Host: [evil]\r\n", 400},
    {"IPv4 in brackets", "Host: [127.0.0.1]\r\n", 400},
    {"IPv6 without brackets", "Host: ::1\r\n", 400},
    {"IPv6 in full", "Host: [0:0:0:0:0:0:0:1]:8787\r\n", 0},
    {"a user", "Host: localhost:1@evil\r\n", 400},
    {"a user and a port", "Host: localhost@evil.example:80\r\n", 400},
    {"a port that is none", "Host: localhost:x\r\n", 400},
    {"a port that is too large", "Host: localhost:99999\r\n", 400},
    {"two ports", "Host: localhost:1:2\r\n", 400},
    {"no port after the colon", "Host: localhost:\r\n", 0},
    {"a final dot", "Host: localhost.\r\n", 0},
    {"a final dot and a port", "Host: Chela.Example.:8787\r\n", 0},
    {"two final dots", "Host: localhost..\r\n", 400},
    {"an address in short", "Host: 127.1\r\n", 400},
    {"an address as a number", "Host: 2130706433\r\n", 400},
    {"a path", "Host: localhost/evil\r\n", 400},
    {"two names", "Host: localhost, evil.example\r\n", 400},
    {"a space in it", "Host: localhost evil\r\n", 400},
    {"our own page", "Host: chela.example:1\r\nOrigin: http://chela.example:1\r\n", 0},
    {"our own page at the usual port",
     "Host: chela.example:80\r\nOrigin: http://chela.example\r\n", 0},
    {"and with TLS", "Host: chela.example\r\nOrigin: https://chela.example:443\r\n", 0},
    {"our own page in other letters",
     "Host: chela.example\r\nOrigin: http://Chela.Example\r\n", 0},
    {"our own page, of a user", "Host: localhost\r\nOrigin: http://x@localhost\r\n", 403},
    {"our own page, with a path", "Host: localhost\r\nOrigin: http://localhost/x\r\n", 403},
    {"a page of another port", "Host: chela.example:1\r\nOrigin: http://chela.example:2\r\n", 403},
    {"an allowed page", "Host: localhost\r\nOrigin: https://app.example\r\n", 0},
    {"the same without TLS", "Host: localhost\r\nOrigin: http://app.example\r\n", 403},
    {"a page that begins like it", "Host: localhost\r\nOrigin: https://app.example.evil\r\n", 403},
    {"no page", "Host: localhost\r\nOrigin: null\r\n", 403},
    {"a file", "Host: localhost\r\nOrigin: file://\r\n", 403},
};

static void read_head(struct ch_inbound *in, const char *headers) {
    CH_BUF_AUTO text = {0};
    size_t taken;
    ch_inbound_init(in);
    ch_buf_addf(&text, "GET / HTTP/1.1\r\n%s\r\n", headers);
    assert_int_equal(ch_inbound_feed(in, ch_buf_sv(&text), &taken), CH_INBOUND_HEAD);
}

static struct ch_auth init_auth(void) {
    struct chela_gateway_opts opts =
        CHELA_GATEWAY_OPTS(.token = TOKEN, .hosts = hosts, .origins = origins);
    struct ch_auth a = {0};
    assert_int_equal(ch_auth_init(&a, &opts, NULL), 0);
    return a;
}

static void test_callers(void **state) {
    (void)state;
    struct ch_auth a = init_auth();
    for (size_t i = 0; i < CH_LEN(callers); i++) {
        struct ch_inbound in;
        read_head(&in, callers[i].headers);
        int got = ch_auth_check(&a, &in).status;
        if (got != callers[i].status)
            fail_msg("%s: got %d, want %d", callers[i].name, got, callers[i].status);
        ch_inbound_release(&in);
    }
    ch_auth_release(&a);
}

static void test_tokens(void **state) {
    (void)state;
    static const struct {
        const char *headers;
        bool known;
    } shown[] = {
        {"Authorization: Bearer " TOKEN "\r\n", true},
        {"authorization: bearer  " TOKEN " \r\n", true},
        {"Authorization: Bearer " TOKEN "x\r\n", false},
        {"Authorization: Bearer 0123456789abcdef\r\n", false},
        {"Authorization: Bearer\r\n", false},
        {"Authorization: Bearer \r\n", false},
        {"Authorization: " TOKEN "\r\n", false},
        {"Authorization:\r\n", false},
        {"X-Api-Key: " TOKEN "\r\n", false},
        {"Authorization: Bearer x\r\nAuthorization: Bearer " TOKEN "\r\n", false},
        {"X: y\r\n", false},
    };
    struct ch_auth a = init_auth();
    for (size_t i = 0; i < CH_LEN(shown); i++) {
        struct ch_inbound in;
        read_head(&in, shown[i].headers);
        if (ch_auth_has_token(&a, &in) != shown[i].known)
            fail_msg("case %zu: %s", i, shown[i].headers);
        ch_inbound_release(&in);
    }
    ch_auth_release(&a);
}

static void test_socket_tokens(void **state) {
    (void)state;
    static const struct {
        const char *headers;
        bool known;
    } shown[] = {
        {"Sec-WebSocket-Protocol: chela.v1, bearer." TOKEN "\r\n", true},
        {"Sec-WebSocket-Protocol: bearer." TOKEN ",chela.v1\r\n", true},
        {"Sec-WebSocket-Protocol: bearer." TOKEN "\r\n", false},
        {"Sec-WebSocket-Protocol: chela.v1, bearer." TOKEN "x\r\n", false},
        {"Sec-WebSocket-Protocol: chela.v1, Bearer." TOKEN "\r\n", false},
        {"Sec-WebSocket-Protocol: chela.v1, bearer.\r\n", false},
        {"Sec-WebSocket-Protocol: chela.v1, " TOKEN "\r\n", false},
        {"Sec-WebSocket-Protocol: chela.v1, bearer.x, bearer." TOKEN "\r\n", false},
        {"Sec-WebSocket-Protocol: chela.v1, bearer." TOKEN "\r\nAuthorization: Bearer x\r\n",
         false},
        {"Sec-WebSocket-Protocol: chela.v1\r\nSec-WebSocket-Protocol: bearer." TOKEN "\r\n",
         false},
        {"X: y\r\n", false},
    };
    struct ch_auth a = init_auth();
    for (size_t i = 0; i < CH_LEN(shown); i++) {
        struct ch_inbound in;
        read_head(&in, shown[i].headers);
        if (ch_auth_has_socket_token(&a, &in) != shown[i].known)
            fail_msg("case %zu: %s", i, shown[i].headers);
        ch_inbound_release(&in);
    }
    ch_auth_release(&a);
}

static void test_needs_token(void **state) {
    (void)state;
    static const char *const bad[] = {NULL, "", "short"};
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct chela_gateway_opts opts = CHELA_GATEWAY_OPTS(.token = bad[i]);
        struct chela_error err = {0};
        struct ch_auth a = {0};
        assert_int_equal(ch_auth_init(&a, &opts, &err), CHELA_ECONFIG);
    }
}

/* Wrong tokens of one network run out and come back with time; others are not concerned. */
static void test_attempts(void **state) {
    (void)state;
    struct ch_attempts a = {0};
    unsigned char one[16] = {1}, other[16] = {2};
    for (int i = 0; i < CH_LIMIT_WRONG_TOKENS; i++)
        assert_false(ch_attempts_fail(&a, one, 0));
    assert_true(ch_attempts_fail(&a, one, 0));
    assert_false(ch_attempts_fail(&a, other, 0));
    assert_true(ch_attempts_fail(&a, one, 60000 / CH_LIMIT_WRONG_TOKENS_MINUTE - 1));
    assert_false(ch_attempts_fail(&a, one, 60000 / CH_LIMIT_WRONG_TOKENS_MINUTE + 1));
    assert_true(ch_attempts_fail(&a, one, 0)); /* a clock that goes back */
    for (unsigned i = 0; i < 4 * CH_LIMIT_WRONG_TOKEN_NETWORKS; i++) {
        unsigned char many[16] = {3, (unsigned char)i, (unsigned char)(i >> 8)};
        ch_attempts_fail(&a, many, 0);
    }
    assert_int_equal(a.n, CH_LIMIT_WRONG_TOKEN_NETWORKS);
    assert_true(ch_attempts_fail(&a, one, 0)); /* who has fewest left is kept */
    ch_attempts_release(&a);
}

/* Each of several processes allows its share. */
static void test_attempts_of_workers(void **state) {
    (void)state;
    unsigned char one[16] = {1};
    static const size_t shares[] = {1, 2, 4, 64};
    for (size_t k = 0; k < CH_LEN(shares); k++) {
        struct ch_attempts a = {.share = shares[k]};
        size_t allowed = 0;
        while (!ch_attempts_fail(&a, one, 0))
            allowed++;
        assert_int_equal(allowed, CH_MAX(CH_LIMIT_WRONG_TOKENS / shares[k], 1));
        ch_attempts_release(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callers),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_socket_tokens),
        cmocka_unit_test(test_needs_token),
        cmocka_unit_test(test_attempts),
        cmocka_unit_test(test_attempts_of_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

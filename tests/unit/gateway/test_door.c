/* test_door.c -- who may come in, and which path leads where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "gateway/request/gateway.h"

#define TOKEN "0123456789abcdef-token"

static const char *const hosts[] = {"chela.example", NULL};
static const char *const origins[] = {"https://app.example", NULL};

static const struct {
    const char *name, *headers;
    int status; /* 0: may come in */
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
    {"half an address", "Host: [::1\r\n", 421},
    {"our own page", "Host: chela.example:1\r\nOrigin: http://chela.example:1\r\n", 0},
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

static struct ch_door open_door(void) {
    struct chela_gateway_opts opts =
        CHELA_GATEWAY_OPTS(.token = TOKEN, .hosts = hosts, .origins = origins);
    struct ch_door d = {0};
    assert_int_equal(ch_door_init(&d, &opts, NULL), 0);
    return d;
}

static void test_callers(void **state) {
    (void)state;
    struct ch_door d = open_door();
    for (size_t i = 0; i < CH_LEN(callers); i++) {
        struct ch_inbound in;
        read_head(&in, callers[i].headers);
        int got = ch_door_check(&d, &in).status;
        if (got != callers[i].status)
            fail_msg("%s: got %d, want %d", callers[i].name, got, callers[i].status);
        ch_inbound_release(&in);
    }
    ch_door_release(&d);
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
    struct ch_door d = open_door();
    for (size_t i = 0; i < CH_LEN(shown); i++) {
        struct ch_inbound in;
        read_head(&in, shown[i].headers);
        if (ch_door_knows(&d, &in) != shown[i].known)
            fail_msg("case %zu: %s", i, shown[i].headers);
        ch_inbound_release(&in);
    }
    ch_door_release(&d);
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
    struct ch_door d = open_door();
    for (size_t i = 0; i < CH_LEN(shown); i++) {
        struct ch_inbound in;
        read_head(&in, shown[i].headers);
        if (ch_door_knows_socket(&d, &in) != shown[i].known)
            fail_msg("case %zu: %s", i, shown[i].headers);
        ch_inbound_release(&in);
    }
    ch_door_release(&d);
}

static void test_no_token_no_door(void **state) {
    (void)state;
    static const char *const bad[] = {NULL, "", "short"};
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct chela_gateway_opts opts = CHELA_GATEWAY_OPTS(.token = bad[i]);
        struct chela_error err = {0};
        struct ch_door d = {0};
        assert_int_equal(ch_door_init(&d, &opts, &err), CHELA_ECONFIG);
    }
}

static const struct {
    const char *method, *target, *want; /* "pattern(param)", 404 or 405 */
} paths[] = {
    {"GET", "/", "/()"},
    {"POST", "/", "405"},
    {"GET", "/healthz", "/healthz()"},
    {"HEAD", "/healthz", "/healthz()"},
    {"GET", "/healthz?x=/../y", "/healthz()"},
    {"GET", "/%68ealthz", "/healthz()"},
    {"POST", "/healthz", "405"},
    {"GET", "/api/sessions/a%20b", "/api/sessions/{}(a b)"},
    {"GET", "/api/sessions/%E5%BC%A0/events", "/api/sessions/{}/events(\xE5\xBC\xA0)"},
    {"GET", "/api/sessions/a%2Fb", "404"},
    {"GET", "/api/sessions/a%252Fb", "404"},
    {"GET", "/api/sessions/", "404"},
    {"GET", "/api/sessions//events", "404"},
    {"GET", "/api/sessions/../sessions", "404"},
    {"GET", "/api/sessions/%2e%2e", "404"},
    {"GET", "/api/./sessions", "404"},
    {"GET", "/api\\sessions", "404"},
    {"GET", "/api/sessions/a%00", "404"},
    {"GET", "/api/sessions/a%0a", "404"},
    {"GET", "/api/sessions/a%", "404"},
    {"GET", "/api/sessions/a%zz", "404"},
    {"GET", "//healthz", "404"},
    {"GET", "/healthz/", "404"},
    {"GET", "healthz", "404"},
    {"GET", "http://evil/healthz", "404"},
    {"GET", "*", "404"},
    {"GET", "", "404"},
};

static void test_paths(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(paths); i++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO got = {0};
        struct ch_sv query, param = CH_SV("");
        bool other = false;
        struct ch_sv path = ch_path_decode(&arena, ch_sv_str(paths[i].target), &query);
        const struct ch_route *r =
            path.p ? ch_route_find(paths[i].method, path, &param, &other) : NULL;
        if (r)
            ch_buf_addf(&got, "%s(%.*s)", r->path, CH_SV_FMT(param));
        else
            ch_buf_add_str(&got, other ? "405" : "404");
        if (strcmp(ch_buf_str(&got), paths[i].want) != 0)
            fail_msg("%s: got %s, want %s", paths[i].target, ch_buf_str(&got), paths[i].want);
    }
}

/* Only these may be called without a token: a new route is closed. */
static void test_open_routes(void **state) {
    (void)state;
    CH_BUF_AUTO open = {0};
    for (const struct ch_route *r = ch_routes; r->method; r++)
        if (r->flags & CH_ROUTE_OPEN)
            ch_buf_addf(&open, "%s ", r->path);
    assert_string_equal(ch_buf_str(&open),
                        "/ /healthz /readyz /hooks/{} /channels/{}/events ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callers),         cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_socket_tokens),
        cmocka_unit_test(test_no_token_no_door), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_open_routes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

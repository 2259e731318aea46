/* test_http_route.c -- which path is handled by which route, and which routes are open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "gateway/request/http_route.h"
#include "gateway/server/http_routes.h"

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
    {"GET", "/api/sessions/a%2Fb", "/api/sessions/{}(a/b)"},
    {"GET", "/api/sessions/%2f%5C%25/events", "/api/sessions/{}/events(/\\%)"},
    {"GET", "/api/sessions/a%252Fb", "/api/sessions/{}(a%2Fb)"},
    {"GET", "/api%2Fsessions", "404"},
    {"GET", "/api/sessions/a%2Fevents", "/api/sessions/{}(a/events)"},
    {"GET", "/api/sessions/%01", "404"},
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
        struct ch_sv path = ch_http_route_decode_path(&arena, ch_sv_str(paths[i].target), &query);
        const struct ch_http_route *r =
            path.p ? ch_http_route_find(ch_http_routes, paths[i].method, path, &param, &other)
                   : NULL;
        if (r)
            ch_buf_addf(&got, "%s(%.*s)", r->path, CH_SV_FMT(ch_http_route_param(&arena, param)));
        else
            ch_buf_add_str(&got, other ? "405" : "404");
        if (strcmp(ch_buf_str(&got), paths[i].want) != 0)
            fail_msg("%s: got %s, want %s", paths[i].target, ch_buf_str(&got), paths[i].want);
    }
}

static void test_numbers(void **state) {
    (void)state;
    assert_int_equal(ch_http_route_number(CH_SV("0")), 0);
    assert_int_equal(ch_http_route_number(CH_SV("999999999")), 999999999);
    assert_int_equal(ch_http_route_number(CH_SV("1000000000")), -1);
    assert_int_equal(ch_http_route_number(CH_SV("99999999999999999999")), -1);
    assert_int_equal(ch_http_route_number(CH_SV("1x")), -1);
    assert_int_equal(ch_http_route_number(CH_SV("-1")), -1);
    assert_int_equal(ch_http_route_number(CH_SV("")), -1);
}

/* The routes that need no token: a new route must not be among them by accident. */
static void test_open_routes(void **state) {
    (void)state;
    CH_BUF_AUTO open = {0};
    for (const struct ch_http_route *r = ch_http_routes; r->path; r++)
        if (r->flags & CH_ROUTE_OPEN)
            ch_buf_addf(&open, "%s ", r->path);
    assert_string_equal(ch_buf_str(&open),
                        "/ /console/{} /healthz /readyz /hooks/{} /channels/{}/events "
                        "/channels/{}/events /.well-known/oauth-protected-resource "
                        "/.well-known/oauth-protected-resource/mcp ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_open_routes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

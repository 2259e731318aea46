/* test_mcp_cache.c -- results of a server that are kept for the time that the server names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "mcp/mcp_cache.h"

static struct ch_mcp_cache cache;

static int world_close(void **unused) {
    (void)unused;
    ch_mcp_cache_clear(&cache);
    return 0;
}

static void add(const char *members, const char *text, int64_t ttl, int64_t now) {
    ch_mcp_cache_add(&cache, "resources/read", members, ch_sv_str(text), ttl, now);
}

static void assert_found(const char *members, int64_t now, const char *want) {
    CH_AUTOFREE char *text = ch_mcp_cache_find(&cache, "resources/read", members, now);

    if (want)
        assert_string_equal(text, want);
    else
        assert_null(text);
}

static void test_time(void **unused) {
    (void)unused;
    assert_found("a", 0, NULL);
    add("a", "one", 10, 100);
    assert_found("a", 109, "one");
    assert_found("a", 110, NULL);
    add("a", "two", 10, 200);
    assert_found("a", 201, "two");
    add("a", "three", INT64_MAX / 2, 300);
    assert_found("a", 300 + CH_LIMIT_MCP_KEPT_MS - 1, "three");
    assert_found("a", 300 + CH_LIMIT_MCP_KEPT_MS, NULL);
}

static void test_key(void **unused) {
    (void)unused;
    add("a", "one", 10, 0);
    assert_found("", 1, NULL);
    assert_found("a ", 1, NULL);
    assert_null(ch_mcp_cache_find(&cache, "resources/list", "a", 1));
    assert_null(ch_mcp_cache_find(&cache, "resources", "read a", 1));
    assert_true(ch_mcp_cache_takes("prompts/list"));
    assert_false(ch_mcp_cache_takes("tools/call"));
    assert_false(ch_mcp_cache_takes("prompts/get"));
    ch_mcp_cache_clear(&cache);
    assert_found("a", 1, NULL);
}

static void test_limits(void **unused) {
    CH_BUF_AUTO large = {0};
    char name[16];

    (void)unused;
    for (size_t i = 0; i <= CH_LIMIT_MCP_KEPT_BYTES; i++)
        ch_buf_addc(&large, 'x');
    add("a", ch_buf_str(&large), 10, 0);
    assert_found("a", 1, NULL);
    for (int i = 0; i <= CH_LIMIT_MCP_KEPT; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        add(name, name, 1000 + i, 0);
    }
    assert_found("n0", 1, NULL); /* the one that ended first gave way */
    assert_found("n1", 1, "n1");
    assert_found(name, 1, name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_time, world_close),
        cmocka_unit_test_teardown(test_key, world_close),
        cmocka_unit_test_teardown(test_limits, world_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

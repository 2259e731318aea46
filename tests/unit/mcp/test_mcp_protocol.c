/* test_mcp_protocol.c -- names, headers, texts and defaults of the Model Context Protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mcp/mcp_protocol.h"

static const struct ch_json *parse(struct ch_arena *a, const char *text) {
    const struct ch_json *v;

    assert_int_equal(ch_json_parse(a, ch_sv_str(text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return v;
}

static void test_versions(void **state) {
    (void)state;
    assert_true(ch_mcp_is_legacy(CH_SV("2024-11-05")));
    assert_true(ch_mcp_is_legacy(CH_SV(CH_MCP_LEGACY)));
    assert_false(ch_mcp_is_legacy(CH_SV(CH_MCP_MODERN)));
    assert_false(ch_mcp_is_legacy(CH_SV("")));
    assert_false(ch_mcp_is_legacy(CH_SV("2025-11-25 ")));
}

/* --- headers */

static void assert_header(struct ch_sv text, const char *value) {
    CH_BUF_AUTO out = {0};
    CH_BUF_AUTO back = {0};

    ch_mcp_header_value(&out, text);
    assert_string_equal(ch_buf_str(&out), value);
    assert_true(ch_mcp_header_decode(&back, ch_buf_sv(&out)));
    assert_true(ch_sv_eq(ch_buf_sv(&back), text));
}

static void test_header_values(void **state) {
    (void)state;
    assert_header(CH_SV("plain text"), "plain text");
    assert_header(CH_SV(" outer"), "=?base64?IG91dGVy?=");
    assert_header(CH_SV("outer "), "=?base64?b3V0ZXIg?=");
    assert_header(CH_SV("a\r\nInjected: yes"), "=?base64?YQ0KSW5qZWN0ZWQ6IHllcw==?=");
    assert_header(CH_SV("\xc3\xa4"), "=?base64?w6Q=?=");
    assert_header(CH_SV("=?base64?YQ==?="), "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
    assert_header(CH_SV(""), "=?base64?" "?=");
}

static void test_header_that_is_no_base64(void **state) {
    CH_BUF_AUTO out = {0};

    (void)state;
    /* without the closing mark a value is plain text */
    assert_true(ch_mcp_header_decode(&out, CH_SV("=?base64?YQ==")));
    assert_string_equal(ch_buf_str(&out), "=?base64?YQ==");
    assert_false(ch_mcp_header_decode(&out, CH_SV("=?base64?YQ=?=")));
    assert_false(ch_mcp_header_decode(&out, CH_SV("=?base64?Y Q=?=")));
}

static int check_schema(const char *text) {
    CH_ARENA_AUTO arena = {0};

    return ch_mcp_header_check(parse(&arena, text), NULL);
}

static void test_header_annotations(void **state) {
    (void)state;
    assert_int_equal(check_schema("{\"type\":\"object\"}"), 0);
    assert_int_equal(check_schema("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":"
                                  "\"A\"},\"b\":{\"type\":\"object\",\"properties\":{\"c\":{"
                                  "\"type\":\"integer\",\"x-mcp-header\":\"C\"}}}}}"), 0);
    static const char *const wrong[] = {
        "{\"properties\":{\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}}}",
        "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}}}",
        "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"a b\"}}}",
        "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":7}}}",
        "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},\"b\":{\"type\":"
        "\"string\",\"x-mcp-header\":\"a\"}}}",
        "{\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
        "\"x-mcp-header\":\"A\"}}}}",
        "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}]}",
        "{\"x-mcp-header\":\"A\"}",
    };
    for (size_t i = 0; i < CH_LEN(wrong); i++)
        assert_int_equal(check_schema(wrong[i]), CHELA_EPROTO);
}

static void assert_params(const char *schema, const char *arguments, const char *headers) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO out = {0};

    ch_mcp_header_params(&out, parse(&arena, schema), parse(&arena, arguments));
    assert_string_equal(ch_buf_str(&out), headers);
}

static void test_header_params(void **state) {
    static const char schema[] =
        "{\"properties\":{\"s\":{\"type\":\"string\",\"x-mcp-header\":\"S\"},"
        "\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"},"
        "\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"},"
        "\"o\":{\"type\":\"object\",\"properties\":{\"d\":{\"type\":\"string\","
        "\"x-mcp-header\":\"D\"}}}}}";

    (void)state;
    assert_params(schema, "{\"s\":\"x\\ny\",\"n\":7,\"b\":false,\"o\":{\"d\":\"deep\"}}",
                  "Mcp-Param-S: =?base64?eAp5?=\nMcp-Param-N: 7\nMcp-Param-B: false\n"
                  "Mcp-Param-D: deep\n");
    assert_params(schema, "{\"s\":null,\"n\":1.5,\"b\":[true],\"o\":7}", "");
    assert_params(schema, "{\"n\":9007199254740993}", "");
    assert_params(schema, "[]", "");
}

/* --- names and texts */

static void assert_alias(const char *tool, const char *alias) {
    CH_BUF_AUTO out = {0};

    ch_mcp_alias(&out, "s", ch_sv_str(tool), false);
    assert_string_equal(ch_buf_str(&out), alias);
}

static void test_aliases(void **state) {
    CH_BUF_AUTO a = {0};
    CH_BUF_AUTO b = {0};
    char longest[129];

    (void)state;
    assert_alias("plain_Name-1", "s__plain_Name-1");
    assert_alias("with.dot", "s__with_dot_ff994925");
    ch_mcp_alias(&a, "s", CH_SV("a.b"), false);
    ch_mcp_alias(&b, "s", CH_SV("a/b"), false);
    assert_string_not_equal(ch_buf_str(&a), ch_buf_str(&b));
    memset(longest, 'x', sizeof(longest));
    ch_buf_clear(&a);
    ch_mcp_alias(&a, "12345678901234567890123456789012", ch_sv(longest, 128), false);
    assert_int_equal(a.n, 64);
}

static void assert_clean(const char *text, const char *clean) {
    CH_BUF_AUTO out = {0};

    ch_mcp_clean(&out, ch_sv_str(text));
    assert_string_equal(ch_buf_str(&out), clean);
}

static void test_clean(void **state) {
    CH_BUF_AUTO many = {0};
    CH_BUF_AUTO out = {0};

    (void)state;
    assert_clean("two\nlines\tand a tab", "two\nlines\tand a tab");
    assert_clean("zero\xe2\x80\x8bwidth", "zerowidth");
    assert_clean("tag\xf3\xa0\x81\x81s", "tags");
    assert_clean("right\xe2\x80\xaeleft", "rightleft");
    assert_clean("esc\x1b[31mape", "esc[31mape");
    assert_clean("bad\xff", "bad\xef\xbf\xbd");
    for (size_t i = 0; i < CH_LIMIT_MCP_TEXT; i++)
        ch_buf_add_str(&many, "\xc3\xa4");
    ch_mcp_clean(&out, ch_buf_sv(&many));
    assert_int_equal(out.n, CH_LIMIT_MCP_TEXT);
}

/* --- defaults of a form */

static void assert_filled(const char *params, const char *answer, const char *filled) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO out = {0};

    ch_mcp_fill_defaults(&out, parse(&arena, params), parse(&arena, answer));
    assert_string_equal(ch_buf_str(&out), filled);
}

static void test_defaults(void **state) {
    static const char form[] = "{\"requestedSchema\":{\"properties\":{\"a\":{\"default\":1},"
                               "\"b\":{\"default\":\"x\"},\"c\":{}}}}";

    (void)state;
    assert_filled(form, "{\"action\":\"accept\",\"content\":{\"b\":\"mine\"}}",
                  "{\"action\":\"accept\",\"content\":{\"b\":\"mine\",\"a\":1}}");
    assert_filled(form, "{\"action\":\"accept\"}",
                  "{\"action\":\"accept\",\"content\":{\"a\":1,\"b\":\"x\"}}");
    assert_filled(form, "{\"action\":\"decline\"}", "{\"action\":\"decline\"}");
    assert_filled("{\"mode\":\"url\",\"url\":\"https://x/\"}", "{\"action\":\"accept\"}",
                  "{\"action\":\"accept\"}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_header_values),
        cmocka_unit_test(test_header_that_is_no_base64),
        cmocka_unit_test(test_header_annotations),
        cmocka_unit_test(test_header_params),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

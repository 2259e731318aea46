/* test_server_tools.c -- lists of the tools that the model's service runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the headers it needs */
#include <cmocka.h>

#include "agent/machine/server_tools.h"

static const struct {
    const char *text, *problem; /* problem: NULL, or words of the error */
} texts[] = {
    {"[]", NULL},
    {"[{\"type\":\"web_search\"}]", NULL},
    {"{\"anthropic\":[{}],\"openai\":[]}", NULL},
    {"{}", NULL},
    {"", "not valid JSON"},
    {"[", "not valid JSON"},
    {"[]x", "not valid JSON"},
    {"null", "must be a list"},
    {"7", "must be a list"},
    {"[{},7]", "a tool must be an object"},
    {"[{\"tools\":\"read,mcp_*\",\"allowed_callers\":[\"direct\"]}]", NULL},
    {"[{\"tools\":[\"read\"],\"allowed_callers\":[\"direct\"]}]", "tools must be names"},
    {"[{\"tools\":\"read\"}]", "tools must be names"},
    {"{\"openai\":{}}", "must be a list"},
    {"{\"openai\":[],\"anthropic\":[[]]}", "a tool must be an object"},
};

/* *out is written only on success. */
static void test_read(void **state) {
    (void)state;
    static const struct ch_json before;
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        struct ch_arena a = {0};
        struct chela_error err = {0};
        const struct ch_json *out = &before;
        int rc = ch_server_tools_read(&a, texts[i].text, &out, &err);
        if (rc != (texts[i].problem ? CHELA_ECONFIG : 0))
            fail_msg("row %zu: %d %s", i, rc, err.message);
        if (texts[i].problem && (out != &before || !strstr(err.message, texts[i].problem)))
            fail_msg("row %zu: %s: %s", i, out == &before ? "kept" : "written", err.message);
        if (!texts[i].problem && (out == &before || !out))
            fail_msg("row %zu: nothing was read", i);
        ch_arena_release(&a);
    }
}

static void test_none(void **state) {
    (void)state;
    struct ch_arena a = {0};
    static const struct ch_json before;
    const struct ch_json *out = &before;
    assert_int_equal(ch_server_tools_read(&a, NULL, &out, NULL), 0);
    assert_null(out);
    ch_arena_release(&a);
}

static const struct {
    const char *text, *provider, *api, *list;
} lists[] = {
    {NULL, "openai", "responses", ""},
    {"[]", "openai", "responses", ""},
    {"[{\"a\":1}]", "openai", "responses", "[{\"a\":1}]"},
    {"{\"openai\":[{\"a\":1}],\"responses\":[{\"b\":2}]}", "openai", "responses", "[{\"a\":1}]"},
    {"{\"openai\":[{\"a\":1}],\"responses\":[{\"b\":2}]}", "azure", "responses", "[{\"b\":2}]"},
    {"{\"openai\":[{\"a\":1}]}", "azure", "responses", ""},
    {"{\"openai\":[],\"responses\":[{\"b\":2}]}", "openai", "responses", ""},
    {"[{\"a\":1},{\"tools\":\"*\",\"allowed_callers\":[]}]", "openai", "responses", "[{\"a\":1}]"},
    {"[{\"tools\":\"*\",\"allowed_callers\":[]}]", "openai", "responses", ""},
};

/* The name of the provider comes before the name of the protocol. */
static void test_for(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(lists); i++) {
        struct ch_arena a = {0};
        const struct ch_json *tools = NULL;
        assert_int_equal(ch_server_tools_read(&a, lists[i].text, &tools, NULL), 0);
        struct ch_sv list = ch_server_tools_for(
            &a, ch_server_tools_list(tools, lists[i].provider, lists[i].api));
        if (!ch_sv_is(list, lists[i].list))
            fail_msg("row %zu: %.*s", i, (int)list.n, list.p);
        ch_arena_release(&a);
    }
}

static void test_callers(void **state) {
    static const char text[] = "[{\"type\":\"code\"},"
                               "{\"tools\":\"read,mcp_*\",\"allowed_callers\":[\"direct\",\"p\"]},"
                               "{\"tools\":\"*\",\"allowed_callers\":[\"p\"]}]";
    struct ch_arena a = {0};
    const struct ch_json *tools = NULL;
    (void)state;
    assert_int_equal(ch_server_tools_read(&a, text, &tools, NULL), 0);
    assert_true(ch_sv_is(ch_server_tools_callers(&a, tools, CH_SV("mcp_x")), "[\"direct\",\"p\"]"));
    assert_true(ch_sv_is(ch_server_tools_callers(&a, tools, CH_SV("write")), "[\"p\"]"));
    assert_true(ch_sv_is(ch_server_tools_callers(&a, NULL, CH_SV("write")), ""));
    ch_arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_for),
        cmocka_unit_test(test_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

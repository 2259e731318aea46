/* test_repair.c -- what is mended, and above all what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/json.h"

static bool parses(struct ch_sv text) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    return ch_json_parse(&a, text, CH_JSON_STRICT, &v, NULL, NULL) == 0;
}

static const struct {
    const char *in, *want;
} repaired[] = {
    /* raw control characters */
    {"{\"a\":\"x\ny\"}", "{\"a\":\"x\\ny\"}"},
    {"\"\t\r\n\"", "\"\\t\\r\\n\""},
    {"\"\b\f\x01\x1f\"", "\"\\u0008\\u000c\\u0001\\u001f\""},
    {"{\"a\nb\":1}", "{\"a\\nb\":1}"},
    /* escapes JSON does not have */
    {"\"it\\'s\"", "\"it's\""},
    {"\"\\`x\\`\"", "\"`x`\""},
    {"\"a\\ b\"", "\"a b\""},
    {"\"\\x41\\x7e\"", "\"A~\""},
    {"\"\\x22\\x5c\\x0a\\xe9\\x7f\"", "\"\\u0022\\u005c\\u000a\\u00e9\\u007f\""},
    {"\"\\x4\"", "\"\\\\x4\""},
    {"\"\\d+\\.\\w*\"", "\"\\\\d+\\\\.\\\\w*\""},
    {"\"\\033[0m\"", "\"\\\\033[0m\""},
    {"\"C:\\Users\\me\"", "\"C:\\\\Users\\\\me\""},
    {"\"\\u12\"", "\"\\\\u12\""},
    {"\"\\uzzzz\"", "\"\\\\uzzzz\""},
    {"\"\\ud83d\"", "\"\\ufffd\""},
    {"\"\\ude00 x\"", "\"\\ufffd x\""},
    {"\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\""},
    {"\"a\\\nb\"", "\"a\\\\\\nb\""},
    {"\"\\\xe4\xbd\xa0\"", "\"\\\\\xe4\xbd\xa0\""},
    /* trailing commas */
    {"[1,]", "[1]"},
    {"[1 , ]", "[1  ]"},
    {"{\"a\":1,}", "{\"a\":1}"},
    {"{\"a\":[1,\n],\n}", "{\"a\":[1\n]\n}"},
    {"[[1,],]", "[[1]]"},
    {"[\"a\",]", "[\"a\"]"},
    {"[{},]", "[{}]"},
    {"[true,]", "[true]"},
    /* all at once */
    {"{\"re\":\"\\d\n\",\"l\":[1,],}", "{\"re\":\"\\\\d\\n\",\"l\":[1]}"},
};

static const char *const untouched[] = {
    "",
    "{}",
    "[1,2]",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\ud83d\\ude00\"",
    "\",]\"",
    "\",}\"",
    "{\"a,}\":\",]\"}",
    "[\"\\\\\",\"\\\"\"]",
    " [ 1 , 2 ] ",
    /* wrong in a way that is not ours to mend */
    "[,]",
    "[1,,]",
    "{,}",
    "[,1]",
    "{\"a\":,}",
    "{'a':1}",
    "{a:1}",
    "nope",
    ",]",
    "[1 2]",
};

/* Cut off: refused before and after. */
static const char *const truncated[] = {
    "{",         "[1",           "[1,",        "{\"a\":1,", "\"abc",     "\"abc\\",
    "\"abc\\\"", "\"abc\\x4",    "\"abc\\u00", "\"abc\n",   "\"a\\'",    "{\"a\":\"x\ny",
    "[\"a\\ ",   "{\"a\":[1,],", "[1,] ,",     "\"\\",      "\"\\ud83d", "[1,",
};

static void test_repaired(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(repaired); i++) {
        CH_BUF_AUTO out = {0};
        CH_BUF_AUTO again = {0};
        assert_true(ch_json_repair(ch_sv_str(repaired[i].in), &out));
        assert_string_equal(ch_buf_str(&out), repaired[i].want);
        assert_false(parses(ch_sv_str(repaired[i].in)));
        assert_true(parses(ch_buf_sv(&out)));
        assert_false(ch_json_repair(ch_buf_sv(&out), &again));
    }
}

static void test_untouched(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(untouched); i++) {
        CH_BUF_AUTO out = {0};
        ch_buf_add_str(&out, "before");
        assert_false(ch_json_repair(ch_sv_str(untouched[i]), &out));
        assert_string_equal(ch_buf_str(&out), "before");
    }
    CH_BUF_AUTO out = {0};
    assert_false(ch_json_repair(ch_sv(NULL, 0), &out));
}

static void test_truncated(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(truncated); i++) {
        CH_BUF_AUTO out = {0};
        ch_json_repair(ch_sv_str(truncated[i]), &out);
        assert_false(parses(ch_sv_str(truncated[i])));
        assert_false(parses(ch_buf_sv(&out)));
    }
}

/* No prefix of a repairable text may become whole by repair. */
static void test_every_prefix(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(repaired); i++)
        for (size_t cut = 0; cut < strlen(repaired[i].in); cut++) {
            CH_BUF_AUTO out = {0};
            CH_AUTOFREE char *copy = ch_memdup(repaired[i].in, cut);
            ch_json_repair(ch_sv(copy, cut), &out);
            assert_false(parses(ch_buf_sv(&out)));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repaired),
        cmocka_unit_test(test_untouched),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_every_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_get.c -- one value of a JSON text by pointer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "chela/json.h"

static const char text[] = "{\"a\":[10,{\"b\":\"x\\ny\"},true],\"\":null,\"m~n\":1.50,\"a/b\":\"\","
                           "\"~1\":7,\"o\":{\"k\": [ 1 ] }}";

static const struct {
    const char *json, *pointer, *want; /* want NULL: no such value */
} cases[] = {
    {"[1, 2]", "", "[1,2]"},      {"\"s\"", "", "s"},
    {text, "/a/0", "10"},         {text, "/a/1/b", "x\ny"},
    {text, "/a/2", "true"},       {text, "/a/1", "{\"b\":\"x\\ny\"}"},
    {text, "/", "null"},          {text, "/m~0n", "1.50"},
    {text, "/a~1b", ""},          {text, "/~01", "7"},
    {text, "/o", "{\"k\":[1]}"},  {text, "/a/3", NULL},
    {text, "/a/-", NULL},         {text, "/a/01", NULL},
    {text, "/a/", NULL},          {text, "/a/99999999999999999999", NULL},
    {text, "/a/0/b", NULL},       {text, "/nope", NULL},
    {text, "/nope/deeper", NULL}, {text, "a", NULL},
    {"{\"a\":", "/a", NULL},      {"", "", NULL},
};

static void test_table(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        size_t len = 12345;
        char *got = chela_json_get(cases[i].json, strlen(cases[i].json), cases[i].pointer, &len);
        if (!got != !cases[i].want || (got && strcmp(got, cases[i].want) != 0))
            fail_msg("%s: got '%s', want '%s'", cases[i].pointer, got ? got : "(none)",
                     cases[i].want ? cases[i].want : "(none)");
        assert_int_equal(len, got ? strlen(got) : 12345);
        ch_free(got);
    }
}

static void test_nul_inside(void **state) {
    (void)state;
    size_t len;
    char *got = chela_json_get("\"a\\u0000b\"", 10, "", &len);
    assert_int_equal(len, 3);
    assert_memory_equal(got, "a\0b", 4);
    ch_free(got);
}

/* Puts each element between bars, and stops at "stop". */
static int see_element(const char *element, size_t len, void *user) {
    strncat(user, element, len);
    strcat(user, "|");
    return len == 6 && memcmp(element, "\"stop\"", 6) == 0 ? 7 : 0;
}

static void test_each(void **state) {
    static const struct {
        const char *json, *seen;
        int want;
    } rows[] = {
        {"[]", "", 0},
        {" [ 1 , {\"a\": [2]} ,\"x\\n\", null ] ", "1|{\"a\": [2]}|\"x\\n\"|null|", 0},
        {"[1,\"stop\",2]", "1|\"stop\"|", 7},
        {"{\"a\":1}", "", CHELA_EPARSE},
        {"", "", CHELA_EPARSE},
        {"[1,2", "1|2|", CHELA_EPARSE},
        {"[1] x", "1|", CHELA_EPARSE},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        char seen[100] = "";
        int rc = chela_json_each(rows[i].json, strlen(rows[i].json), see_element, seen);
        if (rc != rows[i].want || strcmp(seen, rows[i].seen) != 0)
            fail_msg("%s: got %d and '%s'", rows[i].json, rc, seen);
    }
}

/* Each value is the one that chela_json_get returns. */
static void test_get_all(void **state) {
    static const char *const texts[] = {"{\"a\":1,\"b\":[null,\"x\"],\"\":{}}", "[\"a\"]", "\"a\"",
                                        "{\"a\":1", ""};
    static const char *const pointers[] = {"/a", "/b/1", "/b/2", "", "/", "/b", "a", "/0", "/a"};
    char *values[CH_LEN(pointers)];
    (void)state;
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        size_t n = strlen(texts[i]);
        memset(values, 1, sizeof(values));
        chela_json_get_all(texts[i], n, pointers, values, CH_LEN(pointers));
        for (size_t k = 0; k < CH_LEN(pointers); k++) {
            char *want = chela_json_get(texts[i], n, pointers[k], NULL);
            if (!want != !values[k] || (want && strcmp(want, values[k]) != 0))
                fail_msg("%s at '%s'", texts[i], pointers[k]);
            ch_free(want);
            ch_free(values[k]);
        }
    }
    chela_json_get_all("{}", 2, NULL, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_nul_inside),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_get_all),
    };
    return cmocka_run_group_tests_name("json/get", tests, NULL, NULL);
}

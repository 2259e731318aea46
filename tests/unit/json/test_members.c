/* test_members.c -- members of an object into a struct, by a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/members.h"

struct thing {
    struct ch_sv text, any, object, array, loose, inner, both;
    int64_t n;
    bool yes, some;
};

static const struct ch_member inner[] = {
    CH_MEMBER(struct thing, inner, "text", CH_MEMBER_STR),
};
static const struct ch_member rows[] = {
    CH_MEMBER(struct thing, text, "text", CH_MEMBER_STR),
    CH_MEMBER(struct thing, n, "n", CH_MEMBER_INT),
    CH_MEMBER(struct thing, yes, "yes", CH_MEMBER_BOOL),
    CH_MEMBER(struct thing, any, "any", CH_MEMBER_RAW),
    CH_MEMBER(struct thing, object, "object", CH_MEMBER_OBJECT),
    CH_MEMBER(struct thing, array, "array", CH_MEMBER_ARRAY),
    CH_MEMBER(struct thing, loose, "loose", CH_MEMBER_TEXT),
    CH_MEMBER(struct thing, some, "some", CH_MEMBER_SOME),
    CH_MEMBERS_IN("in", inner),
    CH_MEMBERS_RAW_IN(struct thing, both, "both", inner),
};

static bool read_thing(const char *json, struct ch_buf *scratch, struct thing *out) {
    *out = (struct thing){.n = -1};
    return ch_members_read(ch_sv_str(json), scratch, rows, CH_LEN(rows), out);
}

static void test_fields(void **state CH_UNUSED) {
    CH_BUF_AUTO scratch = {0};
    struct thing t;
    assert_true(read_thing("{\"in\":{\"x\":[],\"text\":\"deep\"},\"other\":{\"text\":\"no\"},"
                           "\"any\":[1, 2],\"n\":7,\"yes\":true,\"text\":\"a\\nb\","
                           "\"object\":{},\"array\":[0],\"loose\":{\"a\":1},\"some\":0}",
                           &scratch, &t));
    assert_true(ch_sv_is(t.text, "a\nb"));
    assert_true(ch_sv_is(t.inner, "deep"));
    assert_true(ch_sv_is(t.any, "[1, 2]"));
    assert_true(ch_sv_is(t.object, "{}"));
    assert_true(ch_sv_is(t.array, "[0]"));
    assert_true(ch_sv_is(t.loose, "{\"a\":1}"));
    assert_int_equal(t.n, 7);
    assert_true(t.yes && t.some);
}

/* Other types, nulls and strangers leave a field as it was. */
static void test_other_types(void **state CH_UNUSED) {
    static const char *const texts[] = {
        "{}",
        "[]",
        "\"text\"",
        "{\"text\":1,\"n\":\"1\",\"yes\":null,\"object\":[],\"array\":{},\"in\":[],\"some\":null}",
        "{\"Text\":\"x\",\"loose\":5,\"in\":{\"text\":{}}}",
    };
    CH_BUF_AUTO scratch = {0};
    struct thing t;
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        assert_true(read_thing(texts[i], &scratch, &t));
        assert_false(t.text.p || t.any.p || t.object.p || t.array.p || t.loose.p || t.inner.p);
        assert_false(t.yes || t.some);
        assert_int_equal(t.n, -1);
    }
}

static void test_last_counts(void **state CH_UNUSED) {
    CH_BUF_AUTO scratch = {0};
    struct thing t;
    assert_true(read_thing("{\"n\":1,\"n\":2,\"n\":\"3\"}", &scratch, &t));
    assert_int_equal(t.n, 2);
}

static void test_not_json(void **state CH_UNUSED) {
    static const char *const texts[] = {"", "{", "{\"n\":1", "{\"n\":1}}", "{\"in\":{\"text\":}}"};
    CH_BUF_AUTO scratch = {0};
    struct thing t;
    for (size_t i = 0; i < CH_LEN(texts); i++)
        assert_false(read_thing(texts[i], &scratch, &t));
}

/* The members of an object and its source text; of other values the text alone. */
static void test_raw_and_members(void **state CH_UNUSED) {
    static const struct {
        const char *json, *both, *inner;
    } cases[] = {
        {"{\"both\": {\"x\":[{}], \"text\":\"a\\tb\" } ,\"n\":1}",
         "{\"x\":[{}], \"text\":\"a\\tb\" }", "a\tb"},
        {"{\"both\":{}}", "{}", ""},
        {"{\"both\": [{\"text\":\"no\"}] }", "[{\"text\":\"no\"}]", ""},
        {"{\"both\":null}", "null", ""},
        {"{\"text\":\"no\"}", "", ""},
    };
    CH_BUF_AUTO scratch = {0};
    struct thing t;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        assert_true(read_thing(cases[i].json, &scratch, &t));
        assert_true(ch_sv_is(t.both, cases[i].both));
        assert_true(ch_sv_is(t.inner, cases[i].inner));
    }
    assert_false(read_thing("{\"both\":{\"text\":\"a\"", &scratch, &t));
    assert_int_equal(t.both.n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_last_counts),
        cmocka_unit_test(test_raw_and_members),
        cmocka_unit_test(test_not_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

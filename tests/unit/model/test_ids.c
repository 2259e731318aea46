/* test_ids.c -- ids and names as vendors take them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/message/ids.h"

static const char long_id[] =
    "0123456789012345678901234567890123456789012345678901234567890123456789";

static void test_kept(void **state) {
    (void)state;
    static const struct {
        enum ch_id_rule rule;
        const char *id;
    } cases[] = {
        {CH_ID_64, "toolu_01NbP3iG8A6TYDwEUxN6tiWw"},
        {CH_ID_64, "chatcmpl-tool-110e54e033b14f4da0cc49b633141568"},
        {CH_ID_40, "call_vbjItaL3xe3uYPY1PIVhmBcs"},
        {CH_ID_40, "functions.weather:0"},
        {CH_ID_9, "aB3dE6gH9"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        char buf[CH_ID_ROOM];
        struct ch_sv got = ch_id_for(cases[i].rule, ch_sv_str(cases[i].id), buf);
        assert_ptr_equal(got.p, cases[i].id);
    }
}

static bool is_allowed(enum ch_id_rule rule, struct ch_sv s) {
    static const size_t max[] = {64, 40, 9};
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && (rule == CH_ID_9 || (c != '_' && c != '-')))
            return false;
    }
    return s.n > 0 && s.n <= max[rule] && (rule != CH_ID_9 || s.n == 9);
}

/* Replacements fit, are the same each time, and differ where the ids do. */
static void test_replaced(void **state) {
    (void)state;
    static const char *const ids[] = {"",          "a b",      "a/b",         "a.b",
                                      "ü",         "toolu.1",  "toolu 1",     long_id,
                                      long_id + 1, "call_1\n", "aB3dE6gH\xff"};
    for (int rule = CH_ID_64; rule <= CH_ID_9; rule++)
        for (size_t i = 0; i < CH_LEN(ids); i++) {
            char a[CH_ID_ROOM], b[CH_ID_ROOM];
            struct ch_sv one = ch_id_for(rule, ch_sv_str(ids[i]), a);
            if (one.p == ids[i])
                continue; /* fits as it is */
            if (!is_allowed(rule, one))
                fail_msg("%s became %.*s", ids[i], CH_SV_FMT(one));
            for (size_t k = 0; k < CH_LEN(ids); k++) {
                struct ch_sv other = ch_id_for(rule, ch_sv_str(ids[k]), b);
                assert_int_equal(ch_sv_eq(one, other), i == k);
            }
        }
}

static void test_names(void **state) {
    (void)state;
    char buf[CH_NAME_ROOM];
    assert_true(ch_sv_is(ch_name_for(64, CH_SV("get_weather-2"), buf), "get_weather-2"));
    assert_true(ch_sv_is(ch_name_for(64, CH_SV("a.b c"), buf), "a_b_c"));
    assert_true(ch_sv_is(ch_name_for(64, CH_SV(""), buf), "unknown"));
    assert_int_equal(ch_name_for(64, ch_sv_str(long_id), buf).n, 64);
    assert_int_equal(ch_name_for(CH_NAME_ROOM, ch_sv_str(long_id), buf).n, 70);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_number.c -- exact questions about numbers, however they are spelt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "json/json.h"
#include "json/number.h"

static const struct ch_json *read_text(struct ch_arena *a, const char *text) {
    const struct ch_json *v = NULL;
    if (ch_json_parse(a, ch_sv_str(text), CH_JSON_STRICT, &v, NULL, NULL) < 0)
        fail_msg("refused: %s", text);
    return v;
}

static const struct {
    const char *number, *of;
    bool multiple;
} pairs[] = {
    {"0", "7", true},
    {"-0.0", "0.1", true},
    {"9", "3", true},
    {"-9", "3", true},
    {"10", "3", false},
    {"1e1", "5", true},
    {"1e400", "7", false},
    {"7e400", "7", true},
    {"1e400", "2", true},
    {"1e400", "1024", true},
    {"1e9", "1024", false},
    {"1e10", "1024", true},
    {"1e99999999999999999999", "3", false},
    {"1e99999999999999999999", "64", true},
    {"1e-99999999999999999999", "1", false},
    {"0.3", "0.1", true},
    {"0.35", "0.1", false},
    {"4.02", "0.01", true},
    {"1.1", "0.11", true},
    {"100", "1e2", true},
    {"50", "1e2", false},
    {"1.50", "0.5", true},
    {"1e-7", "1e-8", true},
    {"1e-8", "1e-7", false},
    {"340282366920938463463374607431768211456", "2", true},
    {"340282366920938463463374607431768211457", "2", false},
    {"36472996377170786403", "6", false},
    {"36472996377170786403", "3", true},
    {"2469135780246913578024691357802469134", "1234567890123456789012345678901234567", true},
    {"2469135780246913578024691357802469135", "1234567890123456789012345678901234567", false},
    {"12391239123", "1e-8", true},
    {"0.0075", "0.0001", true},
    {"0.00751", "0.0001", false},
};

static void test_multiples(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(pairs); i++) {
        CH_ARENA_AUTO a = {0};
        const struct ch_json *of = read_text(&a, pairs[i].of);
        assert_true(ch_number_can_divide(of));
        if (ch_number_is_multiple(read_text(&a, pairs[i].number), of) != pairs[i].multiple)
            fail_msg("%s by %s", pairs[i].number, pairs[i].of);
    }
}

static void test_divisors(void **state) {
    (void)state;
    static const char *const none[] = {"0", "-1", "0.0e9", "1e1234567890",
                                       "12345678901234567890123456789012345678"};
    for (size_t i = 0; i < CH_LEN(none); i++) {
        CH_ARENA_AUTO a = {0};
        if (ch_number_can_divide(read_text(&a, none[i])))
            fail_msg("%s", none[i]);
    }
}

static void test_integers(void **state) {
    (void)state;
    static const char *const whole[] = {"0", "-0.0", "1.0", "1.5e1", "1e400", "10e-1", "0e-99"};
    static const char *const broken[] = {"0.5", "1.5", "15e-1", "1e-400", "1.00000000000000000001"};
    for (size_t i = 0; i < CH_LEN(whole); i++) {
        CH_ARENA_AUTO a = {0};
        if (!ch_number_is_integer(read_text(&a, whole[i])))
            fail_msg("%s", whole[i]);
    }
    for (size_t i = 0; i < CH_LEN(broken); i++) {
        CH_ARENA_AUTO a = {0};
        if (ch_number_is_integer(read_text(&a, broken[i])))
            fail_msg("%s", broken[i]);
    }
}

/* Equal numbers have one hash; these others happen to differ. */
static void test_hashes(void **state) {
    (void)state;
    static const char *const equal[][2] = {
        {"1", "1.0"},      {"1", "10e-1"},
        {"100", "1e2"},    {"0", "-0"},
        {"0.05", "5e-2"},  {"1e99999999999", "0.1e100000000000"},
        {"-12", "-1.2e1"}, {"1e99999999999999999999", "10e99999999999999999998"},
    };
    static const char *const different[] = {"1", "10", "-1", "2", "0.1", "12", "21"};
    CH_ARENA_AUTO a = {0};
    for (size_t i = 0; i < CH_LEN(equal); i++)
        if (ch_number_hash(read_text(&a, equal[i][0])) !=
            ch_number_hash(read_text(&a, equal[i][1])))
            fail_msg("%s and %s", equal[i][0], equal[i][1]);
    for (size_t i = 0; i < CH_LEN(different); i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(ch_number_hash(read_text(&a, different[i])),
                                 ch_number_hash(read_text(&a, different[k])));
}

static void test_short(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    int64_t n;
    assert_true(ch_number_short(read_text(&a, "-123"), &n));
    assert_int_equal(n, -123);
    assert_true(ch_number_short(read_text(&a, "123456789012345678"), &n));
    assert_int_equal(n, INT64_C(123456789012345678));
    assert_false(ch_number_short(read_text(&a, "1234567890123456789"), &n));
    assert_false(ch_number_short(read_text(&a, "1.0"), &n));
    assert_false(ch_number_short(read_text(&a, "1e2"), &n));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multiples), cmocka_unit_test(test_divisors),
        cmocka_unit_test(test_integers),  cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_short),
    };
    return cmocka_run_group_tests_name("json/number", tests, NULL, NULL);
}

/* test_sv.c -- string views, empty and NULL ones included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/sv.h"

static void test_comparing(void **state) {
    (void)state;
    struct ch_sv none = {NULL, 0};
    assert_true(ch_sv_eq(none, CH_SV("")));
    assert_true(ch_sv_is(none, ""));
    assert_true(ch_sv_is(none, NULL));
    assert_true(ch_sv_starts(none, ""));
    assert_false(ch_sv_starts(none, "a"));
    assert_true(ch_sv_is(CH_SV("abc"), "abc"));
    assert_false(ch_sv_is(CH_SV("abc"), "abd"));
    assert_false(ch_sv_is(CH_SV("abc"), "ab"));
    assert_false(ch_sv_is(CH_SV("a\0c"), "a"));
    assert_true(ch_sv_starts(CH_SV("abc"), "ab"));
    assert_false(ch_sv_starts(CH_SV("ab"), "abc"));
    assert_true(ch_sv_eq_nocase(CH_SV("Content-Type"), CH_SV("content-tYPE")));
    assert_false(ch_sv_eq_nocase(CH_SV("["), CH_SV("{"))); /* differ by 32 */
    assert_true(ch_sv_contains_nocase(CH_SV("text/Event-Stream; x"), "event-stream"));
    assert_true(ch_sv_contains_nocase(CH_SV("abc"), ""));
    assert_false(ch_sv_contains_nocase(CH_SV("ab"), "abc"));
}

static void test_trim(void **state) {
    (void)state;
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"", ""}, {"a", "a"}, {" \t\r\n\v\fa b\n ", "a b"}, {"   ", ""}, {"a ", "a"}, {" a", "a"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        assert_true(ch_sv_is(ch_sv_trim(ch_sv_str(cases[i].in)), cases[i].want));
}

static void test_split(void **state) {
    (void)state;
    static const struct {
        const char *in, *want[4];
    } cases[] = {
        {"a,b,c", {"a", "b", "c"}}, {"a", {"a"}},      {",", {"", ""}},
        {"a,", {"a", ""}},          {",a", {"", "a"}},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_sv rest = ch_sv_str(cases[i].in);
        size_t k = 0;
        while (rest.p && cases[i].want[k])
            assert_true(ch_sv_is(ch_sv_split(&rest, ','), cases[i].want[k++]));
        assert_null(rest.p);
        assert_null(cases[i].want[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparing),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

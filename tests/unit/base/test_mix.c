/* test_mix.c -- the hash is the same everywhere, and every byte and the length matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mix.h"

static void test_known_values(void **state) {
    (void)state;
    assert_true(ch_mix_text(0, ch_sv("", 0)) == ch_mix(0, 0));
    assert_true(ch_mix_text(7, ch_sv("abc", 3)) == ch_mix(7, UINT64_C(0x0300000000636261)));
    assert_true(ch_mix_text(0, ch_sv("eight by", 8)) ==
                ch_mix(ch_mix(0, UINT64_C(0x7962207468676965)), 0));
    assert_true(ch_mix(1, 2) == UINT64_C(0xe7d92ae6c635060f));
}

static void test_each_byte_matters(void **state) {
    char text[20] = {0};
    (void)state;
    for (size_t n = 0; n <= sizeof(text); n++) {
        uint64_t before = ch_mix_text(1, ch_sv(text, n));
        assert_true(n == sizeof(text) || before != ch_mix_text(1, ch_sv(text, n + 1)));
        for (size_t i = 0; i < n; i++) {
            text[i] = 1;
            assert_true(ch_mix_text(1, ch_sv(text, n)) != before);
            text[i] = 0;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_each_byte_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_checksum.c -- known values of XXH32. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/checksum.h"
#include "base/mem.h"

static void test_known_values(void **state) {
    static const struct {
        const char *text;
        uint32_t want;
    } cases[] = {
        {"", 0x02cc5d05},
        {"a", 0x550d7456},
        {"abc", 0x32d153ff},
        {"Nobody inspects the spammish repetition", 0xe2293b2f},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        assert_int_equal(ch_checksum(0, cases[i].text, strlen(cases[i].text)), cases[i].want);
}

static void test_one_bit_matters(void **state) {
    char text[100] = {0};
    (void)state;
    uint32_t before = ch_checksum(0, text, sizeof(text));
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = 1;
        assert_int_not_equal(ch_checksum(0, text, sizeof(text)), before);
        text[i] = 0;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_one_bit_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_crc32.c -- known sums, every length around a step, and any cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/crc32.h"
#include "base/mem.h"

static void test_known(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t crc;
    } cases[] = {
        {"", 0},
        {"a", 0xe8b7be43},
        {"abc", 0x352441c2},
        {"123456789", 0xcbf43926},
        {"The quick brown fox jumps over the lazy dog", 0x414fa339},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        assert_int_equal(ch_crc32(0, cases[i].text, strlen(cases[i].text)), cases[i].crc);
}

/* A bit at a time, as the definition has it. */
static uint32_t plainly(const unsigned char *p, size_t n) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? 0xedb88320 ^ crc >> 1 : crc >> 1;
    }
    return ~crc;
}

static void test_against_the_definition(void **state) {
    (void)state;
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * i * 31 + i / 7);
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; n <= sizeof(bytes) - from; n++)
            assert_int_equal(ch_crc32(0, bytes + from, n), plainly(bytes + from, n));
    for (size_t cut = 0; cut <= sizeof(bytes); cut++)
        assert_int_equal(ch_crc32(ch_crc32(0, bytes, cut), bytes + cut, sizeof(bytes) - cut),
                         plainly(bytes, sizeof(bytes)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_against_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

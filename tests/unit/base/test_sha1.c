/* test_sha1.c -- the standard's examples, and lengths around a block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/mem.h"
#include "base/sha1.h"

static void test_known(void **state) {
    (void)state;
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
        {"0123456789012345678901234567890123456789012345678901234",
         "9f3a4ce7f66b1b74c34da2c5d732c39f81e0f8df"},
        {"01234567890123456789012345678901234567890123456789012345678901234567",
         "dddd45743100560058ac6ca752ef6ff4c379772a"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        unsigned char out[CH_SHA1_SIZE];
        char hex[2 * CH_SHA1_SIZE + 1];
        ch_sha1(ch_sv_str(cases[i].text), out);
        for (size_t k = 0; k < sizeof(out); k++)
            snprintf(hex + 2 * k, 3, "%02x", out[k]);
        assert_string_equal(hex, cases[i].hex);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_chars.c -- the table of character classes against the definitions of the classes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/chars.h"

static bool is_alnum(int c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void test_classes(void **state) {
    (void)state;
    for (int c = 0; c < 256; c++) {
        bool sign = c && strchr("!#$%&'*+-.^_`|~", c);
        assert_int_equal(ch_char_is((char)c, CH_CHAR_ALNUM), is_alnum(c));
        assert_int_equal(ch_char_is((char)c, CH_CHAR_WORD), is_alnum(c) || c == '_');
        assert_int_equal(ch_char_is((char)c, CH_CHAR_DASH | CH_CHAR_DOT), c == '-' || c == '.');
        assert_int_equal(ch_char_is((char)c, CH_CHAR_TOKEN), is_alnum(c) || sign);
        assert_int_equal(ch_char_is((char)c, CH_CHAR_VISIBLE), c > ' ' && c < 0x7f);
        assert_int_equal(ch_char_is((char)c, CH_CHAR_TEXT), c == '\t' || (c >= ' ' && c != 0x7f));
    }
}

static void test_run(void **state) {
    (void)state;
    assert_int_equal(ch_char_run(CH_SV(""), CH_CHAR_WORD), 0);
    assert_int_equal(ch_char_run(CH_SV("ab_9-x"), CH_CHAR_WORD), 4);
    assert_int_equal(ch_char_run(CH_SV("ab_9-x"), CH_CHAR_WORD | CH_CHAR_DASH), 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_wild.c -- patterns over short texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/wild.h"

static const struct {
    const char *pattern, *text;
    bool match;
} cases[] = {
    {"", "", true},
    {"", "a", false},
    {"a", "", false},
    {"*", "", true},
    {"*", "anything", true},
    {"?", "", false},
    {"?", "a", true},
    {"a?c", "abc", true},
    {"a?c", "ac", false},
    {"*@example.com", "bob@example.com", true},
    {"*@example.com", "bob@example.com.evil", false},
    {"a*b*c", "a-b-b-c", true},
    {"a*b*c", "a-c-b", false},
    {"**", "x", true},
    {"ABC", "abc", false},
    {"a[b]", "a[b]", true},
    {"a[b]", "ab", false},
    {"\\*", "*", true},
    {"\\*", "x", false},
    {"*\\?", "what?", true},
    {"*\\?", "what", false},
    {"a\\", "a\\", true},
};

static void test_table(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (ch_wild(ch_sv_str(cases[i].pattern), ch_sv_str(cases[i].text)) != cases[i].match)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_said.c -- which addresses stand word for word in a text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/run/said.h"
#include "base/mem.h"

static void test_only_a_whole_address_counts_as_said(void **state) {
    static const struct {
        const char *text, *url;
        bool said;
    } rows[] = {
        {"read https://a.example/x now", "https://a.example/x", true},
        {"https://a.example/x", "https://a.example/x", true},
        {"see https://a.example/x.", "https://a.example/x", true},
        {"(https://a.example/x)", "https://a.example/x", true},
        {"[x](https://a.example/x)", "https://a.example/x", true},
        {"look at a.example", "https://a.example/", true},
        {"look at a.example/", "https://a.example", true},
        {"look at a.example.", "http://a.example/", true},
        {"https://a.example/x", "https://a.example/x#part", true},
        {"https://a.example/xy", "https://a.example/x", false},
        {"https://a.example/x", "https://a.example/xy", false},
        {"https://a.example/x?y=1", "https://a.example/x", false},
        {"https://a.example/x", "https://a.example/x?y=1", false},
        {"https://a.example/x/y", "https://a.example/x", false},
        {"https://b.a.example/", "https://a.example/", false},
        {"https://evil.example/a.example", "https://a.example/", false},
        {"user@a.example", "https://a.example/", false},
        {"http://a.example/x", "https://a.example/x", false},
        {"https://a.example/x", "http://a.example/x", false},
        {"https://a.example:81/", "https://a.example/", false},
        {"", "https://a.example/", false},
        {"https://", "https:///", false},
        {"xa.example a.example", "https://a.example/", true},
        {"ftp://a.example", "ftp://a.example", false},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++)
        if (ch_said_in(ch_sv_str(rows[i].text), ch_sv_str(rows[i].url)) != rows[i].said)
            fail_msg("'%s' in '%s'", rows[i].url, rows[i].text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_whole_address_counts_as_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_join.c -- what pages really contain, made a URL. References as such: base/test_uri.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/join.h"
#include "net/url.h"

static const struct {
    const char *base, *ref, *want;
} cases[] = {
    {"http://a/b/c/d;p?q", "../g", "http://a/b/g"}, /* as base/uri.h resolves it */

    {"https://a/x", " \n /y \t", "https://a/y"},
    {"https://a/x", "/a\nb\tc", "https://a/abc"},
    {"https://a/x", "/a b", "https://a/a%20b"},
    {"https://a/x", "/\xe4\xbd\xa0?q=\xe5\xa5\xbd", "https://a/%E4%BD%A0?q=%E5%A5%BD"},
    {"https://a/x", "/\\evil.example/", "https://a/%5Cevil.example/"},
    {"https://a/x", "\\\\evil.example/", "https://a/%5C%5Cevil.example/"},
    {"https://a/x", "/%41%2f", "https://a/%41%2f"},
    {"https://a/x", "//b@c/", "https://b@c/"},
    {"", "http://b/y", "http://b/y"},
    {"", "y", "y"},
};

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO got = {0};
        ch_url_join(&got, ch_sv_str(cases[i].base), ch_sv_str(cases[i].ref));
        if (strcmp(ch_buf_str(&got), cases[i].want) != 0)
            fail_msg("%s at %s: %s", cases[i].ref, cases[i].base, ch_buf_str(&got));
    }
}

/* NUL bytes and every other byte are encoded, so that no result has any that a
 * URL cannot have. */
static void test_every_byte(void **state) {
    (void)state;
    for (int c = 0; c < 256; c++) {
        char ref[] = {'/', 'a', (char)c, 'b', '\0'};
        CH_BUF_AUTO got = {0};
        struct ch_url url;
        ch_url_join(&got, CH_SV("https://host/x"), ch_sv(ref, 4));
        assert_int_equal(ch_url_parse(ch_buf_sv(&got), &url, NULL), 0);
        assert_true(ch_sv_is(url.host, "host"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_join.c -- references on a page: the examples of RFC 3986, section 5.4,
 * and what pages really contain. */
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
    {"http://a/b/c/d;p?q", "g:h", "g:h"},
    {"http://a/b/c/d;p?q", "g", "http://a/b/c/g"},
    {"http://a/b/c/d;p?q", "./g", "http://a/b/c/g"},
    {"http://a/b/c/d;p?q", "g/", "http://a/b/c/g/"},
    {"http://a/b/c/d;p?q", "/g", "http://a/g"},
    {"http://a/b/c/d;p?q", "//g", "http://g"},
    {"http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"},
    {"http://a/b/c/d;p?q", "g?y", "http://a/b/c/g?y"},
    {"http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q#s"},
    {"http://a/b/c/d;p?q", "g#s", "http://a/b/c/g#s"},
    {"http://a/b/c/d;p?q", "g?y#s", "http://a/b/c/g?y#s"},
    {"http://a/b/c/d;p?q", ";x", "http://a/b/c/;x"},
    {"http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q"},
    {"http://a/b/c/d;p?q", ".", "http://a/b/c/"},
    {"http://a/b/c/d;p?q", "./", "http://a/b/c/"},
    {"http://a/b/c/d;p?q", "..", "http://a/b/"},
    {"http://a/b/c/d;p?q", "../g", "http://a/b/g"},
    {"http://a/b/c/d;p?q", "../..", "http://a/"},
    {"http://a/b/c/d;p?q", "../../g", "http://a/g"},
    {"http://a/b/c/d;p?q", "../../../g", "http://a/g"},
    {"http://a/b/c/d;p?q", "/./g", "http://a/g"},
    {"http://a/b/c/d;p?q", "/../g", "http://a/g"},
    {"http://a/b/c/d;p?q", "g.", "http://a/b/c/g."},
    {"http://a/b/c/d;p?q", "..g", "http://a/b/c/..g"},
    {"http://a/b/c/d;p?q", "./../g", "http://a/b/g"},
    {"http://a/b/c/d;p?q", "g/./h", "http://a/b/c/g/h"},
    {"http://a/b/c/d;p?q", "g/../h", "http://a/b/c/h"},
    {"http://a/b/c/d;p?q", "g?y/../x", "http://a/b/c/g?y/../x"},
    {"http://a/b/c/d;p?q", "g#s/../x", "http://a/b/c/g#s/../x"},

    {"https://a", "g", "https://a/g"},
    {"https://a?q", "g", "https://a/g"},
    {"https://a", "/", "https://a/"},
    {"https://a:8443/x", "y", "https://a:8443/y"},
    {"https://a/x", "http://b/y", "http://b/y"},
    {"https://a/x", "HTTP://b/y", "HTTP://b/y"},
    {"https://a/x", "javascript:alert(1)", "javascript:alert(1)"},
    {"https://a/x", "1:2", "https://a/1:2"},
    {"https://a/x", " \n /y \t", "https://a/y"},
    {"https://a/x", "/a\nb\tc", "https://a/abc"},
    {"https://a/x", "/a b", "https://a/a%20b"},
    {"https://a/x", "/\xe4\xbd\xa0?q=\xe5\xa5\xbd", "https://a/%E4%BD%A0?q=%E5%A5%BD"},
    {"https://a/x", "/\\evil.example/", "https://a/%5Cevil.example/"},
    {"https://a/x", "\\\\evil.example/", "https://a/%5C%5Cevil.example/"},
    {"https://a/x", "/%41%2f", "https://a/%41%2f"},
    {"https://a/x", "//b@c/", "https://b@c/"},
    {"", "http://b/y", "http://b/y"},
    {"", "y", "/y"},
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

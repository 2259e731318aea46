/* test_uri.c -- references and what they mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/uri.h"

/* RFC 3986, section 5.4, and what pages and schemas do besides. */
static const struct {
    const char *base, *ref, *want;
} references[] = {
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
    {"https://a/x", "//b/c/../d", "https://b/d"},
    {"https://a/x", "?", "https://a/x?"},
    {"http://a", "b", "http://a/b"},
    {"urn:x:y", "#/a", "urn:x:y#/a"},
    {"", "a/b.json", "a/b.json"},
    {"", "#a", "#a"},
    {"", "", ""},
    {"http://a/b#old", "#new", "http://a/b#new"},
};

static void test_references(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(references); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_sv got =
            ch_uri_resolve(&a, ch_sv_str(references[i].base), ch_sv_str(references[i].ref));
        if (!ch_sv_is(got, references[i].want))
            fail_msg("%s + %s: %.*s", references[i].base, references[i].ref, CH_SV_FMT(got));
    }
}

static void test_parts(void **state) {
    CH_ARENA_AUTO a = {0};
    struct ch_sv uri = CH_SV("http://a/b#c#d"), plain = CH_SV("http://a/b"), empty = CH_SV("a#");

    (void)state;
    assert_true(ch_sv_is(ch_uri_cut_fragment(&uri), "c#d"));
    assert_true(ch_sv_is(uri, "http://a/b"));
    assert_null(ch_uri_cut_fragment(&plain).p);
    assert_true(ch_sv_is(ch_uri_cut_fragment(&empty), ""));
    assert_true(ch_sv_is(ch_uri_decode(&a, CH_SV("%41b%7e%2")), "Ab~%2"));
    assert_true(ch_sv_is(ch_uri_decode(&a, CH_SV("100%")), "100%"));
    assert_true(ch_sv_is(ch_uri_decode(&a, CH_SV("%zz")), "%zz"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

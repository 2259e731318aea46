/* test_gitignore.c -- what git would ignore. Every row was checked against
 * git itself; of what is below an ignored directory git says that it is ignored,
 * here the entry alone is asked about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "tool/builtin/files/gitignore.h"

/* path: "/" at its end for a directory. want: + ignored, - taken back, . silent */
static const struct {
    const char *rules, *path;
    char want;
} cases[] = {
    {"", "a", '.'},
    {"\n\n", "a", '.'},
    {"# a", "a", '.'},
    {"# a", "# a", '.'},
    {"\\#a", "#a", '+'},
    {"\\!a", "!a", '+'},
    {"a", "a", '+'},
    {"a", "x/a", '+'},
    {"a", "a/", '+'},
    {"a", "ab", '.'},
    {"a ", "a", '+'},
    {"a\\ ", "a ", '+'},
    {"a\\ ", "a", '.'},
    {"a\\  ", "a ", '+'},
    {" a", " a", '+'},
    {"a\t", "a", '.'},
    {"a\r\nb\r\n", "a", '+'},
    {"\xef\xbb\xbf"
     "a",
     "a", '+'},

    {"a/", "a/", '+'},
    {"a/", "a", '.'},
    {"a/", "x/a/", '+'},
    {"/", "a", '.'},
    {"//", "a", '.'},

    {"/a", "a", '+'},
    {"/a", "x/a", '.'},
    {"/a/", "a/", '+'},
    {"/a/", "x/a/", '.'},
    {"a/b", "a/b", '+'},
    {"a/b", "x/a/b", '.'},
    {"/a/b", "a/b", '+'},
    {"/*.c", "x.c", '+'},
    {"/*.c", "a/x.c", '.'},

    {"*.o", "x.o", '+'},
    {"*.o", "a/b/x.o", '+'},
    {"*.o", "x.obj", '.'},
    {"a/*", "a/b", '+'},
    {"a/*", "a/b/c", '.'},
    {"a?c", "abc", '+'},
    {"a?c", "a/c", '.'},
    {"[ab].c", "b.c", '+'},
    {"[!ab].c", "b.c", '.'},
    {"[!ab].c", "c.c", '+'},
    {"[a-c]/x", "b/x", '+'},
    {"[", "[", '.'},
    {"a[", "a[", '.'},
    {"a\\", "a\\", '.'},
    {"\\a", "a", '+'},
    {"a\\*", "a*", '+'},
    {"a\\*", "ab", '.'},
    {"a\\/b", "a/b", '+'},
    {"{a,b}", "a", '.'},

    {"**/a", "a", '+'},
    {"**/a", "x/y/a", '+'},
    {"**/a/b", "x/a/b", '+'},
    {"**/a/b", "a/x/b", '.'},
    {"a/**", "a/x", '+'},
    {"a/**", "a/x/y", '+'},
    {"a/**", "a/", '.'},
    {"a/**", "x/a/y", '.'},
    {"a/**/b", "a/b", '+'},
    {"a/**/b", "a/x/y/b", '+'},
    {"a/**/b", "x/a/b", '.'},
    {"**", "a/b", '+'},
    {"/**", "a/b", '+'},
    {"**/", "a/", '+'},
    {"**/", "a", '.'},
    {"a**b", "axxb", '+'},
    {"a**b", "a/b", '.'},
    {"***/a", "x/a", '+'},

    {"*.c\n!x.c", "x.c", '-'},
    {"*.c\n!x.c", "y.c", '+'},
    {"!x.c\n*.c", "x.c", '+'},
    {"*\n!/a/\n!*.c", "a/", '-'},
    {"*\n!/a/\n!*.c", "b/", '+'},
    {"*\n!/a/\n!*.c", "b/x.c", '-'},
    {"!a", "a", '-'},
    {"!", "a", '.'},
    {"!!a", "!a", '-'},
    {"a\n#\n!a\na", "a", '+'},
    {"/*\n!/foo\n/foo/*\n!/foo/bar", "foo/bar", '-'},
    {"/*\n!/foo\n/foo/*\n!/foo/bar", "foo/baz", '+'},
    {"/*\n!/foo\n/foo/*\n!/foo/bar", "quux", '+'},
};

static char verdict(const char *rules, const char *path) {
    CH_AUTO(ch_ignore) ig = ch_ignore_new(ch_sv_str(rules));
    struct ch_sv p = ch_sv_str(path);
    bool is_dir = p.p[p.n - 1] == '/';

    p.n -= is_dir;
    return ".+-"[ch_ignore_ask(ig, p, is_dir)];
}

static void test_rules(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        if (verdict(cases[i].rules, cases[i].path) != cases[i].want)
            fail_msg("\"%s\" on %s: not %c", cases[i].rules, cases[i].path, cases[i].want);
}

static void test_bounded(void **state) {
    CH_BUF_AUTO text = {0};

    (void)state;
    for (int i = 0; i < CH_LIMIT_IGNORE_RULES; i++)
        ch_buf_addf(&text, "# a comment is no rule\n\nr%d\n", i);
    struct ch_ignore *ig = ch_ignore_new(ch_buf_sv(&text));
    assert_false(ch_ignore_cut(ig));
    ch_ignore_free(ig);
    ch_buf_add_str(&text, "last\n");
    ig = ch_ignore_new(ch_buf_sv(&text));
    assert_true(ch_ignore_cut(ig));
    assert_int_equal(ch_ignore_ask(ig, CH_SV("r7"), false), CH_IGNORE_YES);
    assert_int_equal(ch_ignore_ask(ig, CH_SV("last"), false), CH_IGNORE_SILENT);
    ch_ignore_free(ig);
    ch_ignore_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_glob.c -- shell patterns over names and paths, and braces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "chela/error.h"
#include "support/toolkit.h"
#include "tool/builtin/files/glob.h"

#define E_ACUTE "\xc3\xa9"
#define NI "\xe4\xbd\xa0"

static const struct {
    const char *pattern, *name;
    bool match;
} names[] = {
    {"", "", true},
    {"", "a", false},
    {"a", "a", true},
    {"a", "b", false},
    {"abc", "ab", false},
    {"ab", "abc", false},
    {"*", "", true},
    {"*", "anything", true},
    {"**", "anything", true},
    {"*.c", "x.c", true},
    {"*.c", ".c", true},
    {"*.c", "x.cc", false},
    {"*.c", "x.c.c", true},
    {"a*b*c", "aXbYc", true},
    {"a*b*c", "aXbYbZc", true},
    {"a*b*c", "aXcYb", false},
    {"?", "a", true},
    {"?", "", false},
    {"?", E_ACUTE, true},
    {"??", E_ACUTE, false},
    {"?*", NI NI, true},
    {"[abc]", "b", true},
    {"[abc]", "d", false},
    {"[!abc]", "d", true},
    {"[^abc]", "a", false},
    {"[a-c]x", "bx", true},
    {"[a-c]x", "dx", false},
    {"[]]", "]", true},
    {"[]a]", "a", true},
    {"[!]]", "]", false},
    {"[a-]", "-", true},
    {"[-a]", "-", true},
    {"[\\]]", "]", true},
    {"[a\\-z]", "m", false},
    {"[a\\-z]", "-", true},
    {"[[:digit:]]", "7", true},
    {"[[:digit:]]", "a", false},
    {"[![:space:]]", "a", true},
    {"[[:upper:][:digit:]_]*", "_x", true},
    {"[[:xdigit:]]", "f", true},
    {"[[:punct:]]", "!", true},
    {"[[:nosuch:]]", "a", false},
    {"[\xe4\xbd\x9f-\xe4\xbd\xa1]", NI, true},
    {"[" E_ACUTE "]", E_ACUTE, true},
    {"[a", "a", false},
    {"[", "[", false},
    {"[!", "a", false},
    {"[]", "]", false},
    {"*[a", "xa", false},
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"\\a", "a", true},
    {"a\\", "a\\", false},
    {"\\?x", "?x", true},
    {"{a,b}", "{a,b}", true}, /* braces are the other function's */
    {"\xff", "\xff", true},
    {"?", "\xff", true},
    {"\xff", "\xfe", false},
};

static void test_name(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (ch_glob_name(ch_sv_str(names[i].pattern), ch_sv_str(names[i].name)) != names[i].match)
            fail_msg("%s on %s", names[i].pattern, names[i].name);
}

static const struct {
    const char *pattern, *path;
    bool match;
} paths[] = {
    {"a", "a", true},
    {"a", "a/b", false},
    {"a/b", "a/b", true},
    {"a/*", "a/b", true},
    {"a/*", "a/b/c", false},
    {"*", "a/b", false},
    {"*/b", "a/b", true},
    {"a?b", "a/b", false},
    {"a[/]b", "a/b", false},
    {"**", "a", true},
    {"**", "a/b/c", true},
    {"**/c", "c", true},
    {"**/c", "a/b/c", true},
    {"**/c", "a/b/cc", false},
    {"**/b/c", "a/b/c", true},
    {"a/**", "a", false},
    {"a/**", "a/b", true},
    {"a/**", "a/b/c", true},
    {"a/**/c", "a/c", true},
    {"a/**/c", "a/b/c", true},
    {"a/**/c", "a/b/b/c", true},
    {"a/**/c", "a/b/c/d", false},
    {"a/**/c", "x/c", false},
    {"**/a/**/b/**/c", "x/a/y/b/z/z/c", true},
    {"**/a/**/b/**/c", "x/a/y/b/z/z/d", false},
    {"**/a/b", "a/a/a/b", true},
    {"**/a/*/b", "a/a/x/b", true},
    {"**/**/c", "c", true},
    {"**/*.c", "x.c", true},
    {"**/*.c", "a/b/x.c", true},
    {"src/**/*.c", "src/x.c", true},
    {"a**/b", "axx/b", true},
    {"a**/b", "a/x/b", false},
    {"**/", "a", false},
};

static void test_path(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(paths); i++)
        if (ch_glob_path(ch_sv_str(paths[i].pattern), ch_sv_str(paths[i].path)) != paths[i].match)
            fail_msg("%s on %s", paths[i].pattern, paths[i].path);
}

static const struct {
    const char *pattern, *want; /* alternatives, each followed by a space */
} braces[] = {
    {"a", "a "},
    {"", " "},
    {"{a,b}", "a b "},
    {"x{a,b}y", "xay xby "},
    {"{a,b}{c,d}", "ac bc ad bd "},
    {"{a,{b,c}}", "a b c "},
    {"{,x}", " x "},
    {"*.{c,h}", "*.c *.h "},
    {"{a}", "{a} "},
    {"{}", "{} "},
    {"{a", "{a "},
    {"a}", "a} "},
    {"{a,b", "{a,b "},
    {"\\{a,b}", "\\{a,b} "},
    {"{a\\,b,c}", "a\\,b c "},
    {"{{a,b}}", "{a} {b} "},
    {"{a,b}}", "a} b} "},
    {"{x{a,b", "{x{a,b "},
};

static void test_braces(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(braces); i++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO got = {0};
        struct ch_globs g;
        assert_int_equal(ch_globs_read(&g, &arena, ch_sv_str(braces[i].pattern)), 0);
        for (size_t k = 0; k < g.n; k++)
            ch_buf_addf(&got, "%.*s ", CH_SV_FMT(g.list[k]));
        if (strcmp(ch_buf_str(&got), braces[i].want) != 0)
            fail_msg("%s: %s", braces[i].pattern, ch_buf_str(&got));
    }
}

static void test_braces_are_bounded(void **state) {
    static const char *const bombs[] = {
        "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
        "{1,2,3,4,5,6,7,8,9}{1,2,3,4,5,6,7,8,9}{1,2,3,4,5,6,7,8,9}",
        "{a,{b,{c,{d,{e,f}}}}}{a,{b,{c,{d,{e,f}}}}}{a,{b,{c,{d,{e,f}}}}}",
        "{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{",
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(bombs); i++) {
        CH_ARENA_AUTO arena = {0};
        struct ch_globs g;
        assert_int_equal(ch_globs_read(&g, &arena, ch_sv_str(bombs[i])), CHELA_ELIMIT);
    }
}

static void test_globs(void **state) {
    CH_ARENA_AUTO arena = {0};
    struct ch_globs g;

    (void)state;
    assert_int_equal(ch_globs_read(&g, &arena, CH_SV("*.{c,h}")), 0);
    assert_true(ch_globs_match(&g, CH_SV("a/b/x.h")));
    assert_false(ch_globs_match(&g, CH_SV("a/b/x.o")));
    assert_int_equal(ch_globs_read(&g, &arena, CH_SV("{src/*.c,Makefile}")), 0);
    assert_true(ch_globs_match(&g, CH_SV("src/x.c")));
    assert_false(ch_globs_match(&g, CH_SV("x.c")));
    assert_true(ch_globs_match(&g, CH_SV("sub/Makefile"))); /* no slash: the name */
}

/* Patterns that make a matcher with backtracking take forever. */
static void test_time(void **state) {
    CH_BUF_AUTO pattern = {0}, name = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        ch_buf_add_str(&pattern, "*a");
        ch_buf_add_str(&name, "aa");
    }
    ch_buf_addc(&pattern, 'b');
    int64_t from = kit_ms();
    assert_false(ch_glob_name(ch_buf_sv(&pattern), ch_buf_sv(&name)));
    ch_buf_clear(&pattern);
    ch_buf_clear(&name);
    for (int i = 0; i < 600; i++) {
        ch_buf_add_str(&pattern, "**/*a*/");
        ch_buf_add_str(&name, "aaa/");
    }
    ch_buf_addc(&pattern, 'b');
    assert_false(ch_glob_path(ch_buf_sv(&pattern), ch_buf_sv(&name)));
    assert_true(kit_ms() - from < 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name),   cmocka_unit_test(test_path),
        cmocka_unit_test(test_braces), cmocka_unit_test(test_braces_are_bounded),
        cmocka_unit_test(test_globs),  cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

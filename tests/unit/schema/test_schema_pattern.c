/* test_schema_pattern.c -- regular expressions as ECMA-262 has them, matched
 * by another library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "schema/schema_ecma.h"
#include "schema/schema_pattern.h"

static int matches_text(struct ch_pattern *p, struct ch_sv text) {
    int64_t fuel = INT64_MAX;
    return ch_pattern_match(p, text, &fuel);
}

static const struct {
    const char *pattern, *text;
    bool found;
} matches[] = {
    {"", "", true},
    {"b", "abc", true},
    {"^b", "abc", false},
    {"^abc$", "abc\n", false},
    {"^.$", "\n", false},
    {"^.$", "\xe2\x80\xa8", false},
    {"^.$", "\xf0\x9f\x98\x80", true},
    {"^[^]$", "\n", true},
    {"[]", "a", false},
    {"a[]|b", "b", true},
    {"^\\d$", "5", true},
    {"^\\d$", "\xdf\x80", false},
    {"^\\w+$", "a_9", true},
    {"^\\w$", "\xc3\xa9", false},
    {"^\\s$", "\xef\xbb\xbf", true},
    {"^\\s$", "\xc2\xa0", true},
    {"^\\s$", "\x01", false},
    {"^\\S$", "\xe2\x80\x83", false},
    {"^[\\s\\d]+$", "1 \xc2\xa0", true},
    {"^[^\\s]$", "\xe3\x80\x80", false},
    {"^[\\S]$", "\xc3\xa9", true},
    {"^[^\\S]$", " ", true},
    {"^\\t\\n\\v\\f\\r\\0$", "\t\n\v\f\r", false},
    {"^\\t\\n\\v\\f\\r$", "\t\n\v\f\r", true},
    {"^\\cJ$", "\n", true},
    {"^\\x41\\u0042\\u{43}$", "ABC", true},
    {"^\\ud83d\\ude00$", "\xf0\x9f\x98\x80", true},
    {"^\\u{1F600}$", "\xf0\x9f\x98\x80", true},
    {"\\ud83d", "\xf0\x9f\x98\x80", false},
    {"^[\\ud83d]?$", "", true},
    {"^[\\u0020-\\udfff]+$", "abc", true},
    {"^[^\\u0020-\\udfff]$", "a", false},
    {"^[\\ud800-\\uffff]$", "\xef\xbc\xa1", true},
    {"^[\\ud800-\\uffff]$", "a", false},
    {"^[\\ud800-\\udfff]?$", "", true},
    {"^(?<year>\\d{4})-\\k<year>$", "2024-2024", true},
    {"^(?<year>\\d{4})-\\k<year>$", "2024-2025", false},
    {"^\\k<a>(?<a>x)$", "x", true},
    {"^(?<$x\xc3\xa9>a)\\k<$x\xc3\xa9>$", "aa", true},
    {"^(a)\\1$", "aa", true},
    {"^(?:(a)|b)\\1$", "b", true},
    {"a(?=b)", "ab", true},
    {"a(?!b)", "ab", false},
    {"(?<=a)b", "ab", true},
    {"(?<!a)b", "ab", false},
    {"^a{2}$", "aa", true},
    {"^a{2,}?$", "aaa", true},
    {"^a{,2}$", "a{,2}", true},
    {"^{a}$", "{a}", true},
    {"^a]$", "a]", true},
    {"^[a\\-z]+$", "a-z", true},
    {"^[a-]+$", "a-", true},
    {"^[\\d-x]+$", "1-x", true},
    {"^[[:alpha:]]$", ":]", true},
    {"^[.]$", "x", false},
    {"^\\/\\-\\_\\@$", "/-_@", true},
    {"^#x y$", "#x y", true},
    {"^\\p{L}+$", "\xc3\xa9\xd0\xb6", true},
    {"^\\p{Letter}$", "1", false},
    {"^\\P{Lu}$", "A", false},
    {"^\\p{Script=Greek}$", "\xce\xb1", true},
    {"^\\p{sc=Greek}$", "a", false},
    {"^[\\p{Lu}\\d]+$", "A1", true},
    {"^\\p{General_Category=Decimal_Number}$", "\xdb\xb0", true},
    {"^\\p{ASCII}$", "a", true},
    {"\\bfoo\\b", "a foo b", true},
    {"\\Bo", "foo", true},
    {"^[\\b]$", "\b", true},
    {"(?i:A)b", "ab", true},
    {"\\Q", "Q", false},
};

static void test_matches(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(matches); i++) {
        struct ch_patterns all = {0};
        struct ch_pattern *p = NULL;
        struct chela_error err = {0};
        int rc = ch_patterns_add(&all, ch_sv_str(matches[i].pattern), &p, &err);
        bool found = rc == 0 && matches_text(p, ch_sv_str(matches[i].text)) == 1;
        if (found != matches[i].found)
            fail_msg("%s on '%s': %s", matches[i].pattern, matches[i].text,
                     rc < 0  ? err.message
                     : found ? "found"
                             : "not found");
        ch_patterns_release(&all);
    }
}

/* What is no regular expression of ECMA-262, whatever Perl thinks of it. */
static void test_refused(void **state) {
    (void)state;
    static const char *const patterns[] = {
        "(",        ")",        "a)",          "(a",     "[a",      "*",        "+a",
        "a**",      "a+*",      "a?+",         "a++",    "a*+",     "a{2}{3}",  "a{2}+",
        "{2}",      "^*",       "a|*",         "(*)",    "(*UTF)a", "(?P<n>a)", "(?#x)",
        "(?i)a",    "(?>a)",    "(?|a)",       "(?R)",   "(?1)",    "(?<n>a",   "(?<1>a)",
        "(?<>a)",   "\\a",      "\\A",         "\\Z",    "\\z",     "\\G",      "\\K",
        "\\R",      "\\h",      "\\Q..\\E",    "\\C",    "\\X",     "\\N",      "\\g{1}",
        "\\1",      "(a)\\2",   "\\k<x>",      "\\k",    "\\",      "[\\",      "\\x4",
        "\\u12",    "\\u{}",    "\\u{110000}", "\\c1",   "\\01",    "\\p",      "\\p{}",
        "\\p{L",    "\\p{a=b}", "[b-a]",       "a{3,2}", "\\8",     "[\\1]",    "(?<a>x)(?<a>y)",
        "\\p{^Lu}", "\xff",
    };
    for (size_t i = 0; i < CH_LEN(patterns); i++) {
        CH_BUF_AUTO out = {0};
        size_t at = 0;
        if (!ch_ecma_translate(ch_sv_str(patterns[i]), &out, &at))
            fail_msg("%s was taken for %s", patterns[i], ch_buf_str(&out));
        assert_true(at <= strlen(patterns[i]));
    }
}

/* Right by its grammar, and more than the library can do. */
static void test_unsupported(void **state) {
    (void)state;
    struct ch_patterns all = {0};
    struct ch_pattern *p;
    struct chela_error err = {0};
    CH_BUF_AUTO out = {0};
    assert_null(ch_ecma_translate(CH_SV("(?<=a+)b"), &out, NULL));
    assert_int_equal(ch_patterns_add(&all, CH_SV("(?<=a+)b"), &p, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "not supported"));
    ch_patterns_release(&all);
}

/* Used often enough to become machine code, the answers stay the same. */
static void test_often(void **state) {
    (void)state;
    struct ch_patterns all = {0};
    struct ch_pattern *p, *same;
    assert_int_equal(ch_patterns_add(&all, CH_SV("^[^@\\s]+@[^@\\s]+$"), &p, NULL), 0);
    assert_int_equal(ch_patterns_add(&all, CH_SV("^[^@\\s]+@[^@\\s]+$"), &same, NULL), 0);
    assert_ptr_equal(p, same);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(matches_text(p, CH_SV("ada@example.com")), 1);
        assert_int_equal(matches_text(p, CH_SV("ada example.com")), 0);
        assert_int_equal(matches_text(p, CH_SV("")), 0);
    }
    ch_patterns_release(&all);
}

/* A match of many steps costs fuel; without fuel it is given up. */
static void test_fuel(void **state) {
    (void)state;
    struct ch_patterns all = {0};
    struct ch_pattern *p;
    int64_t fuel = 10000;
    assert_int_equal(ch_patterns_add(&all, CH_SV("^(a|a)*$"), &p, NULL), 0);
    assert_int_equal(ch_pattern_match(p, CH_SV("aaa!"), &fuel), 0);
    assert_int_equal(fuel, 10000);
    assert_int_equal(ch_pattern_match(p, CH_SV("aaaaaaaaaaaa!"), &fuel), 0);
    assert_true(fuel > 0 && fuel < 10000);
    fuel = 0;
    assert_int_equal(ch_pattern_match(p, CH_SV("aaaaaaaaaaaa!"), &fuel), CHELA_ELIMIT);
    ch_patterns_release(&all);
}

/* Backtracking ends, interpreted or not. */
static void test_bounded(void **state) {
    (void)state;
    struct ch_patterns all = {0};
    struct ch_pattern *p;
    struct ch_sv hard = CH_SV("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
    assert_int_equal(ch_patterns_add(&all, CH_SV("^(a|a)*$"), &p, NULL), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(matches_text(p, hard), CHELA_ELIMIT);
    ch_patterns_release(&all);
}

static void test_long_text(void **state) {
    (void)state;
    struct ch_patterns all = {0};
    struct ch_pattern *p;
    CH_BUF_AUTO text = {0};
    for (int i = 0; i < 100000; i++)
        ch_buf_add_str(&text, "word ");
    assert_int_equal(ch_patterns_add(&all, CH_SV("^[\\w ]+$"), &p, NULL), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(matches_text(p, ch_buf_sv(&text)), 1);
    ch_patterns_release(&all);
}

/* A pattern may have more groups than can be read, and refer to them. Patterns that are matched
 * in turn give the groups of the last match. */
static void test_groups(void **state) {
    (void)state;
    struct ch_patterns all = {0};
    struct ch_pattern *many, *two;
    struct ch_sv text = CH_SV("key=value");
    CH_BUF_AUTO source = {0};
    ch_buf_addc(&source, '^');
    for (int i = 0; i < CH_PATTERN_GROUPS + 3; i++)
        ch_buf_addf(&source, "(%c?)", i == CH_PATTERN_GROUPS + 2 ? 'b' : 'a');
    ch_buf_addf(&source, "\\%d$", CH_PATTERN_GROUPS + 3);
    assert_int_equal(ch_patterns_add(&all, ch_buf_sv(&source), &many, NULL), 0);
    assert_int_equal(ch_patterns_add_native(&all, CH_SV("(\\w+)=(\\w+)"), &two, NULL), 0);
    assert_int_equal(ch_pattern_groups(many), CH_PATTERN_GROUPS + 3);
    assert_int_equal(ch_pattern_groups(two), 2);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(matches_text(many, CH_SV("aaabb")), 1);
        assert_int_equal(matches_text(many, CH_SV("aaab")), 0);
        assert_int_equal(matches_text(two, text), 1);
        assert_true(ch_sv_is(ch_pattern_group(two, 1, text), "key"));
        assert_true(ch_sv_is(ch_pattern_group(two, 2, text), "value"));
    }
    ch_patterns_release(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_unsupported), cmocka_unit_test(test_often),
        cmocka_unit_test(test_fuel),        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_long_text),   cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests_name("json/schema_pattern", tests, NULL, NULL);
}

/* test_term.c -- nothing but text reaches a terminal. Pieces may be cut
 * anywhere, so each case runs once per chunk size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/term/term.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define BAD "\xEF\xBF\xBD"

static const struct {
    const char *name, *in, *want;
    enum ch_escape_mode mode;
} cases[] = {
    {"plain", "hello, world", "hello, world", CH_ESCAPE_TEXT},
    {"newline and tab", "a\n\tb\n", "a\n\tb\n", CH_ESCAPE_TEXT},
    {"one line", "a\n\tb\n", "a\\n\\tb\\n", CH_ESCAPE_LINE},
    {"colour", "\033[31mred\033[0m", "\\u001b[31mred\\u001b[0m", CH_ESCAPE_TEXT},
    {"title", "\033]0;owned\a", "\\u001b]0;owned\\u0007", CH_ESCAPE_TEXT},
    {"backspace, delete", "a\b\x7f", "a\\u0008\\u007f", CH_ESCAPE_TEXT},
    {"CSI as C1",
     "\xC2\x9B"
     "31m",
     "\\u009b31m", CH_ESCAPE_TEXT},
    {"C1 next line",
     "a\xC2\x85"
     "b",
     "a\\u0085b", CH_ESCAPE_LINE},
    {"first character after C1", "\xC2\xA0x", "\xC2\xA0x", CH_ESCAPE_TEXT},
    {"override", "\xE2\x80\xAEtxt", "\\u202etxt", CH_ESCAPE_TEXT},
    {"isolate", "\xE2\x81\xA6x", "\\u2066x", CH_ESCAPE_TEXT},
    {"CR LF", "a\r\nb\r\n", "a\nb\n", CH_ESCAPE_TEXT},
    {"bare CR", "a\rb", "a\\u000db", CH_ESCAPE_TEXT},
    {"CR CR LF", "a\r\r\n", "a\\u000d\n", CH_ESCAPE_TEXT},
    {"CR at the end", "a\r", "a\\u000d", CH_ESCAPE_TEXT},
    {"two, three, four bytes", "\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x98\x80",
     "\xC3\xA9\xE4\xBD\xA0\xF0\x9F\x98\x80", CH_ESCAPE_TEXT},
    {"stray continuation", "a\x9Bz", "a" BAD "z", CH_ESCAPE_TEXT},
    {"overlong escape", "\xC0\x9B", BAD BAD, CH_ESCAPE_TEXT},
    {"overlong, three bytes", "\xE0\x80\x9B", BAD BAD BAD, CH_ESCAPE_TEXT},
    {"surrogate", "\xED\xA0\x80", BAD BAD BAD, CH_ESCAPE_TEXT},
    {"past Unicode", "\xF4\x90\x80\x80", BAD BAD BAD BAD, CH_ESCAPE_TEXT},
    {"cut character, then more",
     "\xE4\xBD"
     "a\033",
     BAD BAD "a\\u001b", CH_ESCAPE_TEXT},
    {"cut character at the end", "a\xE4\xBD", "a" BAD, CH_ESCAPE_TEXT},
};

static char *filter(enum ch_escape_mode mode, const char *in, size_t n, size_t chunk) {
    struct ch_escape e = {.mode = mode};
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (size_t at = 0; at < n; at += chunk)
        ch_escape_feed(&e, out, in + at, n - at < chunk ? n - at : chunk);
    ch_escape_finish(&e, out);
    fclose(out);
    return text;
}

static void test_every_split(void **state) {
    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        size_t n = strlen(cases[i].in);
        for (size_t chunk = 1; chunk <= n; chunk++) {
            char *got = filter(cases[i].mode, cases[i].in, n, chunk);
            if (strcmp(got, cases[i].want) != 0)
                fail_msg("%s in pieces of %zu: got '%s', want '%s'", cases[i].name, chunk, got,
                         cases[i].want);
            free(got);
        }
    }
}

/* Whatever two bytes come in, no control character comes out. */
static void test_no_control_gets_through(void **state) {
    (void)state;
    for (unsigned v = 0; v < 0x10000; v++) {
        char in[2] = {(char)(v >> 8), (char)v};
        char *got = filter(CH_ESCAPE_LINE, in, 2, 1 + v % 2);
        for (const unsigned char *p = (unsigned char *)got; *p; p++)
            if (*p < 0x20 || *p == 0x7F || (*p == 0xC2 && p[1] < 0xA0))
                fail_msg("bytes %04x give '%s'", v, got);
        free(got);
    }
}

static const struct {
    const char *text;
    unsigned columns;
    size_t fit;
} widths[] = {
    {"hello", 10, 5},
    {"hello", 5, 5},
    {"hello", 3, 3},
    {"hello", 0, 0},
    {"\xE4\xBD\xA0\xE5\xA5\xBD", 4, 6}, /* two wide characters */
    {"\xE4\xBD\xA0\xE5\xA5\xBD", 3, 3},
    {"\xE4\xBD\xA0\xE5\xA5\xBD", 1, 0},
    {"e\xCC\x81x", 1, 3}, /* a combining accent takes no room */
};

static void test_fit(void **state) {
    (void)state;
    for (size_t i = 0; i < LEN(widths); i++)
        assert_int_equal(ch_term_fit(widths[i].text, strlen(widths[i].text), widths[i].columns),
                         widths[i].fit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_no_control_gets_through),
        cmocka_unit_test(test_fit),
    };
    return cmocka_run_group_tests_name("cli/term", tests, NULL, NULL);
}

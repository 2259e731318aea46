/* test_markdown.c -- Markdown on a terminal. A stream may be cut anywhere, so
 * each case runs once per chunk size and must come out the same; and whatever
 * comes in, nothing that a terminal would obey comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "cli/term/flow.h"
#include "cli/term/markdown.h"
#include "cli/term/screen.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define E "\033["

static const struct {
    const char *name, *in, *want;
    bool color;
    unsigned columns;
} cases[] = {
    {"paragraphs", "one\n\ntwo\n", "one\n\ntwo\n", false, 40},
    {"without a last newline", "one", "one\n", false, 40},
    {"lines of a paragraph join", "one\ntwo\n", "one two\n", false, 40},
    {"a hard break", "one  \ntwo\n", "one\ntwo\n", false, 40},
    {"folding", "one two three four\n", "one two\nthree\nfour\n", false, 8},
    {"a long word is cut, not lost", "abcdefghijkl mn\n", "abcdefgh\nijkl mn\n", false, 8},
    {"wide characters fold anywhere", "你好世界你好\n", "你好世界\n你好\n", false, 8},
    {"emphasis keeps its marks", "a **b** *c* `d` ~~e~~\n", "a **b** *c* `d` ~~e~~\n", false, 40},
    {"emphasis", "a **b** `c`\n", "a " E "0;1mb" E "0m " E "0;36mc" E "0m\n", true, 40},
    {"heading", "# One\ntext\n", "# One\n\ntext\n", false, 40},
    {"heading in colour", "## One\n", E "0;1;35mOne" E "0m\n", true, 40},
    {"list", "- a\n- b\n", "- a\n- b\n", false, 40},
    {"list with wide margin", "10. one two three\n11. x\n",
     "10. one two\n    three\n11. x\n", false, 12},
    {"nested list", "- a\n  - b\n- c\n", "- a\n  - b\n- c\n", false, 40},
    {"loose list", "- a\n\n- b\n\nend\n", "- a\n\n- b\n\nend\n", false, 40},
    {"a list that becomes loose", "- a\n- b\n\n- c\n\nend\n", "- a\n- b\n\n- c\n\nend\n", false,
     40},
    {"numbers count up", "3. a\n3. b\n\n3. c\n", "3. a\n4. b\n\n5. c\n", false, 40},
    {"each item with a nested one", "1. a\n   1. x\n   2. y\n2. b\n   - z\n3. c\n",
     "1. a\n   1. x\n   2. y\n2. b\n   - z\n3. c\n", false, 40},
    {"another marker begins another list", "- a\n- b\n* c\n", "- a\n- b\n\n- c\n", false, 40},
    {"another list with numbers", "2. a\n3. b\n\ntext\n\n7. c\n8. d\n",
     "2. a\n3. b\n\ntext\n\n7. c\n8. d\n", false, 40},
    {"two lists", "- a\n\n1. b\n", "- a\n\n1. b\n", false, 40},
    {"tasks", "- [x] a\n- [ ] b\n", "- [x] a\n- [ ] b\n", false, 40},
    {"a paragraph in an item", "- a\n\n  b\n\nc\n", "- a\n\n  b\n\nc\n", false, 40},
    {"quote", "> a\n> b\n", "> a b\n", false, 40},
    {"rule", "a\n\n---\n\nb\n", "a\n\n--------\n\nb\n", false, 8},
    {"code", "```c\nint x = 1;\n\n# no heading\n```\n", "```c\nint x = 1;\n\n# no heading\n```\n",
     false, 8},
    {"code is not folded", "```\nlonger than the line\n```\n",
     "```\nlonger than the line\n```\n", false, 8},
    {"code without an end", "```\na\nb", "```\na\nb\n", false, 40},
    {"code after text", "x:\n```\na\n```\ny\n", "x:\n\n```\na\n```\n\ny\n", false, 40},
    {"a fence inside another", "````\n```\n````\n", "````\n```\n````\n", false, 40},
    {"tildes", "~~~\n```\n~~~\n", "~~~\n```\n~~~\n", false, 40},
    {"code in a list", "- a\n  ```\n  x\n\n  y\n  ```\n- b\n", "- a\n    x\n\n    y\n- b\n", false,
     40},
    {"highlighting", "```c\nint x; /* a\nb */ \"s\" 42 // c\n```\n",
     E "2m```c" E "0m\n" E "35mint" E "0m x; " E "2m/* a" E "0m\n" E "2mb */" E "0m " E
       "32m\"s\"" E "0m " E "36m42" E "0m " E "2m// c" E "0m\n" E "2m```" E "0m\n",
     true, 40},
    {"an unknown language", "```zork\nint 1\n```\n",
     E "2m```zork" E "0m\nint 1\n" E "2m```" E "0m\n", true, 40},
    {"table", "| a | b |\n|---|--:|\n| x | 10 |\n| 中文 | 2 |\n",
     "a    │  b\n─────┼───\nx    │ 10\n中文 │  2\n", false, 40},
    {"a table that is too wide", "| a | b |\n|---|---|\n| one two | three four |\n",
     "a     │ b\n──────┼──────\none   │ three\ntwo   │ four\n", false, 13},
    {"link", "see [here](http://x.y)\n", "see here (http://x.y)\n", false, 40},
    {"a link that is its own text", "<http://x.y>\n", "http://x.y\n", false, 40},
    {"HTML is text", "a <b>c</b>\n", "a <b>c</b>\n", false, 40},
    {"entities", "a &amp; b &lt; c\n", "a & b < c\n", false, 40},
    {"escape sequences", "a \033[31mb\n", "a \\u001b[31mb\n", false, 40},
    {"and in code", "```\n\033]0;x\a\n```\n", "```\n\\u001b]0;x\\u0007\n```\n", false, 40},
    {"and in an address", "[a](<http://x/\033[2J>)\n", "a (http://x/\\u001b[2J)\n", false, 40},
    {"and in the name of a language", "```\033[2J\nx\n```\n", "```\\u001b[2J\nx\n```\n", false, 40},
};

static char *render(const char *in, size_t n, size_t chunk, bool color, unsigned columns) {
    struct ch_markdown *m = ch_markdown_new(color);
    char *got;
    size_t len;
    FILE *out = open_memstream(&got, &len);

    for (size_t at = 0; at < n; at += chunk)
        ch_markdown_feed(m, out, columns, in + at, n - at < chunk ? n - at : chunk);
    ch_markdown_finish(m, out, columns);
    fclose(out);
    ch_markdown_free(m);
    return got;
}

static void test_every_split(void **state) {
    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        size_t n = strlen(cases[i].in);
        for (size_t chunk = 1; chunk <= n; chunk++) {
            char *got = render(cases[i].in, n, chunk, cases[i].color, cases[i].columns);
            if (strcmp(got, cases[i].want) != 0)
                fail_msg("%s in pieces of %zu: got '%s', want '%s'", cases[i].name, chunk, got,
                         cases[i].want);
            free(got);
        }
    }
}

/* A list is shown item by item: only the item that is not finished is left over. */
static void test_items(void **state) {
    (void)state;
    static const char text[] = "1. **a**\n2. b\n   b\n3. `c\n";
    struct ch_markdown *m = ch_markdown_new(true);
    char *got, **rest;
    size_t len;
    FILE *out = open_memstream(&got, &len);

    ch_markdown_feed(m, out, 40, text, sizeof(text) - 1);
    fflush(out);
    assert_string_equal(got, "1. " E "0;1ma" E "0m\n2. b b\n");
    assert_int_equal(ch_markdown_rest(m, 40, 10, &rest), 1);
    assert_string_equal(rest[0], "3. `c");
    free(rest[0]);
    free(rest);
    ch_markdown_finish(m, out, 40);
    fclose(out);
    assert_string_equal(got, "1. " E "0;1ma" E "0m\n2. b b\n3. `c\n");
    free(got);
    ch_markdown_free(m);
}

/* Is every ESC the beginning of ESC [ digits m, and no other control there? */
static bool is_tame(const char *text) {
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == 0x1B) {
            size_t n = 2 + strspn((const char *)p + 2, "0123456789;");
            if (p[1] != '[' || p[n] != 'm')
                return false;
            p += n;
        } else if ((*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7F ||
                   (*p == 0xC2 && p[1] < 0xA0)) {
            return false;
        }
    }
    return true;
}

static const char *const hostile[] = {
    "\033", "\033[2J", ("\xC2\x9B" "2J"), "\xE2\x80\xAE", "\a", "\r", "\b", "\x7f", "\xFF", "\xC3",
};

static const char *const places[] = {
    "%s", "# %s", "- %s", "> %s", "`%s`", "**%s**", "```%s\n%s\n```", "| %s |\n|---|\n| %s |",
    "[%s](%s)", "![%s](%s \"%s\")", "    %s", "<%s>", "&%s;", "1. [x] %s", "~~~\n%s",
};

static void test_nothing_gets_through(void **state) {
    (void)state;
    for (size_t h = 0; h < LEN(hostile); h++) {
        for (size_t i = 0; i < LEN(places); i++) {
            char in[256];
            size_t n = 0;
            for (const char *p = places[i]; *p && n < sizeof(in) - 16; p++) {
                if (p[0] == '%' && p[1] == 's') {
                    memcpy(in + n, hostile[h], strlen(hostile[h]));
                    n += strlen(hostile[h]);
                    p++;
                } else {
                    in[n++] = *p;
                }
            }
            for (int color = 0; color < 2; color++) {
                char *got = render(in, n, 1 + (h + i) % 3, color, 20);
                if (!is_tame(got))
                    fail_msg("'%s' with %zu: '%s'", places[i], h, got);
                free(got);
            }
        }
    }
}

/* Every letter of the text is there at any width, and no line is too wide. */
static void test_any_width(void **state) {
    static const char text[] = "# Abc\n\ndefghijklmnop qrs\n\n- tuv\n  - wxyz\n\n"
                               "> 你好 0123456789\n\n| a | b |\n|---|---|\n| cdefghijk | lmnop |\n";
    (void)state;
    for (unsigned columns = 16; columns < 60; columns++) {
        char *got = render(text, strlen(text), 7, true, columns);
        for (const char *p = "Abcdefghijklmnopqrstuvwxyz0123456789"; *p; p++)
            assert_non_null(strchr(got, *p));
        for (char *line = got, *rest = got; (line = strsep(&rest, "\n"));)
            if (ch_screen_columns(line) > columns)
                fail_msg("%u columns: '%s' takes %u", columns, line, ch_screen_columns(line));
        free(got);
    }
}

/* No line is wider than requested, and no letter is lost, also after many spaces. */
static void test_flow_after_spaces(void **state) {
    (void)state;
    for (unsigned spaces = 0; spaces < 30; spaces++) {
        for (unsigned columns = 2; columns < 24; columns++) {
            struct ch_flow flow = {0};
            struct ch_flow_line *lines;
            char text[64], got[64] = "";
            snprintf(text, sizeof(text), "%*sabcdefghijklmnop 你qr", (int)spaces, "");
            ch_flow_add(&flow, 0, text, strlen(text));
            size_t n = ch_flow_lines(&flow, columns, false, &lines);
            for (size_t i = 0; i < n; i++) {
                if (lines[i].columns > columns || ch_screen_columns(lines[i].text) > columns)
                    fail_msg("%u columns: '%s'", columns, lines[i].text);
                for (const char *p = lines[i].text; *p; p++)
                    if (*p != ' ')
                        strncat(got, p, 1);
            }
            assert_string_equal(got, "abcdefghijklmnop你qr");
            ch_flow_free_lines(lines, n);
            ch_flow_release(&flow);
        }
    }
}

static void test_rest(void **state) {
    struct ch_markdown *m = ch_markdown_new(true);
    char *got, **rest;
    size_t len;
    FILE *out = open_memstream(&got, &len);

    (void)state;
    ch_markdown_feed(m, out, 10, "done\n\none two three \033[2J", 24);
    size_t n = ch_markdown_rest(m, 10, 2, &rest);
    assert_int_equal(n, 2);
    assert_string_equal(rest[0], "three");
    assert_string_equal(rest[1], "\\u001b[2J");
    for (size_t i = 0; i < n; i++)
        free(rest[i]);
    free(rest);
    ch_markdown_finish(m, out, 10);
    assert_int_equal(ch_markdown_rest(m, 10, 2, &rest), 0);
    fclose(out);
    assert_string_equal(got, "done\n\none two\nthree\n\\u001b[2J\n");
    free(got);
    ch_markdown_free(m);
}

/* Processor time in ns of 20 views of a line that has n bytes so far. */
static int64_t time_of_rest(size_t n) {
    struct ch_markdown *m = ch_markdown_new(false);
    struct timespec from, to;
    char *line = malloc(n), **rest;

    assert_non_null(line);
    for (size_t i = 0; i < n; i++)
        line[i] = "wört "[i % 6];
    ch_markdown_feed(m, stdout, 80, line, n);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (int k = 0; k < 20; k++) {
        size_t rows = ch_markdown_rest(m, 80, 10, &rest);
        assert_int_equal(rows, 10);
        for (size_t i = 0; i < rows; i++) {
            assert_null(strstr(rest[i], "\uFFFD")); /* no character is cut */
            free(rest[i]);
        }
        free(rest);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    free(line);
    ch_markdown_free(m);
    return (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
}

/* The view is drawn again and again while a line grows. */
static void test_rest_of_a_long_line(void **state) {
    (void)state;
    int64_t once = time_of_rest(6000), longer = time_of_rest(300 * 6000);
    assert_true(longer < 50 * once);
}

/* A reply may come in one piece, and the time must not grow with the square of its length. */
static void test_long_code_in_one_piece(void **state) {
    enum { LINES = 1 << 20, LINE = 8 };
    static const char head[] = "```text\n";
    size_t n = sizeof(head) - 1 + LINES * LINE;
    char *in = malloc(n);
    (void)state;
    assert_non_null(in);
    memcpy(in, head, sizeof(head) - 1);
    for (size_t i = 0; i < LINES; i++)
        memcpy(in + sizeof(head) - 1 + i * LINE, "1234567\n", LINE);
    char *got = render(in, n, n, false, 80);
    assert_int_equal(strlen(got), n);
    assert_memory_equal(got, in, n);
    free(got);
    free(in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_items),
        cmocka_unit_test(test_nothing_gets_through),
        cmocka_unit_test(test_any_width),
        cmocka_unit_test(test_flow_after_spaces),
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_rest_of_a_long_line),
        cmocka_unit_test(test_long_code_in_one_piece),
    };
    return cmocka_run_group_tests_name("cli/markdown", tests, NULL, NULL);
}

/* test_parts.c -- Markdown in parts: tables, long lines, characters of several code points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "channel/parts.h"

#define UNITS 60

static size_t count(struct ch_sv s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

static const struct ch_parts_ops ops = {.most = 4 * UNITS, .measure = count, .units = UNITS};

static void check(const char *text, const char *const *want) {
    struct ch_parts rest = {.text = ch_sv_str(text)};
    for (size_t i = 0;; i++) {
        CH_BUF_AUTO part = {0};
        if (!ch_parts_next(&rest, &ops, &part)) {
            assert_null(want[i]);
            return;
        }
        assert_non_null(want[i]);
        assert_string_equal(ch_buf_str(&part), want[i]);
    }
}

#define HEAD "| name | n |\n|---|---|\n"
#define ROW(n) "| row number " n " | " n " |\n"

static void test_table_is_whole(void **state) {
    (void)state;
    check("Some words before it.\n\n" HEAD ROW("1") "end\n",
          (const char *const[]){"Some words before it.\n\n", HEAD ROW("1") "end\n", NULL});
}

static void test_head_is_repeated(void **state) {
    (void)state;
    check(HEAD ROW("1") ROW("2") ROW("3") "end\n",
          (const char *const[]){HEAD ROW("1"), HEAD ROW("2"), HEAD ROW("3") "end\n", NULL});
}

/* Lines without space for a row below the head are cut like others. */
static void test_wide_table(void **state) {
    (void)state;
    check("| a | b |\n|---|---|\n| 0123456789 0123456789 0123456789 0123456789 | 1234 |\n| 2 |\n",
          (const char *const[]){"| a | b |\n|---|---|\n",
                                "| 0123456789 0123456789 0123456789 0123456789 | 1234 |\n",
                                "| 2 |\n", NULL});
}

static void test_pipes_are_no_table(void **state) {
    (void)state;
    check("a | b is not a table, because no delimiter line follows.\nc | d\n",
          (const char *const[]){"a | b is not a table, because no delimiter line follows.\n",
                                "c | d\n", NULL});
}

/* A line of code that is longer than a part leaves space for the fences. */
static void test_long_line_of_code(void **state) {
    CH_BUF_AUTO text = {0}, got = {0};
    (void)state;
    ch_buf_add_str(&text, "```json\n");
    for (int i = 0; i < 400; i++)
        ch_buf_addc(&text, (char)('a' + i % 26));
    ch_buf_add_str(&text, "\n```\n");
    struct ch_parts rest = {.text = ch_buf_sv(&text)};
    for (;;) {
        CH_BUF_AUTO part = {0};
        if (!ch_parts_next(&rest, &ops, &part))
            break;
        struct ch_sv lines = ch_buf_sv(&part);
        assert_true(count(lines) <= UNITS);
        assert_true(ch_sv_is(ch_sv_split(&lines, '\n'), "```json"));
        ch_buf_add_sv(&got, ch_sv_split(&lines, '\n'));
        assert_true(ch_sv_is(ch_sv_split(&lines, '\n'), "```"));
    }
    assert_int_equal(got.n, 400);
    for (size_t i = 0; i < got.n; i++)
        assert_int_equal(got.p[i], 'a' + (int)i % 26);
}

#define TEN "一二三四五六七八九十"

static void test_long_lines(void **state) {
    (void)state;
    check(TEN TEN TEN TEN "。" TEN TEN TEN "\n",
          (const char *const[]){TEN TEN TEN TEN "。", TEN TEN TEN "\n", NULL});
    check(TEN TEN TEN TEN TEN "一二三四五六七"
                              "\U0001f469\u200d\U0001f4bb"
                              "\U0001f44d\U0001f3fd\n",
          (const char *const[]){TEN TEN TEN TEN TEN "一二三四五六七",
                                "\U0001f469\u200d\U0001f4bb\U0001f44d\U0001f3fd\n", NULL});
}

#define LONG_WORD "01234567890123456789012345678901234567890123456789012345678901234567890"

/* Whatever is written: every part fits, is valid and holds something, and all words arrive in
 * order. */
static void test_anything(void **state) {
    static const char *const pieces[] = {"```",    "~~~\n",   "\n",    "```c\n",  "| a ",
                                         "|\n",    "|---|\n", "word ", "一",      "\U0001f600",
                                         "\u0301", "-",       "\n\n",  LONG_WORD, "```````"};
    uint32_t seed = 11;
    (void)state;
    for (int round = 0; round < 4000; round++) {
        CH_BUF_AUTO in = {0}, letters = {0}, got = {0};
        for (int i = 0; i < 40; i++) {
            seed = seed * 1664525 + 1013904223;
            ch_buf_add_str(&in, pieces[(seed >> 16) % CH_LEN(pieces)]);
        }
        struct ch_parts rest = {.text = ch_buf_sv(&in)};
        for (int n = 0;; n++) {
            CH_BUF_AUTO part = {0};
            if (!ch_parts_next(&rest, &ops, &part))
                break;
            if (n > 2000 || !part.n || count(ch_buf_sv(&part)) > UNITS)
                fail_msg("'%s':\n'%s'", ch_buf_str(&in), ch_buf_str(&part));
            assert_true(ch_utf8_valid(ch_buf_sv(&part)));
            ch_buf_add_sv(&got, ch_buf_sv(&part));
        }
        for (size_t i = 0; i < in.n; i++)
            if (strchr("wordO0123456789", in.p[i]))
                ch_buf_addc(&letters, in.p[i]);
        size_t out = 0;
        for (size_t i = 0; i < got.n; i++)
            if (strchr("wordO0123456789", got.p[i]) && out < letters.n &&
                got.p[i] == letters.p[out])
                out++;
        if (out != letters.n)
            fail_msg("lost: '%s':\n'%s'", ch_buf_str(&in), ch_buf_str(&got));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_whole),    cmocka_unit_test(test_head_is_repeated),
        cmocka_unit_test(test_wide_table),        cmocka_unit_test(test_pipes_are_no_table),
        cmocka_unit_test(test_long_line_of_code), cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_anything)};
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}

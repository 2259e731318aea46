/* test_feishu_post.c -- a long text in parts that the service takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "channel/feishu.h"
#include "channel/feishu_post.h"
#include "json/writer.h"

#define MOST_PARTS 64

/* The parts of a text, "" behind the last. */
static size_t split(struct ch_arena *a, struct ch_sv text, struct ch_sv parts[MOST_PARTS]) {
    struct ch_parts rest = {.text = text};
    size_t n = 0;
    for (;; n++) {
        CH_BUF_AUTO content = {0}, body = {0};
        const struct ch_json *v;
        if (!ch_feishu_part(&rest, &content))
            return n;
        assert_true(n < MOST_PARTS);
        ch_json_quote(&body, ch_buf_sv(&content));
        assert_true(body.n < 30000);
        struct ch_sv copy = ch_arena_sv(a, ch_buf_sv(&content));
        assert_int_equal(ch_json_parse(a, copy, CH_JSON_STRICT, &v, NULL, NULL), 0);
        const struct ch_json *lines = ch_json_path(v, "zh_cn", "content", NULL);
        parts[n] = ch_json_get_str(ch_json_at(ch_json_at(lines, 0), 0), "text");
        assert_true(parts[n].n > 0);
        assert_true(ch_utf8_valid(parts[n]));
    }
}

static const struct {
    const char *in, *want;
} looks[] = {
    {"hello", "hello"},
    {"# Big\n\ntext", "#### Big\n\ntext"},
    {"## Two\n### Three\n#### Four", "##### Two  \n##### Three  \n#### Four"},
    {"one\ntwo\n\nthree\n", "one  \ntwo\n\nthree\n"},
    {"#hashtag", "#hashtag"},
    {"```sh\n# comment\nx\n```\nafter", "```sh\n# comment\nx\n```\nafter"},
    {"\n\n  \nlate", "late"},
};

static void test_looks(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(looks); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_sv parts[MOST_PARTS];
        assert_int_equal(split(&a, ch_sv_str(looks[i].in), parts), 1);
        if (!ch_sv_is(parts[0], looks[i].want))
            fail_msg("'%s': '%.*s'", looks[i].in, CH_SV_FMT(parts[0]));
    }
}

static void test_nothing(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    struct ch_sv parts[MOST_PARTS];
    assert_int_equal(split(&a, CH_SV(""), parts), 0);
    assert_int_equal(split(&a, CH_SV(" \n\n"), parts), 0);
}

static unsigned fences(struct ch_sv part) {
    unsigned n = 0;
    while (part.p) {
        struct ch_sv line = ch_sv_split(&part, '\n');
        n += ch_sv_starts(line, "```");
    }
    return n;
}

/* A block of code that fits into a part is in one. */
static void test_code_is_whole(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    struct ch_sv parts[MOST_PARTS];
    for (int i = 0; i < 350; i++)
        ch_buf_add_str(&text, "line of ten\n");
    ch_buf_add_str(&text, "```c\n");
    for (int i = 0; i < 200; i++)
        ch_buf_addf(&text, "code(%d);\n", i);
    ch_buf_add_str(&text, "```\nend\n");
    size_t n = split(&a, ch_buf_sv(&text), parts);
    bool whole = false;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(fences(parts[i]) % 2, 0);
        whole |= ch_sv_contains_nocase(parts[i], "code(0)") &&
                 ch_sv_contains_nocase(parts[i], "code(199)");
    }
    assert_true(n >= 2 && whole);
}

/* One that does not is closed and opened again, with its language; no line is
 * lost or told twice. */
static void test_long_code(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0}, code = {0}, got = {0};
    struct ch_sv parts[MOST_PARTS];
    for (int i = 0; i < 1500; i++)
        ch_buf_addf(&code, "say(\"%d\");\n", i);
    ch_buf_addf(&text, "before\n```c\n%s```\nafter\n", ch_buf_str(&code));
    size_t n = split(&a, ch_buf_sv(&text), parts);
    assert_true(n > 3);
    for (size_t i = 0; i < n; i++) {
        struct ch_sv part = parts[i];
        assert_int_equal(fences(part) % 2, 0);
        while (part.p) {
            struct ch_sv line = ch_sv_split(&part, '\n');
            if (ch_sv_starts(line, "say("))
                ch_buf_addf(&got, "%.*s\n", CH_SV_FMT(line));
            if (ch_sv_starts(line, "```") && line.n > 3)
                assert_true(ch_sv_is(line, "```c"));
        }
    }
    assert_string_equal(ch_buf_str(&got), ch_buf_str(&code));
}

/* Characters are not cut, and what must be escaped twice still fits. */
static void test_long_lines(void **state) {
    (void)state;
    static const char *const pieces[] = {"字", "\"", "\x01", "word ", "a", "```"};
    for (size_t k = 0; k < CH_LEN(pieces); k++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO text = {0}, got = {0};
        struct ch_sv parts[MOST_PARTS];
        while (text.n < 50000)
            ch_buf_add_str(&text, pieces[k]);
        size_t n = split(&a, ch_buf_sv(&text), parts);
        assert_true(n > 1);
        for (size_t i = 0; i < n; i++)
            ch_buf_add_sv(&got, parts[i]);
        if (k != 5 && strcmp(ch_buf_str(&got), ch_buf_str(&text)) != 0)
            fail_msg("'%s' is not what it was", pieces[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks),         cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_code_is_whole), cmocka_unit_test(test_long_code),
        cmocka_unit_test(test_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

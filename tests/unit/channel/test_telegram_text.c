/* test_telegram_text.c -- Markdown as words and entities, and in parts that fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "channel/parts.h"
#include "channel/telegram.h"
#include "channel/telegram_text.h"

/* entities: "type offset length [url or language]", one after the other. */
static const struct {
    const char *in, *text, *entities;
} cases[] = {
    {"hello", "hello", ""},
    {"**bold** and *leaning*", "bold and leaning", "bold 0 4;italic 9 7;"},
    {"__bold__ _leaning_ ~~gone~~", "bold leaning gone",
     "bold 0 4;italic 5 7;strikethrough 13 4;"},
    {"***both***", "both", "italic 0 4;bold 0 4;"},
    {"**a *b* c**", "a b c", "italic 2 1;bold 0 5;"},
    {"2 * 3 * 4, snake_case_name, a ** b", "2 * 3 * 4, snake_case_name, a ** b", ""},
    {"**open and *closed*", "**open and closed", "italic 11 6;"},
    {"\\*not\\* \\_this\\_", "*not* _this_", ""},
    {"`a*b*c` and ``a`b``", "a*b*c and a`b", "code 0 5;code 10 3;"},
    {"**see `x` there**", "see x there", "bold 0 4;code 4 1;bold 5 6;"},
    {"a ` lonely mark", "a ` lonely mark", ""},
    {"[words](https://a.example/x_y_z) end", "words end",
     "text_link 0 5 https://a.example/x_y_z;"},
    {"[**b** c](http://a.example/(x))", "b c", "bold 0 1;text_link 0 3 http://a.example/(x);"},
    {"![alt](https://a.example/p.png \"title\")", "alt",
     "text_link 0 3 https://a.example/p.png;"},
    {"![](https://a.example/p.png)", "https://a.example/p.png", ""},
    {"a [](docs/x) b", "a docs/x b", ""},
    {"[file](docs/a.md)", "file (docs/a.md)", ""},
    {"[x](javascript:alert(1))", "x (javascript:alert(1))", ""},
    {"[ ] and [a] (b)", "[ ] and [a] (b)", ""},
    {"**[a](https://b.example)**", "a", "text_link 0 1 https://b.example;bold 0 1;"},
    {"*a [b* c](https://b.example)", "*a b* c", "text_link 3 4 https://b.example;"},
    {"# Title **x**\ntext", "Title x\ntext", "bold 6 1;bold 0 7;"},
    {"#hashtag", "#hashtag", ""},
    {"- one\n* two\n  + three\n- [ ] four\n- [x] five", "• one\n• two\n  • three\n☐ four\n☑ five",
     ""},
    {"1. one\n2. two", "1. one\n2. two", ""},
    {"a\n\n---\n\nb", "a\n\n———\n\nb", ""},
    {"> said **he**\n> again\n\nno", "said he\nagain\n\nno", "bold 5 2;blockquote 0 13;"},
    {"```c\nint x = *p;\n\n  y;\n```\nend", "int x = *p;\n\n  y;\nend", "pre 0 17 c;"},
    {"~~~\n```\n~~~", "```", "pre 0 3;"},
    {"```\nnever closed", "never closed", "pre 0 12;"},
    {"| a | b |\n|---|---|\n| *1* | 2 |\nend", "| a | b |\n|---|---|\n| *1* | 2 |\nend",
     "pre 0 31;"},
    {"a | b\nc | d", "a | b\nc | d", ""},
    {"\U0001f600 **一二** x", "\U0001f600 一二 x", "bold 3 2;"},
    {"**重点**：好", "重点：好", "bold 0 2;"},
    {"<b>&amp;</b>", "<b>&amp;</b>", ""},
    {"end  \nof line\n\n", "end\nof line", ""},
    {"", "", ""},
};

static void flatten(struct ch_sv json, struct ch_buf *out) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&a, json, CH_JSON_STRICT, &v, NULL, NULL), 0);
    for (CH_JSON_EACH(e, v)) {
        struct ch_sv url = ch_json_get_str(e, "url"), language = ch_json_get_str(e, "language");
        ch_buf_addf(out, "%.*s %d %d%s%.*s%.*s;", CH_SV_FMT(ch_json_get_str(e, "type")),
                    (int)ch_json_int(ch_json_get(e, "offset"), -1),
                    (int)ch_json_int(ch_json_get(e, "length"), -1), url.n + language.n ? " " : "",
                    CH_SV_FMT(url), CH_SV_FMT(language));
    }
}

static void test_looks(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO text = {0}, entities = {0}, flat = {0};
        ch_telegram_text(ch_sv_str(cases[i].in), &text, &entities);
        flatten(ch_buf_sv(&entities), &flat);
        if (strcmp(ch_buf_str(&text), cases[i].text) != 0 ||
            strcmp(ch_buf_str(&flat), cases[i].entities) != 0)
            fail_msg("'%s':\n got '%s' %s\nwant '%s' %s", cases[i].in, ch_buf_str(&text),
                     ch_buf_str(&flat), cases[i].text, cases[i].entities);
    }
}

/* Whatever is written: valid text, no longer than it was, entities inside of it. */
static void test_anything(void **state) {
    (void)state;
    static const char *const pieces[] = {"*",  "**", "_", "~~", "`", "```\n", "[",  "](", ")", "!",
                                         "> ", "# ", "-", " ",  "a", "\n",    "一", "|", "\\",
                                         "\U0001f600", "https://x.example"};
    uint32_t seed = 7;
    for (int round = 0; round < 4000; round++) {
        CH_BUF_AUTO in = {0}, text = {0}, entities = {0};
        CH_ARENA_AUTO a = {0};
        const struct ch_json *v;
        for (int i = 0; i < 24; i++) {
            seed = seed * 1664525 + 1013904223;
            ch_buf_add_str(&in, pieces[(seed >> 16) % CH_LEN(pieces)]);
        }
        ch_telegram_text(ch_buf_sv(&in), &text, &entities);
        int64_t units = (int64_t)ch_telegram_units(ch_buf_sv(&text));
        assert_true(ch_utf8_valid(ch_buf_sv(&text)));
        assert_true(units <= (int64_t)ch_telegram_units(ch_buf_sv(&in)));
        assert_int_equal(
            ch_json_parse(&a, ch_buf_sv(&entities), CH_JSON_STRICT, &v, NULL, NULL), 0);
        for (CH_JSON_EACH(e, v)) {
            int64_t from = ch_json_int(ch_json_get(e, "offset"), -1);
            int64_t n = ch_json_int(ch_json_get(e, "length"), -1);
            if (from < 0 || n < 1 || from + n > units)
                fail_msg("'%s'", ch_buf_str(&in));
        }
    }
}

static void test_not_too_many(void **state) {
    (void)state;
    CH_BUF_AUTO in = {0}, text = {0}, entities = {0};
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    size_t n = 0;
    for (int i = 0; i < 300; i++)
        ch_buf_add_str(&in, "**x** ");
    ch_buf_add_str(&in, "\n");
    for (int i = 0; i < 300; i++)
        ch_buf_add_str(&in, "**x**\n");
    ch_telegram_text(ch_buf_sv(&in), &text, &entities);
    assert_int_equal(ch_json_parse(&a, ch_buf_sv(&entities), CH_JSON_STRICT, &v, NULL, NULL), 0);
    for (CH_JSON_EACH(e, v))
        n += e != NULL;
    assert_int_equal(n, CH_TELEGRAM_ENTITIES);
}

static bool fits(struct ch_sv part, struct ch_sv more) {
    return ch_telegram_units(part) + ch_telegram_units(more) <= 60;
}

/* Cut small, every part is valid by itself and nothing but fences is added. */
static void test_parts(void **state) {
    (void)state;
    static const struct ch_parts_ops ops = {.most = 240, .fits = fits};
    static const char text[] =
        "one line\n\n```py\nfirst line of code\nsecond line of code\nthird line of code\n```\n"
        "\U0001f600\U0001f600\U0001f600 一二三四五六七八九十一二三四五六七八九十"
        "一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十 end\n";
    struct ch_parts rest = {.text = ch_sv_str(text)};
    size_t n = 0, fences = 0;
    for (;; n++) {
        CH_BUF_AUTO part = {0};
        if (!ch_parts_next(&rest, &ops, &part))
            break;
        assert_true(ch_telegram_units(ch_buf_sv(&part)) <= 60);
        assert_true(ch_utf8_valid(ch_buf_sv(&part)));
        struct ch_sv lines = ch_buf_sv(&part);
        size_t here = 0;
        while (lines.p)
            here += ch_sv_starts(ch_sv_split(&lines, '\n'), "```");
        assert_int_equal(here % 2, 0);
        fences += here;
    }
    assert_true(n >= 4);
    assert_true(fences >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looks), cmocka_unit_test(test_anything),
        cmocka_unit_test(test_not_too_many), cmocka_unit_test(test_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

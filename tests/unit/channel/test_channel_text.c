/* test_channel_text.c -- the dialects of the channels that are modules: Slack, Discord. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "channel/discord/discord_text.h"
#include "channel/slack/slack_text.h"

struct row {
    const char *in, *out;
};

/* --- Slack */

static void test_slack_format(void **state) {
    static const struct row rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"a & b < c > d", "a &amp; b &lt; c &gt; d"},
        {"**bold** and __bold__", "*bold* and *bold*"},
        {"*it* and _it_ and ~~gone~~", "_it_ and _it_ and ~gone~"},
        {"2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"},
        {"**not closed", "**not closed"},
        {"# Title\n## Sub <x>", "*Title*\n*Sub &lt;x&gt;*"},
        {"#hashtag", "#hashtag"},
        {"- one\n* two\n  + three", "\xe2\x80\xa2 one\n\xe2\x80\xa2 two\n  \xe2\x80\xa2 three"},
        {"> said", "> said"},
        {"[a](https://x.y/?a=1&b=2)", "<https://x.y/?a=1&amp;b=2|a>"},
        {"![alt](https://x.y/p.png)", "<https://x.y/p.png|alt>"},
        {"[a](javascript:x)", "[a](javascript:x)"},
        {"[a|b](https://x.y)", "<https://x.y>"},
        {"`a*b*<c>`", "`a*b*&lt;c&gt;`"},
        {"```sh\na < b\n**x**\n```\nend", "```\na &lt; b\n**x**\n```\nend"},
        {"```\nopen", "```\nopen\n```"},
        {"| a | b |\n|---|---|\n| 1 | 2 |\nend", "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\nend"},
        {"| a |", "```\n| a |\n```"},
        {"```ls -la``` lists\n**b**", "```ls -la``` lists\n*b*"},
        {"````md\n```c\nx;\n```\n````\n**b**",
         "```\n``\xe2\x80\x8b`c\nx;\n``\xe2\x80\x8b`\n```\n*b*"},
        {"~~~\n```\n~~~\n*i*", "```\n``\xe2\x80\x8b`\n```\n_i_"},
        {"## **Bold** and `code`", "*Bold and `code`*"},
        {"# [a](https://x.y) *i*", "*<https://x.y|a> _i_*"},
        {"\\*no\\_mark\\*, C:\\dir", "*no_mark*, C:\\dir"},
        {"[C](https://x.y/C_(lang)) [d](https://x.y \"title\")",
         "<https://x.y/C_(lang)|C> <https://x.y|d>"},
        {"[a] (b) [c](d e)", "[a] (b) [c](d e)"},
        {"``a`b`` and ``c``", "```a`b``` and `c`"},
        {"\xe6\x98\xaf**\xe9\x87\x8d**\xe7\x82\xb9",
         "\xe6\x98\xaf\xe2\x80\x8b*\xe9\x87\x8d*\xe2\x80\x8b\xe7\x82\xb9"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CH_BUF_AUTO out = {0};
        ch_slack_format(&out, ch_sv_str(rows[i].in));
        assert_string_equal(ch_buf_str(&out), rows[i].out);
    }
}

static void test_slack_read(void **state) {
    static const struct {
        const char *in, *out;
        bool mentioned;
    } rows[] = {
        {"", "", false},
        {"a &lt;b&gt; &amp;amp; &x", "a <b> &amp; &x", false},
        {"<@U1> hello", "hello", true},
        {"hello <@U1>", "hello", true},
        {"<@U2|ben> and <@U3>", "@ben and @U3", false},
        {"<#C1|general> <#C2> <!here> <!subteam^S1|team>", "#general #C2 @here @team", false},
        {"<https://x.y|text> <https://x.y>", "text (https://x.y) https://x.y", false},
        {"<https://x.y|https://x.y>", "https://x.y", false},
        {"<not closed", "<not closed", false},
        {"<>", "", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CH_BUF_AUTO out = {0};
        assert_int_equal(ch_slack_read(&out, ch_sv_str(rows[i].in), "U1"), rows[i].mentioned);
        assert_string_equal(ch_buf_str(&out), rows[i].out);
    }
}

/* --- Discord */

static void test_discord_format(void **state) {
    static const struct row rows[] = {
        {"", ""},
        {"**bold** # no title", "**bold** # no title"},
        {"### three\n#### four ", "### three\n**four**"},
        {"see ![a](https://x.y) and \\![b](c)", "see [a](https://x.y) and \\![b](c)"},
        {"wow! [a](b)", "wow! [a](b)"},
        {"| a | bb |\n|:--|---|\n| ccc | d |", "```\na   | bb\n--- | ---\nccc | d\n```"},
        {"| a |\nend", "```\na\n```\nend"},
        {"```c\n| a |\n![x](y)\n```", "```c\n| a |\n![x](y)\n```"},
        {"~~~\ncode\n~~~", "```\ncode\n```"},
        {"```\nopen", "```\nopen\n```"},
        {"```x``` is `y`\n#### t", "```x``` is `y`\n**t**"},
        {"````md\n```c\n![x](y)\n```\n````\n#### t",
         "```md\n``\xe2\x80\x8b`c\n![x](y)\n``\xe2\x80\x8b`\n```\n**t**"},
        {"a || b || c, `x || y`", "a \\|\\| b \\|\\| c, `x || y`"},
        {"\\|\\| and |", "\\|\\| and |"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CH_BUF_AUTO out = {0};
        ch_discord_format(&out, ch_sv_str(rows[i].in));
        assert_string_equal(ch_buf_str(&out), rows[i].out);
    }
}

/* A part that fits before it is formatted fits afterwards. */
static void test_discord_fits(void **state) {
    static const char *const pieces[] = {"|a|\n\n", "| a | b | c |\n", "#### x\n", "~~~\n",
                                         "\xf0\x9f\x98\x80"};
    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        CH_BUF_AUTO in = {0}, out = {0};
        if (i == 1)
            ch_buf_add_str(&in, "| a long cell that makes all the others in its column very wide "
                                "| b | c |\n");
        while (ch_discord_length(ch_buf_sv(&in)) + 16 < CH_DISCORD_SPLIT)
            ch_buf_add_str(&in, pieces[i]);
        ch_discord_format(&out, ch_buf_sv(&in));
        assert_true(ch_discord_length(ch_buf_sv(&out)) <= CH_DISCORD_TEXT);
    }
}

static void test_discord_exact(void **state) {
    static const struct row rows[] = {
        {"a", "```\na\n```"},
        {"``a``", "```\n``a``\n```"},
        {"```", "```\n``\xe2\x80\x8b`\n```"},
        {"``````", "```\n``\xe2\x80\x8b``\xe2\x80\x8b``\n```"},
    };
    CH_BUF_AUTO ticks = {0}, out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CH_BUF_AUTO one = {0};
        ch_discord_exact(&one, ch_sv_str(rows[i].in));
        assert_string_equal(ch_buf_str(&one), rows[i].out);
    }
    for (size_t i = 0; i < 1290; i++)
        ch_buf_addc(&ticks, '`');
    ch_discord_exact(&out, ch_buf_sv(&ticks));
    assert_true(ch_discord_length(ch_buf_sv(&out)) <= CH_DISCORD_TEXT - 50);
}

static void test_discord_read(void **state) {
    static const struct row rows[] = {
        {"<@7> hello <@!7>", "hello"},
        {"<@8> <@9> <@!10>", "@Ann @bob @10"},
        {"<@&5> <#6> <:smile:1> <a:wave:2>", "@role 5 #6 :smile: :wave:"},
        {"a < b <@x> <t:1> <", "a < b <@x> <t:1> <"},
        {"<:x> <::1> <:y:z>", "<:x> <::1> <:y:z>"},
    };
    CH_ARENA_AUTO a = {0};
    const struct ch_json *people;
    (void)state;
    assert_int_equal(
        ch_json_parse(&a,
                      CH_SV("[{\"id\":\"8\",\"username\":\"ann1\",\"global_name\":\"Ann\"},"
                            "{\"id\":\"9\",\"username\":\"bob\",\"global_name\":null}]"),
                      CH_JSON_STRICT, &people, NULL, NULL),
        0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CH_BUF_AUTO out = {0};
        ch_discord_read(&out, ch_sv_str(rows[i].in), people, "7");
        assert_string_equal(ch_buf_str(&out), rows[i].out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slack_format),   cmocka_unit_test(test_slack_read),
        cmocka_unit_test(test_discord_format), cmocka_unit_test(test_discord_fits),
        cmocka_unit_test(test_discord_exact),  cmocka_unit_test(test_discord_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_tags.c -- calls and thoughts in plain text.
 *
 * Every case is read whole, byte by byte, and in two pieces split at every
 * byte: always the same. Cut short at any byte, it gives no call that the whole
 * does not give as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/message/message.h"
#include "model/codec/tags.h"

struct out {
    struct ch_buf log; /* "text", "(thought)", "[name {arguments} flags]" */
    int last;
    unsigned runnable;
};

static void add(struct out *o, int kind, const char *open, struct ch_sv piece) {
    if (o->last != kind) {
        if (o->last == '(')
            ch_buf_addc(&o->log, ')');
        ch_buf_add_str(&o->log, open);
    }
    o->last = kind;
    ch_buf_add_sv(&o->log, piece);
}

static void on_text(struct ch_sv piece, void *user) {
    assert_true(piece.n > 0);
    add(user, 't', "", piece);
}

static void on_reasoning(struct ch_sv piece, void *user) {
    assert_true(piece.n > 0);
    add(user, '(', "(", piece);
}

static void on_call(const struct ch_tagged_call *call, void *user) {
    struct out *o = user;
    unsigned broken = call->flags & (CH_F_CUT | CH_F_INVALID);
    add(o, 'c', "", CH_SV(""));
    ch_buf_addf(&o->log, "[%.*s %.*s%s%s%s]", CH_SV_FMT(call->name), CH_SV_FMT(call->arguments),
                call->flags & CH_F_CUT ? " cut" : "", call->flags & CH_F_INVALID ? " invalid" : "",
                call->flags & CH_F_REPAIRED ? " repaired" : "");
    o->runnable += !broken;
}

static const struct ch_tags_sink sink = {on_text, on_reasoning, on_call};

/* In two pieces, the second in pieces of `piece` bytes. */
static void read_split(struct out *o, enum ch_tags_mode mode, struct ch_sv text, size_t first,
                       size_t piece) {
    struct ch_tags tags;
    *o = (struct out){0};
    ch_tags_init(&tags, mode, &sink, o);
    for (size_t at = 0, n = first; at < text.n; at += n, n = piece) {
        n = CH_MIN(n, text.n - at);
        char *copy = ch_memdup(text.p + at, n);
        ch_tags_feed(&tags, ch_sv(copy, n));
        ch_free(copy);
    }
    ch_tags_end(&tags);
    if (o->last == '(')
        ch_buf_addc(&o->log, ')');
    ch_tags_release(&tags);
}

static void check(enum ch_tags_mode mode, const char *in, const char *want) {
    struct ch_sv text = ch_sv_str(in);
    struct out whole, part;
    read_split(&whole, mode, text, text.n, text.n);
    if (strcmp(ch_buf_str(&whole.log), want) != 0)
        fail_msg("%s\n  gave: %s\n  want: %s", in, ch_buf_str(&whole.log), want);
    for (size_t first = 1; first <= text.n; first++)
        for (size_t piece = 1; piece <= text.n; piece += text.n > 1 ? text.n - 1 : 1) {
            read_split(&part, mode, text, first, piece);
            if (strcmp(ch_buf_str(&part.log), want) != 0)
                fail_msg("%s\n  split at %zu, by %zu: %s\n  want: %s", in, first, piece,
                         ch_buf_str(&part.log), want);
            ch_buf_release(&part.log);
        }
    for (size_t n = 0; n < text.n; n++) {
        read_split(&part, mode, ch_sv(in, n), n, n);
        if (part.runnable > whole.runnable)
            fail_msg("%s\n  cut after %zu: %s", in, n, ch_buf_str(&part.log));
        ch_buf_release(&part.log);
    }
    ch_buf_release(&whole.log);
}

#define CALL(s) "<tool_call>" s "</tool_call>"
#define LS CALL("{\"name\":\"ls\",\"arguments\":{}}")

struct row {
    const char *in, *want;
};

static void check_rows(const struct row *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        check(CH_TAGS_CALLS, rows[i].in, rows[i].want);
}

static void test_calls(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"", ""},
        {"just text", "just text"},
        {LS, "[ls {}]"},
        {"Let me look.\n\n" LS "\n", "Let me look.[ls {}]"},
        {"before\n" LS " after", "before[ls {}]after"},
        {LS LS, "[ls {}][ls {}]"},
        {LS "\n" LS "\nDone.", "[ls {}][ls {}]Done."},
        {CALL("\n{\"name\": \"f\", \"arguments\": {\"a\": 1.50, \"b\": [true]}}\n"),
         "[f {\"a\":1.50,\"b\":[true]}]"},
        /* the arguments under other names, in a string, absent */
        {CALL("{\"name\":\"f\",\"parameters\":{\"a\":1}}"), "[f {\"a\":1}]"},
        {CALL("{\"tool\":\"f\",\"input\":{\"a\":1}}"), "[f {\"a\":1}]"},
        {CALL("{\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}"), "[f {\"a\":1}]"},
        {CALL("{\"name\":\"f\"}"), "[f {}]"},
        {CALL("{\"name\":\"f\",\"arguments\":null}"), "[f {}]"},
        {CALL("[{\"name\":\"f\"},{\"name\":\"g\",\"args\":{}}]"), "[f {}][g {}]"},
        {"<function_call>{\"name\":\"f\"}</function_call>", "[f {}]"},
        {"<tool_calls>\n" LS "\n</tool_calls>", "[ls {}]"},
        /* a closing tag inside a string is part of it */
        {CALL("{\"name\":\"w\",\"arguments\":{\"t\":\"a</tool_call>b\\\"</tool_call>\"}}"),
         "[w {\"t\":\"a</tool_call>b\\\"</tool_call>\"}]"},
    };
    check_rows(rows, CH_LEN(rows));
}

static void test_fences(void **state) {
    (void)state;
    static const struct row rows[] = {
        {CALL("\n```json\n{\"name\":\"f\"}\n```\n"), "[f {}]"},
        {CALL("```\n{\"name\":\"f\",\"arguments\":{\"t\":\"\\n```\"}}\n```"),
         "[f {\"t\":\"\\n```\"}]"},
        {"```tool_call\n{\"name\":\"f\"}\n```\nand on", "[f {}]and on"},
        /* in a code block, or in code, a tag is text */
        {"```\n" LS "\n```", "```\n" LS "\n```"},
        {"```xml\n" LS "\n```\n" LS, "```xml\n" LS "\n```[ls {}]"},
        {"~~~\n" LS "\n~~~", "~~~\n" LS "\n~~~"},
        {"````\n```\n" LS "\n````\n" LS, "````\n```\n" LS "\n````[ls {}]"},
        {"Write `" LS "`, then.", "Write `" LS "`, then."},
        {"``a ` " LS "``\n" LS, "``a ` " LS "``[ls {}]"},
        {"it`s\n" LS, "it`s[ls {}]"},
        {"never closed\n```\n" LS, "never closed\n```\n" LS},
        {"a ``` b " LS, "a ``` b " LS},
    };
    check_rows(rows, CH_LEN(rows));
}

static void test_prose(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"The <tool_call> tag", "The <tool_call> tag"},
        {"a < b, <b>bold</b>, <tool", "a < b, <b>bold</b>, <tool"},
        {"see <function=> and <invoke name=>", "see <function=> and <invoke name=>"},
        {"ends with <tool_call>", "ends with <tool_call>"},
        {"a <tool_result> of old", "a <tool_result> of old"},
        {"I <think> so", "I <think> so"},
        {"  x\n\n y \n", "x\n\n y"},
    };
    check_rows(rows, CH_LEN(rows));
}

/* What a model repeats from elsewhere stays text. */
static void test_quoted(void **state) {
    static const char *const quoted[] = {
        "The page says: " LS,
        "The page says \"" LS "\".",
        "A\n\"" LS "\"",
        "A\n'" LS "'",
        "It says: \"\n" LS "\n\" and more.",
        "It says \"do this:\n" LS "\".",
        "It says \xe2\x80\x9c\n" LS "\n\xe2\x80\x9d.",
        "\xe3\x80\x8c\n" LS "\n\xe3\x80\x8d",
        "A\n\xc2\xab" LS "\xc2\xbb",
        "> " LS,
        "> quoted\n> " LS,
        "> quoted\n" LS,
        "> quoted\nlazily\n" LS,
        "- " LS,
        "* item\n  " LS,
        "1. " LS,
        "12) item\n    " LS,
        "- a\n\n  " LS,
        "Code:\n\n    " LS,
        "Code:\n\t" LS,
        "| a | " LS " |",
        "| " LS " |",
        "# " LS,
        "// " LS,
        "<!-- " LS " -->",
        "A\n<!--\n" LS "\n-->",
        "x\n/*\n" LS "\n*/",
        "doc:\n\"\"\"\n" LS "\n\"\"\"",
        "doc:\n'''\n" LS "\n'''",
        "x\n<pre>\n" LS "\n</pre>",
        "x <code>\n" LS "\n</code>",
        "x\n<PRE class=\"a\">\n" LS "\n</PRE>",
        "x\n<blockquote>\n\n" LS "\n</blockquote>",
        "x\n<table>\n" LS "\n</table>",
        "- ```\n" LS "\n  ```",
        "> ```\n> " LS "\n> ```",
        "1. ~~~\n" LS "\n   ~~~",
        "x `\n" LS "\n`",
        "see [" LS "](x)",
        "**" LS "**",
        "=> " LS,
        "a\n - b\n   " LS,
        "> ```tool_call\n{\"name\":\"ls\"}\n```",
        "- ```tool_call\n{\"name\":\"ls\"}\n```",
        "The log has [TOOL_CALLS]ls[ARGS]{}",
        "> [TOOL_CALLS]ls[ARGS]{}",
        "It is <function=ls>{}</function>",
        "A \"<invoke name=\"ls\"></invoke>\"",
        "> <tool_calls>\n> " LS "\n> </tool_calls>",
    };
    static const struct row own[] = {
        {"\"quoted\" and 5\" wide.\n" LS, "\"quoted\" and 5\" wide.[ls {}]"},
        {"I'll look, don't worry.\n" LS, "I'll look, don't worry.[ls {}]"},
        {"> quoted\n\n" LS, "> quoted[ls {}]"},
        {"1. a\n2. b\n\n" LS, "1. a\n2. b[ls {}]"},
        {"1. a\n2. b\n" LS, "1. a\n2. b[ls {}]"},
        {"<!-- x -->\n" LS, "<!-- x -->[ls {}]"},
        {"x <code>a</code>\n" LS, "x <code>a</code>[ls {}]"},
        {"a \"b\n\nc\n" LS, "a \"b\n\nc[ls {}]"},
        {"- ```\n  x\n  ```\n" LS, "- ```\n  x\n  ```[ls {}]"},
        {LS "\n  " LS, "[ls {}][ls {}]"},
        {"\xe2\x80\x9cx\xe2\x80\x9d\n" LS, "\xe2\x80\x9cx\xe2\x80\x9d[ls {}]"},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(quoted); i++)
        check(CH_TAGS_CALLS, quoted[i], quoted[i]);
    check_rows(own, CH_LEN(own));
}

static void test_xml(void **state) {
    (void)state;
    static const struct row rows[] = {
        {CALL("<name>f</name><arguments>{\"a\":1}</arguments>"), "[f {\"a\":1}]"},
        {CALL("<name>f</name><parameters><a>1</a><b>x y</b></parameters>"),
         "[f {\"a\":\"1\",\"b\":\"x y\"}]"},
        {CALL("<name> f </name>"), "[f {}]"},
        {"<function=f><parameter=path>\na.c\n</parameter></function>", "[f {\"path\":\"a.c\"}]"},
        {"<tool_call>\n<function=f>\n<parameter=n>\n1\n2\n</parameter>\n</function>\n</tool_call>",
         "[f {\"n\":\"1\\n2\"}]"},
        {"<function=f>{\"a\":1}</function>", "[f {\"a\":1}]"},
        {"<function_calls>\n<invoke name=\"f\">\n<parameter name=\"a\">if (x < y && z)</parameter>"
         "\n</invoke>\n<invoke name=\"g\"></invoke>\n</function_calls>",
         "[f {\"a\":\"if (x < y && z)\"}][g {}]"},
        {CALL("<name>f</name><input><t><![CDATA[ <b> ]]></t></input>"), "[f {\"t\":\" <b> \"}]"},
        {CALL("<what>f</what>"), "[ <what>f</what> invalid]"},
    };
    check_rows(rows, CH_LEN(rows));
}

/* As GLM and Mistral's models were taught. */
static void test_named(void **state) {
    (void)state;
    static const struct row rows[] = {
        {CALL("f\n<arg_key>a</arg_key>\n<arg_value>x < y</arg_value>\n<arg_key>n</arg_key>\n"
              "<arg_value>1</arg_value>\n"),
         "[f {\"a\":\"x < y\",\"n\":\"1\"}]"},
        {"So.\n" CALL("get-it<arg_key>a</arg_key><arg_value>1</arg_value>") CALL("g") "x",
         "So.[get-it {\"a\":\"1\"}][g {}]x"},
        {CALL("f\n<arg_value>lost</arg_value>"), CALL("f\n<arg_value>lost</arg_value>")},
        {"<tool_call>f<arg_key>a</arg_key><arg_val", "[f f<arg_key>a</arg_key><arg_val cut]"},
        {"the <tool_call>s of f<arg_key>", "the <tool_call>s of f<arg_key>"},
        {"a <tool_call> token", "a <tool_call> token"},
        {"<tool_call> and </tool_call>", "<tool_call> and </tool_call>"},

        {"[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{\"a\":\"]}\"}},{\"name\":\"g\"}]\nok",
         "[f {\"a\":\"]}\"}][g {}]ok"},
        {"Hm.\n[TOOL_CALLS] {\"name\":\"f\",\"arguments\":{}}", "Hm.[f {}]"},
        {"[TOOL_CALLS]f[ARGS]{\"a\":{\"b\":\"\\\"}\"}}[TOOL_CALLS]g[CALL_ID]12345[ARGS]{}",
         "[f {\"a\":{\"b\":\"\\\"}\"}}][g {}]"},
        {"[TOOL_CALLS]f [ARGS] [1]{}", "[f [1]{} invalid]"},
        {"[TOOL_CALLS]f[ARGS]{\"a\":1", "[f f[ARGS]{\"a\":1 cut]"},
        {"[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{}}", "[f {}} cut]"},
        {"the [TOOL_CALLS] token, [TOOL_CALLS] [1], [TO",
         "the [TOOL_CALLS] token, [TOOL_CALLS] [1], [TO"},
        {"`[TOOL_CALLS]f[ARGS]{}` and [a](b), x[T", "`[TOOL_CALLS]f[ARGS]{}` and [a](b), x[T"},
    };
    check_rows(rows, CH_LEN(rows));
}

static void test_thoughts(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"<think>\nhm\n</think>\n\nYes.", "(hm)Yes."},
        {"Well.\n<scratchpad>a </b> c</scratchpad> Yes.", "Well.(a </b> c)Yes."},
        {"<thinking>" LS "</thinking>" LS, "(" LS ")[ls {}]"},
        {"<think>never ended", "(never ended)"},
        {"<think></think>Yes.", "Yes."},
        {"<think>a</thinking>b</think>c", "(a</thinking>b)c"},
        {"```\n<think>\n```", "```\n<think>\n```"},
    };
    check_rows(rows, CH_LEN(rows));
}

static void test_broken(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"go\n<tool_call>{\"name\":\"f\",\"argu", "go[f {\"name\":\"f\",\"argu cut]"},
        {"<tool_call>{\"name\":\"f\",\"arguments\":{}}", "[f {}} cut]"},
        {"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_cal", "[f {}}</tool_cal cut]"},
        {CALL("{\"name\":\"f\",\"arguments\":{\"a\":\"line\nbreak\",}}"),
         "[f {\"a\":\"line\\nbreak\"} repaired]"},
        {"<function=f><parameter=a>", "[f <function=f><parameter=a> cut]"},
        {CALL("{\"name\":\"f\",\"arguments\":{\"a\":"),
         "[f {\"name\":\"f\",\"arguments\":{\"a\": invalid]"},
        {CALL("{\"name\":\"f\",\"arguments\":[1]}"), "[f [1] invalid]"},
        {CALL("{\"arguments\":{}}"), "[ {} invalid]"},
        {CALL("{\"name\":\"f\",\"arguments\":{\"a\":\"x}}") " more",
         "[f {\"a\":\"x}}</tool_call> more invalid]"},
        /* a result that the model made up, and what it built on it */
        {LS "\n<tool_result name=\"ls\">a.c</tool_result>\n" LS "It is a.c.", "[ls {}]"},
    };
    check_rows(rows, CH_LEN(rows));
}

static void test_only_thoughts(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"", ""},
        {"  \n plain \n", "  \n plain \n"},
        {"\n<think>hm</think>\n\n a \n" LS, "(hm)a \n" LS},
        {"<think>hm", "(hm)"},
        {"<thin", "<thin"},
        {"a <think>b</think>", "a <think>b</think>"},
        {LS, LS},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++)
        check(CH_TAGS_THINK, rows[i].in, rows[i].want);
}

/* A flood byte by byte is read in one pass: this would take hours otherwise. */
static void test_flood(void **state) {
    (void)state;
    static const char *const begins[] = {
        "<tool_call>",   "",           "```tool_call", "<tool_calls>", "<tool_call>f",
        "[TOOL_CALLS]f", "<tool_call>"};
    static const char marks[] = {' ', '`', ' ', '\n', ' ', '\n', 'f'};
    for (size_t i = 0; i < CH_LEN(begins); i++) {
        CH_BUF_AUTO text = {0};
        struct out o;
        ch_buf_add_str(&text, begins[i]);
        for (size_t k = 0; k < 1000000; k++)
            ch_buf_addc(&text, marks[i]);
        ch_buf_addc(&text, 'x');
        read_split(&o, CH_TAGS_CALLS, ch_buf_sv(&text), 1, 1);
        assert_int_equal(o.runnable, 0);
        assert_true(o.log.n == text.n);
        ch_buf_release(&o.log);
    }
}

/* The same within a call that is not JSON. */
static void test_flood_of_lines(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    struct out o;
    ch_buf_add_str(&text, "<tool_call><");
    for (size_t k = 0; k < 1000000; k++)
        ch_buf_addc(&text, '\n');
    read_split(&o, CH_TAGS_CALLS, ch_buf_sv(&text), 1, 1);
    assert_int_equal(o.runnable, 0);
    ch_buf_release(&o.log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),          cmocka_unit_test(test_fences),
        cmocka_unit_test(test_prose),          cmocka_unit_test(test_quoted),
        cmocka_unit_test(test_xml),
        cmocka_unit_test(test_thoughts),       cmocka_unit_test(test_broken),
        cmocka_unit_test(test_only_thoughts),  cmocka_unit_test(test_flood),
        cmocka_unit_test(test_flood_of_lines), cmocka_unit_test(test_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_reader.c -- what is JSON and what is not, and the tree that results.
 *
 * The tree is checked by its dump: every node with its type, so that counts,
 * subtree sizes and flags are all walked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/scan.h"
#include "json/writer.h"

#define REP "\xef\xbf\xbd" /* U+FFFD */

/* Reads a copy that ends where its memory ends, so that the sanitizers see a
 * byte read too far. The copy lives until the next call. */
static int parse(struct ch_arena *a, struct ch_sv text, enum ch_json_mode mode,
                 const struct ch_json **out) {
    static char *copy;
    ch_free(copy);
    copy = ch_memdup(text.p, text.n);
    return ch_json_parse(a, ch_sv(copy, text.n), mode, out, NULL, NULL);
}

static void dump(const struct ch_json *v, struct ch_buf *out) {
    switch ((enum ch_json_type)v->type) {
    case CH_JSON_NULL:
    case CH_JSON_TRUE:
    case CH_JSON_FALSE:
        ch_buf_addc(out, "nft"[v->type]);
        break;
    case CH_JSON_NUMBER:
        ch_buf_addf(out, "%s%.*s", v->flags & CH_JSON_INTEGER ? "i" : "d", (int)v->n, v->s);
        break;
    case CH_JSON_STRING:
        ch_buf_addc(out, v->flags & CH_JSON_PLAIN ? '\'' : '"');
        for (size_t i = 0; i < v->n; i++)
            if ((unsigned char)v->s[i] < 0x20)
                ch_buf_addf(out, "<%02x>", v->s[i]);
            else
                ch_buf_addc(out, v->s[i]);
        ch_buf_addc(out, v->flags & CH_JSON_PLAIN ? '\'' : '"');
        break;
    case CH_JSON_ARRAY:
        ch_buf_addf(out, "[%u", v->n);
        for (CH_JSON_EACH(e, v)) {
            ch_buf_addc(out, ' ');
            dump(e, out);
        }
        ch_buf_addc(out, ']');
        break;
    case CH_JSON_OBJECT:
        ch_buf_addf(out, "{%u", v->n);
        for (CH_JSON_MEMBERS(k, e, v)) {
            ch_buf_addc(out, ' ');
            dump(k, out);
            ch_buf_addc(out, ':');
            dump(e, out);
        }
        ch_buf_addc(out, '}');
        break;
    }
}

/* Valid in both modes, with the same tree. */
static const struct {
    const char *text, *want;
} valid[] = {
    {"null", "n"},
    {"true", "t"},
    {"false", "f"},
    {"0", "i0"},
    {"-0", "i-0"},
    {"1", "i1"},
    {"-1", "i-1"},
    {"1234567890", "i1234567890"},
    {"9223372036854775808", "i9223372036854775808"},
    {"0.1", "d0.1"},
    {"1.0", "d1.0"},
    {"-0.0", "d-0.0"},
    {"1e400", "d1e400"},
    {"1E+2", "d1E+2"},
    {"1e-2", "d1e-2"},
    {"0e1", "d0e1"},
    {"0e+1", "d0e+1"},
    {"1.5e3", "d1.5e3"},
    {"1e0000000001", "d1e0000000001"},
    {" \t\r\n1 \t\r\n", "i1"},
    {"\"\"", "''"},
    {"\"a\"", "'a'"},
    {"\"abcdefg\"", "'abcdefg'"},
    {"\"abcdefgh\"", "'abcdefgh'"},
    {"\"abcdefghijklmnopqrstuvwxyz0123456789\"", "'abcdefghijklmnopqrstuvwxyz0123456789'"},
    {"\"\x7f\"", "'\x7f'"},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\"\\/<08><0c><0a><0d><09>\""},
    {"\"a\\u0041b\"", "\"aAb\""},
    {"\"\\u0000\"", "\"<00>\""},
    {"\"\\u00e9\\u00E9\"", "\"\xc3\xa9\xc3\xa9\""},
    {"\"\\u4f60\"", "\"\xe4\xbd\xa0\""},
    {"\"\\uffff\\ufffe\"", "\"\xef\xbf\xbf\xef\xbf\xbe\""},
    {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
    {"\"\\uDBFF\\uDFFF\"", "\"\xf4\x8f\xbf\xbf\""},
    {"\"\xe4\xbd\xa0\xe5\xa5\xbd\"", "\"\xe4\xbd\xa0\xe5\xa5\xbd\""},
    {"\"abcdefg\xc3\xa9\xf0\x9f\x98\x80z\"", "\"abcdefg\xc3\xa9\xf0\x9f\x98\x80z\""},
    {"\"\xe2\x80\xa8\xe2\x80\xa9\"", "\"\xe2\x80\xa8\xe2\x80\xa9\""},
    {"\"\xef\xbb\xbf\"", "\"\xef\xbb\xbf\""},
    {"[]", "[0]"},
    {"[ ]", "[0]"},
    {"{}", "{0}"},
    {"{ \n}", "{0}"},
    {"[1]", "[1 i1]"},
    {"[1,2,3]", "[3 i1 i2 i3]"},
    {"[ 1 , 2 ]", "[2 i1 i2]"},
    {"[[]]", "[1 [0]]"},
    {"[[],[[]],{}]", "[3 [0] [1 [0]] {0}]"},
    {"[null,true,false]", "[3 n t f]"},
    {"[-0,1e5]", "[2 i-0 d1e5]"},
    {"{\"a\":1}", "{1 'a':i1}"},
    {"{ \"a\" : 1 , \"b\" : [ ] }", "{2 'a':i1 'b':[0]}"},
    {"{\"a\":{\"b\":{\"c\":[]}}}", "{1 'a':{1 'b':{1 'c':[0]}}}"},
    {"{\"\":0}", "{1 '':i0}"},
    {"{\"a\":1,\"a\":2}", "{2 'a':i1 'a':i2}"},
    {"{\"\\u0061\":1}", "{1 \"a\":i1}"},
    {"[\"\\n\",\"x\",\"\\t\"]", "[3 \"<0a>\" 'x' \"<09>\"]"},
    {"[1,\n        2,\n                3]", "[3 i1 i2 i3]"},
    {"[{\"a\":[{}]},\"b\",[[1],[2]]]", "[3 {1 'a':[1 {0}]} 'b' [2 [1 i1] [1 i2]]]"},
};

/* Refused in both modes; the place is an offset in bytes. */
static const struct {
    const char *text;
    size_t n; /* 0: up to the NUL */
    size_t offset;
} invalid[] = {
    {"", 0, 0},
    {" ", 0, 1},
    {"\n\t ", 0, 3},
    {"x", 0, 0},
    {"nul", 0, 0},
    {"nulL", 0, 0},
    {"NULL", 0, 0},
    {"True", 0, 0},
    {"trues", 0, 4},
    {"nan", 0, 0},
    {"NaN", 0, 0},
    {"Infinity", 0, 0},
    {"-Infinity", 0, 1},
    {"undefined", 0, 0},
    {"-", 0, 1},
    {"+1", 0, 0},
    {"01", 0, 0},
    {"-01", 0, 1},
    {"00", 0, 0},
    {"1.", 0, 2},
    {".1", 0, 0},
    {"-.1", 0, 1},
    {"1.e1", 0, 2},
    {"1e", 0, 2},
    {"1e+", 0, 3},
    {"1e1.5", 0, 3},
    {"1E1E1", 0, 3},
    {"0x1", 0, 1},
    {"1_000", 0, 1},
    {"1 2", 0, 2},
    {"1,", 0, 1},
    {"--1", 0, 1},
    {"- 1", 0, 1},
    {"\"", 0, 1},
    {"\"a", 0, 2},
    {"\"\\", 0, 2},
    {"\"\\\"", 0, 3},
    {"'a'", 0, 0},
    {"\"\\x41\"", 0, 1},
    {"\"\\'\"", 0, 1},
    {"\"\\a\"", 0, 1},
    {"\"\\ \"", 0, 1},
    {"\"\\N\"", 0, 1},
    {"\"\\0\"", 0, 1},
    {"\"\\u\"", 0, 1},
    {"\"\\u1\"", 0, 1},
    {"\"\\u123\"", 0, 1},
    {"\"\\u12g4\"", 0, 1},
    {"\"\\u 123\"", 0, 1},
    {"\"\\u-123\"", 0, 1},
    {"\"\\U0041\"", 0, 1},
    {"\"a\"b", 0, 3},
    {"\"a\"\"b\"", 0, 3},
    {"[", 0, 1},
    {"]", 0, 0},
    {"[1", 0, 2},
    {"[1,", 0, 3},
    {"[1,]", 0, 3},
    {"[,]", 0, 1},
    {"[,1]", 0, 1},
    {"[1,,2]", 0, 3},
    {"[1 2]", 0, 3},
    {"[1}", 0, 2},
    {"[1:2]", 0, 2},
    {"[\"a\":1]", 0, 4},
    {"[]]", 0, 2},
    {"[][]", 0, 2},
    {"[1]x", 0, 3},
    {"{", 0, 1},
    {"}", 0, 0},
    {"{]", 0, 1},
    {"[}", 0, 1},
    {"{\"a\"", 0, 4},
    {"{\"a\":", 0, 5},
    {"{\"a\":1", 0, 6},
    {"{\"a\":1,", 0, 7},
    {"{\"a\":1,}", 0, 7},
    {"{,}", 0, 1},
    {"{\"a\"}", 0, 4},
    {"{\"a\":}", 0, 5},
    {"{\"a\",1}", 0, 4},
    {"{\"a\" 1}", 0, 5},
    {"{\"a\"::1}", 0, 5},
    {"{\"a\":1 \"b\":2}", 0, 7},
    {"{\"a\":1]", 0, 6},
    {"{1:1}", 0, 1},
    {"{a:1}", 0, 1},
    {"{'a':1}", 0, 1},
    {"{null:1}", 0, 1},
    {"{[]:1}", 0, 1},
    {"{}}", 0, 2},
    {"{}{}", 0, 2},
    {"// c\n1", 0, 0},
    {"1 /* c */", 0, 2},
    {"# c\n1", 0, 0},
    {"1\v", 0, 1},
    {"1\f", 0, 1},
    {"\xc2\xa0"
     "1",
     0, 0},
    {"[1\xe3\x80\x80]", 0, 2},
    {"\xff", 0, 0},
    {"[\xff]", 0, 1},
    {"\xff\xfe[\x00]\x00", 6, 0},
    {"\0", 1, 0},
    {"1\0", 2, 1},
    {"[1]\0", 4, 3},
    {"[\0]", 3, 1},
    {"\xef\xbb", 0, 0},
};

/* Refused when strict; otherwise this tree. */
static const struct {
    const char *text, *want;
    size_t offset;
} tolerated[] = {
    {"\xef\xbb\xbf[1]", "[1 i1]", 0},
    {"\xef\xbb\xbf", NULL, 0},
    {"\"\n\"", "\"<0a>\"", 1},
    {"\"a\tb\"", "\"a<09>b\"", 2},
    {"\"\x1f\"", "\"<1f>\"", 1},
    {"\"abcdefghij\x01klm\"", "\"abcdefghij<01>klm\"", 11},
    {"\"\xff\"", "\"" REP "\"", 1},
    {"\"a\xff\\n\"", "\"a" REP "<0a>\"", 2},
    {"\"\x80\xbf\"", "\"" REP REP "\"", 1},
    {"\"\xc0\x80\"", "\"" REP REP "\"", 1},
    {"\"\xe4\xbd\"", "\"" REP REP "\"", 1},
    {"\"\xe4\xbd\\u0041\"", "\"" REP REP "A\"", 1},
    {"\"\xed\xa0\x80\"", "\"" REP REP REP "\"", 1},
    {"\"\xf4\x90\x80\x80\"", "\"" REP REP REP REP "\"", 1},
    {"\"\xf0\x9f\x98\x80\xf0\"", "\"\xf0\x9f\x98\x80" REP "\"", 5},
    {"\"\\ud83d\"", "\"" REP "\"", 1},
    {"\"\\ude00\"", "\"" REP "\"", 1},
    {"\"\\ude00\\ud83d\"", "\"" REP REP "\"", 1},
    {"\"\\ud83d\\ud83d\\ude00\"", "\"" REP "\xf0\x9f\x98\x80\"", 1},
    {"\"\\ud83dx\"", "\"" REP "x\"", 1},
    {"\"\\ud83d\\n\"", "\"" REP "<0a>\"", 1},
    {"\"\\ud83d\\u0041\"", "\"" REP "A\"", 1},
    {"{\"\xff\":\"\xfe\"}", "{1 \"" REP "\":\"" REP "\"}", 2},
};

static void expect(struct ch_sv text, enum ch_json_mode mode, const char *want) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO got = {0};
    const struct ch_json *v = NULL;
    int rc = parse(&a, text, mode, &v);
    if (!want) {
        if (rc != CHELA_EPARSE || v)
            fail_msg("accepted: %.*s", (int)text.n, text.p);
        return;
    }
    if (rc < 0)
        fail_msg("refused: %.*s", (int)text.n, text.p);
    dump(v, &got);
    assert_string_equal(ch_buf_str(&got), want);
}

static void test_valid(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(valid); i++) {
        expect(ch_sv_str(valid[i].text), CH_JSON_STRICT, valid[i].want);
        expect(ch_sv_str(valid[i].text), CH_JSON_REPLACE, valid[i].want);
    }
}

static struct ch_json_where refused_at(struct ch_sv text, enum ch_json_mode mode) {
    CH_ARENA_AUTO a = {0};
    struct ch_json_where w = {0};
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&a, text, mode, &v, &w, NULL), CHELA_EPARSE);
    return w;
}

static void test_invalid(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(invalid); i++) {
        struct ch_sv text = ch_sv_str(invalid[i].text);
        if (invalid[i].n)
            text.n = invalid[i].n;
        expect(text, CH_JSON_STRICT, NULL);
        expect(text, CH_JSON_REPLACE, NULL);
        if (refused_at(text, CH_JSON_STRICT).offset != invalid[i].offset)
            fail_msg("%s: at %zu", invalid[i].text, refused_at(text, CH_JSON_STRICT).offset);
    }
}

static void test_tolerated(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(tolerated); i++) {
        struct ch_sv text = ch_sv_str(tolerated[i].text);
        expect(text, CH_JSON_STRICT, NULL);
        expect(text, CH_JSON_REPLACE, tolerated[i].want);
        assert_int_equal(refused_at(text, CH_JSON_STRICT).offset, tolerated[i].offset);
    }
}

static const char sample[] =
    "{\"id\":\"msg_01\",\"n\":[0,-1.5e+10,true,false,null],\"text\":\"a\\n\\u4f60\xe5\xa5\xbd "
    "\\ud83d\\ude00 plain text that is longer than a word\",\"deep\":[[{\"a\":{}}],[]],\"\":\"\"}";

static void test_every_prefix_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {sample, "[[[[[[[[[[]]]]]]]]]]", "[true,false,null,12]",
                                        "\"\\ud83d\\ude00\\u0041\xf0\x9f\x98\x80\""};
    for (size_t i = 0; i < CH_LEN(texts); i++) {
        size_t n = strlen(texts[i]);
        for (size_t cut = 0; cut < n; cut++) {
            expect(ch_sv(texts[i], cut), CH_JSON_STRICT, NULL);
            expect(ch_sv(texts[i], cut), CH_JSON_REPLACE, NULL);
        }
    }
}

/* Every byte of the sample replaced by every other: no crash, and a tree that
 * holds together if it is accepted. */
static void test_every_byte_changed(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(sample) - 1; i++)
        for (int c = 0; c < 256; c++) {
            CH_ARENA_AUTO a = {0};
            CH_BUF_AUTO got = {0};
            const struct ch_json *v = NULL;
            char text[sizeof(sample)];
            memcpy(text, sample, sizeof(sample));
            text[i] = (char)c;
            if (ch_json_parse(&a, ch_sv(text, sizeof(sample) - 1), (enum ch_json_mode)(c & 1), &v,
                              NULL, NULL) == 0)
                dump(v, &got);
        }
}

static void test_positions(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned line, column;
        const char *message;
    } cases[] = {
        {"", 1, 1, "line 1, column 1: unexpected end of text"},
        {"[1,\n 2,\n  x]", 3, 3, "line 3, column 3: expected a value"},
        {"[\"\xe4\xbd\xa0\xe5\xa5\xbd\" 1]", 1, 7, "line 1, column 7: expected ',' or ']'"},
        {"{\"a\" 1}", 1, 6, "line 1, column 6: expected ':' after a member name"},
        {"{\"a\":1", 1, 7, "line 1, column 7: unexpected end of text"},
        {"[1] 2", 1, 5, "line 1, column 5: unexpected text after the value"},
        {"[\"\\q\"]", 1, 3, "line 1, column 3: unknown escape in a string"},
        {"[\"\t\"]", 1, 3, "line 1, column 3: raw control character in a string"},
        {"[01]", 1, 2, "line 1, column 2: leading zero"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO a = {0};
        struct chela_error err = {0};
        struct ch_json_where w = {0};
        const struct ch_json *v;
        assert_int_equal(ch_json_parse(&a, ch_sv_str(cases[i].text), CH_JSON_STRICT, &v, &w, &err),
                         CHELA_EPARSE);
        assert_int_equal(err.code, CHELA_EPARSE);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(w.line, cases[i].line);
        assert_int_equal(w.column, cases[i].column);
    }
}

static struct ch_sv nested(struct ch_buf *b, const char *open, size_t n, const char *close) {
    ch_buf_clear(b);
    for (size_t i = 0; i < n; i++)
        ch_buf_add_str(b, open);
    ch_buf_add_str(b, "1");
    for (size_t i = 0; i < n; i++)
        ch_buf_add_str(b, close);
    return ch_buf_sv(b);
}

static void test_depth(void **state) {
    (void)state;
    static const struct {
        const char *open, *close;
    } kinds[] = {{"[", "]"}, {"{\"a\":", "}"}, {"[[], ", "]"}, {"  [\n", " ] "}};
    for (size_t i = 0; i < CH_LEN(kinds); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO b = {0};
        struct chela_error err = {0};
        const struct ch_json *v = NULL;
        struct ch_sv fits = nested(&b, kinds[i].open, CH_LIMIT_JSON_DEPTH, kinds[i].close);
        if (i == 2) /* the empty array is one deeper */
            fits = nested(&b, kinds[i].open, CH_LIMIT_JSON_DEPTH - 1, kinds[i].close);
        assert_int_equal(ch_json_parse(&a, fits, CH_JSON_STRICT, &v, NULL, &err), 0);
        CH_BUF_AUTO again = {0};
        struct ch_jw w = ch_jw(&again);
        ch_jw_value(&w, v);
        assert_false(again.overflow);
        v = NULL;
        struct ch_sv deep = nested(&b, kinds[i].open, 100000, kinds[i].close);
        assert_int_equal(ch_json_parse(&a, deep, CH_JSON_STRICT, &v, NULL, &err), CHELA_ELIMIT);
        assert_null(v);
        assert_non_null(strstr(err.message, "512"));
    }
}

static void test_size_limit(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    struct chela_error err = {0};
    struct ch_json_where w = {0};
    const struct ch_json *v = NULL;
    struct ch_sv huge = ch_sv("1", CH_LIMIT_JSON_TEXT + 1); /* never looked at */
    assert_int_equal(ch_json_parse(&a, huge, CH_JSON_STRICT, &v, &w, &err), CHELA_ELIMIT);
    assert_int_equal(w.line, 1);
    assert_null(v);
    assert_int_equal(ch_json_parse(&a, ch_sv(NULL, 0), CH_JSON_STRICT, &v, NULL, NULL),
                     CHELA_EPARSE);
}

/* Texts with the most and the least nodes for their length, and with strings
 * that need room in the arena, at sizes around every growth step. */
static void test_growth(void **state) {
    (void)state;
    static const char *const items[] = {"1",
                                        "\"\\n\"",
                                        "[]",
                                        "\"plain text, long enough\"",
                                        "\"\\u4f60 and \\u597d\"",
                                        "{\"\\t\":\"\\t\"}",
                                        "\"\xff\""};
    for (size_t k = 0; k < CH_LEN(items); k++)
        for (size_t n = 1; n < 3000; n = n * 5 / 4 + 1) {
            CH_ARENA_AUTO a = {0};
            CH_BUF_AUTO text = {0};
            CH_BUF_AUTO want = {0};
            CH_BUF_AUTO got = {0};
            const struct ch_json *v, *one;
            for (size_t i = 0; i < n; i++)
                ch_buf_addf(&text, "%c%s", i ? ',' : '[', items[k]);
            ch_buf_addc(&text, ']');
            assert_int_equal(parse(&a, ch_buf_sv(&text), CH_JSON_REPLACE, &v), 0);
            assert_int_equal(v->n, n);
            assert_int_equal(
                ch_json_parse(&a, ch_sv_str(items[k]), CH_JSON_REPLACE, &one, NULL, NULL), 0);
            dump(one, &want);
            for (CH_JSON_EACH(e, v)) {
                ch_buf_clear(&got);
                dump(e, &got);
                assert_string_equal(ch_buf_str(&got), ch_buf_str(&want));
            }
        }
}

/* Trees of several texts in one arena do not disturb each other, refused
 * texts cost nothing for long, and a small text needs no more than one block. */
static void test_arena_use(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *first, *second, *v;
    struct ch_sv text = CH_SV("{\"a\":\"x\\ny\",\"b\":[1,2]}");
    assert_int_equal(ch_json_parse(&a, text, CH_JSON_STRICT, &first, NULL, NULL), 0);
    assert_true(a.total <= 1024);
    assert_int_equal(ch_json_parse(&a, text, CH_JSON_STRICT, &second, NULL, NULL), 0);
    size_t total = a.total;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(
            ch_json_parse(&a, CH_SV("[\"\\n\\n\\n\\n\",x"), CH_JSON_STRICT, &v, NULL, NULL),
            CHELA_EPARSE);
    assert_int_equal(a.total, total);
    memset(ch_arena_alloc(&a, 100), 0xff, 100);
    assert_true(ch_json_equal(first, second));
    assert_true(ch_sv_is(ch_json_get_str(first, "a"), "x\ny"));
}

static void test_getters(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    struct ch_sv text =
        CH_SV("{\"s\":\"str\",\"i\":42,\"f\":1.5,\"t\":true,\"o\":{\"p\":{\"q\":7}},"
              "\"a\":[10,[11],12],\"d\":1,\"d\":2,\"z\":null}");
    assert_int_equal(ch_json_parse(&a, text, CH_JSON_STRICT, &v, NULL, NULL), 0);
    assert_true(ch_sv_is(ch_json_get_str(v, "s"), "str"));
    assert_null(ch_json_get_str(v, "i").p);
    assert_null(ch_json_get_str(NULL, "i").p);
    assert_int_equal(ch_json_int(ch_json_get(v, "i"), -1), 42);
    assert_int_equal(ch_json_int(ch_json_get(v, "f"), -1), -1);
    assert_int_equal(ch_json_int(ch_json_get(v, "s"), -1), -1);
    assert_int_equal(ch_json_int(ch_json_get(v, "missing"), -1), -1);
    assert_true(ch_json_double(ch_json_get(v, "f"), 0) == 1.5);
    assert_true(ch_json_double(ch_json_get(v, "s"), 2.5) == 2.5);
    assert_true(ch_json_bool(ch_json_get(v, "t"), false));
    assert_true(ch_json_bool(ch_json_get(v, "s"), true));
    assert_false(ch_json_bool(NULL, false));
    assert_int_equal(ch_json_int(ch_json_path(v, "o", "p", "q", NULL), 0), 7);
    assert_null(ch_json_path(v, "o", "x", "q", NULL));
    assert_null(ch_json_path(v, "s", "x", NULL));
    assert_ptr_equal(ch_json_path(v, NULL), v);
    const struct ch_json *array = ch_json_get(v, "a");
    assert_int_equal(ch_json_int(ch_json_at(array, 0), 0), 10);
    assert_int_equal(ch_json_int(ch_json_at(ch_json_at(array, 1), 0), 0), 11);
    assert_int_equal(ch_json_int(ch_json_at(array, 2), 0), 12);
    assert_null(ch_json_at(array, 3));
    assert_null(ch_json_at(v, 0));
    assert_int_equal(ch_json_int(ch_json_get(v, "d"), 0), 2); /* the last one counts */
    assert_true(ch_json_is(ch_json_get(v, "z"), CH_JSON_NULL));
    assert_null(ch_json_get(array, "a"));
    assert_string_equal(ch_json_type_name(CH_JSON_FALSE), "boolean");
    assert_string_equal(ch_json_type_name(CH_JSON_OBJECT), "object");
    for (CH_JSON_EACH(e, NULL))
        fail_msg("%p", (const void *)e);
    for (CH_JSON_EACH(e, v))
        fail_msg("%p", (const void *)e);
    for (CH_JSON_MEMBERS(k, m, array))
        fail_msg("%p %p", (const void *)k, (const void *)m);
}

/* --- strings with escapes */

/* A string of random pieces, some of them faulty, with its closing quote and text behind it. */
static void write_pieces(struct ch_buf *out, uint32_t *random) {
    static const char *const pieces[] = {
        "\\n",
        "\\\"",
        "\\\\",
        "\\u4e2d",
        "\\u0041",
        "\\u00e9",
        "\\ud83d\\ude00",
        "a",
        "plain text of some length",
        "\xe4\xb8\xad",
        "\xf0\x9f\x98\x80",
        "\\t\\t",
        "\xc3\xa9",
        "\xd0\xbc\xd0\xb8\xd1\x80, \xd0\xbc\xd0\xb8\xd1\x80 \xd0\xb8",
        "\xe0\xb8\x81\xed\x95\x9c",
        "\xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97\xe7\xac\xa6\xef\xbc\x8c\xe4\xb8\xb2",
        "x\\/y",
        "\\ud800",
        "\\q",
        "\x01",
        "\xff",
        "\\u12",
        "\xed\xa0\x80",
        "\xe4\xb8"};
    unsigned faults = (*random >> 16) % 4 ? 7 : 0; /* the last pieces */
    for (unsigned n = (*random >> 8) % 80; n; n--) {
        *random = *random * 1664525 + 1013904223;
        ch_buf_add_str(out, pieces[(*random >> 16) % (CH_LEN(pieces) - faults)]);
    }
    ch_buf_add_str(out, "\"\\\",\"more\"");
}

/* One pass accepts the same strings as two, and decodes them to the same text. */
static void test_one_pass(void **state) {
    uint32_t random = 7;
    unsigned taken = 0;
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        struct ch_scan_string s;
        struct ch_scan_fail fail;
        CH_BUF_AUTO text = {0};
        CH_BUF_AUTO exact = {0};
        random = random * 1664525 + 1013904223;
        ch_buf_add_str(&text, "\"");
        write_pieces(&text, &random);
        const char *start = text.p + 1, *end = text.p + text.n, *at = ch_scan_text(start, end);
        if (*at != '\\')
            continue;
        bool ok = ch_scan_string_rest(start, end, CH_JSON_STRICT, &s, &fail);
        char *got = ch_alloc(ch_scan_head_room(start, at, end));
        struct ch_scan_head done = ch_scan_unescape_head(start, at, end, got);
        const char *quote = done.at;
        char *stop = done.out;
        if (quote && *quote != '"' && (quote = ch_scan_quote(quote, end))) {
            size_t n = (size_t)(stop - got);
            got = ch_realloc(got, n + (size_t)(quote - done.at) + CH_SCAN_BEYOND);
            stop = ch_scan_unescape_rest(done.at, quote, end, got + n);
        }
        stop = quote ? stop : NULL;
        assert_int_equal(stop != NULL, ok);
        if (ok) {
            assert_ptr_equal(quote, s.quote);
            ch_buf_reserve(&exact, (size_t)(s.quote - start));
            ch_buf_commit(&exact, ch_scan_decode(&s, start, exact.p));
            assert_int_equal(stop - got, exact.n);
            assert_memory_equal(got, exact.p, exact.n);
            taken++;
        }
        ch_free(got);
    }
    assert_true(taken > 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_one_pass),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_tolerated),
        cmocka_unit_test(test_every_prefix_is_refused),
        cmocka_unit_test(test_every_byte_changed),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_size_limit),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_arena_use),
        cmocka_unit_test(test_getters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

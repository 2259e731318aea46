/* test_yaml.c -- YAML as the tree the same JSON would give, with places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "json/writer.h"
#include "json/yaml.h"

static const struct {
    const char *yaml, *want; /* want: as the writer prints it */
} good[] = {
    {"", "null"},
    {"# only a comment\n", "null"},
    {"---\n", "null"},
    {"---\n...\n", "null"},
    {"\xef\xbb\xbf"
     "a: 1\nb: 2\n",
     "{\"a\":1,\"b\":2}"},
    {"a: 1\nb:\n  - x\n  - y: [1, 2]\n", "{\"a\":1,\"b\":[\"x\",{\"y\":[1,2]}]}"},
    {"{\"a\": [true, null, -1.5e3], \"b\": \"x\\ny\"}",
     "{\"a\":[true,null,-1.5e3],\"b\":\"x\\ny\"}"},
    {"a:\nb: ~\nc: ''\n", "{\"a\":null,\"b\":null,\"c\":\"\"}"},
    /* the core schema */
    {"[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]"},
    {"[null, Null, NULL, ~, ]", "[null,null,null,null]"},
    {"[yes, no, on, off, y, n, tRue]", "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\",\"tRue\"]"},
    {"[0, 1, -1, +1, 12e03, 1.50, 1., .5, -.5, +.5e-3]", "[0,1,-1,1,12e03,1.50,1,0.5,-0.5,0.5e-3]"},
    {"[9223372036854775808, 1e400, -0]", "[9223372036854775808,1e400,-0]"},
    {"[0x1F, 0xffffffffffffffff, 0o17, 0o0]", "[31,18446744073709551615,15,0]"},
    {"[007, 0123, 00, 01.5, -012, 0o8, 0xg, 0x, 0o, -0x1]",
     "[\"007\",\"0123\",\"00\",\"01.5\",\"-012\",\"0o8\",\"0xg\",\"0x\",\"0o\",\"-0x1\"]"},
    {"[1_000, 12:30, 2024-01-02, 1.2.3, 1e, e5, ., +, -, 1.5.e3, inf, nan]",
     "[\"1_000\",\"12:30\",\"2024-01-02\",\"1.2.3\",\"1e\",\"e5\",\".\",\"+\",\"-\",\"1.5.e3\","
     "\"inf\",\"nan\"]"},
    {"['1', \"true\", 'null']", "[\"1\",\"true\",\"null\"]"},
    {"[!!str 1, !!str true, !!int \"3\", !!float 1.5, !!bool \"true\", !!null '', ! 5]",
     "[\"1\",\"true\",3,1.5,true,null,\"5\"]"},
    {"!!map {a: !!seq [1]}", "{\"a\":[1]}"},
    /* keys are text */
    {"1: a\ntrue: b\nnull: c\n1.0: d\n",
     "{\"1\":\"a\",\"true\":\"b\",\"null\":\"c\",\"1.0\":\"d\"}"},
    {"\"<<\": 1\n", "{\"<<\":1}"},
    {"? a\n: b\n", "{\"a\":\"b\"}"},
    {"a b c: d e f\n", "{\"a b c\":\"d e f\"}"},
    /* strings of several lines */
    {"a: |\n  one\n  two\n\nb: >\n  three\n  four\n",
     "{\"a\":\"one\\ntwo\\n\",\"b\":\"three four\\n\"}"},
    {"a: |-\n  one\n   two\nb: |+\n  three\n\nc: 1\n",
     "{\"a\":\"one\\n two\",\"b\":\"three\\n\\n\",\"c\":1}"},
    {"a: \"one\n  two\\\n  three\"\n", "{\"a\":\"one twothree\"}"},
    {"a: plain\n  goes on\n", "{\"a\":\"plain goes on\"}"},
    {"a: \"\\u4f60\\x41\\0\\t\"\n", "{\"a\":\"\xe4\xbd\xa0"
                                    "A\\u0000\\t\"}"},
    /* anchors */
    {"a: &x [1, {b: 2}]\nc: *x\nd: *x\n",
     "{\"a\":[1,{\"b\":2}],\"c\":[1,{\"b\":2}],\"d\":[1,{\"b\":2}]}"},
    {"- &x 1\n- &x 2\n- *x\n", "[1,2,2]"},
    {"- &s text\n- *s\n", "[\"text\",\"text\"]"},
    {"a: &e {}\nb: &f []\nc: [*e, *f]\n", "{\"a\":{},\"b\":[],\"c\":[{},[]]}"},
    {"%YAML 1.1\n---\na: 1\n", "{\"a\":1}"},
    {"[a: 1, b]", "[{\"a\":1},\"b\"]"},
    {"a: 1\r\nb: 2\r\n", "{\"a\":1,\"b\":2}"},
    {"url: http://h/p#x\nt: a #c\n", "{\"url\":\"http://h/p#x\",\"t\":\"a\"}"},
};

static void test_good(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(good); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO out = {0};
        struct chela_error err = {0};
        struct ch_jw w = ch_jw(&out);
        struct ch_yaml y;
        if (ch_yaml_parse(&a, ch_sv_str(good[i].yaml), "f.yaml", &y, &err) < 0)
            fail_msg("%s: %s", good[i].yaml, err.message);
        ch_jw_value(&w, y.root);
        assert_string_equal(ch_buf_str(&out), good[i].want);
        assert_string_equal(y.name, "f.yaml");
        /* every node is what the JSON reader would have made of it */
        const struct ch_json *v, *mine = y.root;
        assert_int_equal(ch_json_parse(&a, ch_buf_sv(&out), CH_JSON_STRICT, &v, NULL, NULL), 0);
        assert_int_equal(y.nodes, ch_json_next(v) - v);
        for (size_t k = 0; k < y.nodes; k++) {
            assert_int_equal(mine[k].type, v[k].type);
            assert_int_equal(mine[k].flags & CH_JSON_INTEGER, v[k].flags & CH_JSON_INTEGER);
            assert_int_equal(mine[k].n, v[k].n);
            assert_int_equal(mine[k].reserved, 0);
        }
    }
}

static const struct {
    const char *yaml, *want; /* start of the message */
    int code;
} bad[] = {
    {"a: 1\na: 2\n", "f.yaml:2:1: duplicate key \"a\" (first on line 1)", CHELA_EPARSE},
    {"x:\n  b: 1\n  c: 2\n  b: 3\n", "f.yaml:4:3: duplicate key \"b\"", CHELA_EPARSE},
    {"base: &b {x: 1}\nd:\n  <<: *b\n", "f.yaml:3:3: merge keys", CHELA_EPARSE},
    {"? [a]\n: b\n", "f.yaml:1:3: a key must be a string", CHELA_EPARSE},
    {"{a: 1}: b\n", "f.yaml:1:1: a key must be a string", CHELA_EPARSE},
    {"x: &k a\n*k : b\n", "f.yaml:2:1: an alias cannot be a key", CHELA_EPARSE},
    {"a: *nope\n", "f.yaml:1:4: alias without an anchor", CHELA_EPARSE},
    {"a: &x [*x]\n", "f.yaml:1:8: alias inside its own anchor", CHELA_EPARSE},
    {"--- a\n--- b\n", "f.yaml:2:1: more than one document", CHELA_EPARSE},
    {"a: 1\n---\n", "f.yaml:2:1: more than one document", CHELA_EPARSE},
    {"a: !mine x\n", "f.yaml:1:4: unknown tag !mine", CHELA_EPARSE},
    {"a: !!python/object {}\n", "f.yaml:1:4: unknown tag", CHELA_EPARSE},
    {"a: !!int x\n", "f.yaml:1:4: the value does not match its tag", CHELA_EPARSE},
    {"a: !!map [1]\n", "f.yaml:1:4: unknown tag", CHELA_EPARSE},
    {"a: .inf\n", "f.yaml:1:4: infinity and not-a-number", CHELA_EPARSE},
    {"a: -.INF\n", "f.yaml:1:4: infinity and not-a-number", CHELA_EPARSE},
    {"a: .NaN\n", "f.yaml:1:4: infinity and not-a-number", CHELA_EPARSE},
    {"a: 0x1ffffffffffffffff\n", "f.yaml:1:4: number too large", CHELA_EPARSE},
    {"a: [1, 2\nb: 3\n", "f.yaml:", CHELA_EPARSE},
    {"a: 1\n b: 2\n", "f.yaml:2:3: mapping values are not allowed in this context", CHELA_EPARSE},
    {"a:\n\t- b\n", "f.yaml:2:1: ", CHELA_EPARSE},
    {"\"abc\n", "f.yaml:2:1: found unexpected end of stream", CHELA_EPARSE},
    {"a: b\nc: \xff\n", "f.yaml:2:4: ", CHELA_EPARSE},
    {"a: \x01\n", "f.yaml:1:4: control characters are not allowed", CHELA_EPARSE},
    {"\xe4\xbd\xa0\xe5\xa5\xbd: [\xe4\xbd\xa0, *q]\n", "f.yaml:1:9: alias without an anchor",
     CHELA_EPARSE},
    {"{a", "f.yaml:", CHELA_EPARSE},
    {"\xff\xfe"
     "a\0",
     "f.yaml:1:1: ", CHELA_EPARSE},
};

static int refused(struct ch_sv text, struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    struct ch_yaml y = {0};
    int rc = ch_yaml_parse(&a, text, "f.yaml", &y, err);
    assert_true(rc < 0);
    assert_null(y.root); /* untouched */
    return rc;
}

static void test_bad(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct chela_error err = {0};
        assert_int_equal(refused(ch_sv_str(bad[i].yaml), &err), bad[i].code);
        if (!ch_sv_starts(ch_sv_str(err.message), bad[i].want))
            fail_msg("%s: %s", bad[i].want, err.message);
    }
}

static void expect_place(const struct ch_yaml *y, const struct ch_json *v, unsigned line,
                         unsigned column) {
    struct ch_json_where w = ch_yaml_where(y, v);
    assert_non_null(v);
    assert_int_equal(w.line, line);
    assert_int_equal(w.column, column);
}

static void test_places(void **state) {
    (void)state;
    static const char text[] = "# head\n"
                               "a: 1\n"
                               "\xe4\xbd\xa0: [x, \xe5\xa5\xbd, z]\r\n"
                               "m: &m\n"
                               "  k: v\n"
                               "n: *m\n";
    CH_ARENA_AUTO a = {0};
    struct ch_yaml y;
    assert_int_equal(ch_yaml_parse(&a, ch_sv_str(text), "f", &y, NULL), 0);
    expect_place(&y, y.root, 2, 1);
    expect_place(&y, ch_json_get(y.root, "a"), 2, 4);
    const struct ch_json *list = ch_json_get(y.root, "\xe4\xbd\xa0");
    expect_place(&y, list, 3, 4);
    expect_place(&y, ch_json_at(list, 0), 3, 5);
    expect_place(&y, ch_json_at(list, 1), 3, 8);
    expect_place(&y, ch_json_at(list, 2), 3, 11);
    expect_place(&y, ch_json_path(y.root, "m", "k", NULL), 5, 6);
    expect_place(&y, ch_json_path(y.root, "n", "k", NULL), 5, 6); /* as its anchor */
    struct ch_json elsewhere = {0};
    assert_int_equal(ch_yaml_where(&y, &elsewhere).line, 1);
}

/* Nine levels of ten: a billion nodes if it were expanded. */
static void test_alias_bomb(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    struct chela_error err = {0};
    ch_buf_add_str(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 9; i++) {
        ch_buf_addf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            ch_buf_addf(&text, "%s*a%d", k ? "," : "", i - 1);
        ch_buf_add_str(&text, "]\n");
    }
    assert_int_equal(refused(ch_buf_sv(&text), &err), CHELA_ELIMIT);
    assert_non_null(strstr(err.message, "too many values"));
}

/* Depth by aliases: each line is one deeper than the one before. */
static void test_alias_depth(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    struct chela_error err = {0};
    ch_buf_add_str(&text, "- &a0 []\n");
    for (int i = 1; i < 700; i++)
        ch_buf_addf(&text, "- &a%d [*a%d]\n", i, i - 1);
    assert_int_equal(refused(ch_buf_sv(&text), &err), CHELA_ELIMIT);
    assert_non_null(strstr(err.message, "nested too deeply"));
}

static void test_limits(void **state) {
    (void)state;
    static const struct {
        const char *piece;
        size_t times;
        const char *why;
    } cases[] = {
        {"[", 100000, "nested too deeply"},
        {"- ", 2000, "nested too deeply"},
        {"{a: ", 600, "nested too deeply"},
        {"- &a x\n", CH_LIMIT_YAML_ANCHORS + 1, "too many anchors"},
        {"- x\n", CH_LIMIT_YAML_NODES, "too many values"},
        {"# comment, comment, comment, comment, comment, comment\n", 100000, "larger than"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO text = {0};
        struct chela_error err = {0};
        for (size_t k = 0; k < cases[i].times; k++)
            ch_buf_add_str(&text, cases[i].piece);
        int rc = refused(ch_buf_sv(&text), &err);
        if (rc != CHELA_ELIMIT || !strstr(err.message, cases[i].why))
            fail_msg("%s: %s", cases[i].piece, err.message);
    }
}

/* A long list of keys is checked for duplicates in good time. */
static void test_many_keys(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    struct chela_error err = {0};
    struct ch_yaml y;
    for (int i = 0; i < 50000; i++)
        ch_buf_addf(&text, "k%d: 1\n", i);
    assert_int_equal(ch_yaml_parse(&a, ch_buf_sv(&text), "f.yaml", &y, &err), 0);
    assert_int_equal(y.root->n, 50000);
    ch_buf_add_str(&text, "k777: 2\n");
    assert_int_equal(refused(ch_buf_sv(&text), &err), CHELA_EPARSE);
    assert_string_equal(err.message, "f.yaml:50001:1: duplicate key \"k777\" (first on line 778)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_places),      cmocka_unit_test(test_alias_bomb),
        cmocka_unit_test(test_alias_depth), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_many_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

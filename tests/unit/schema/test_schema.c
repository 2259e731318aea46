/* test_schema.c -- what schemas mean, and what is said of values that do not
 * meet them. Verdict and report are compared on every case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/quoted.h"
#include "schema/schema.h"
#include "json/value.h"

static struct ch_schema *compile(struct ch_arena *a, const char *text, bool formats) {
    struct ch_schema *s = NULL;
    struct chela_error err = {0};
    struct ch_schema_opts opts = {.assert_format = formats};
    if (ch_schema_parse(quoted(a, text), &opts, &s, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return s;
}

static const struct ch_json *read_text(struct ch_arena *a, const char *text) {
    const struct ch_json *v = NULL;
    if (ch_json_parse(a, quoted(a, text), CH_JSON_STRICT, &v, NULL, NULL) < 0)
        fail_msg("no JSON: %s", text);
    return v;
}

/* Values that are valid and values that are not, each separated by a space. */
static const struct {
    const char *schema, *valid, *invalid;
} verdicts[] = {
    {"true", "1 'a' null [] {}", ""},
    {"false", "", "1 'a' null [] {}"},
    {"{}", "1 'a' null [] {}", ""},
    {"{'unknown':{'type':'null'}}", "1", ""},
    /* types */
    {"{'type':'integer'}", "0 -0 1.0 1e2 1e400 -5 12345678901234567890", "0.5 1e-1 'a' null true"},
    {"{'type':'number'}", "0 0.5 1e400", "'1' null"},
    {"{'type':['string','null']}", "'a' null", "1 [] {} false"},
    {"{'type':['integer','number']}", "1 1.5", "'1'"},
    {"{'type':'boolean'}", "true false", "0 null"},
    /* values */
    {"{'enum':[1,'a',null,true,{'x':[1]},[2]]}", "1 1.0 'a' null true {'x':[1e0]} [2]",
     "2 'b' false {} {'x':[2]} []"},
    {"{'const':0}", "0 -0 0.0 0e5", "false '' null [] 1"},
    {"{'const':{'a':1,'b':2}}", "{'b':2,'a':1}", "{'a':1} {'a':1,'b':2,'c':3}"},
    {"{'enum':[]}", "", "1 null"},
    {"{'enum':['sixteen bytes at','seventeen bytes a','seventeen bytes b']}",
     "'sixteen bytes at' 'seventeen bytes a' 'seventeen bytes b'",
     "'seventeen bytes c' 'sixteen bytes a' ''"},
    /* numbers */
    {"{'minimum':1,'maximum':10}", "1 10 5.5 1e1 'a'", "0 11 0.999999999999999999999 1e2 -5"},
    {"{'exclusiveMinimum':1,'exclusiveMaximum':10}", "2 9 1.0000000000000000001", "1 10 1.0"},
    {"{'minimum':0.5}", "1 0.5 5e-1", "0 0.49 -1"},
    {"{'maximum':18446744073709551615}", "18446744073709551615 18446744073709551614.9",
     "18446744073709551616 1e400"},
    {"{'minimum':-9223372036854775808}", "-9223372036854775808", "-9223372036854775809"},
    {"{'exclusiveMaximum':9223372036854775807}", "9223372036854775806", "9223372036854775807"},
    {"{'maximum':9007199254740992}", "9007199254740992", "9007199254740993"},
    {"{'multipleOf':0.01}", "4.02 0.07 0 1e300 -0.01", "0.075 1e-3"},
    {"{'multipleOf':3}", "0 3 -9 3e2 300000000000000000000000000000", "1 10 1e1 1.5"},
    {"{'multipleOf':1e3}", "1000 5e3 1e400", "500 1e2"},
    {"{'multipleOf':12345678901234567890123456789}", "24691357802469135780246913578",
     "24691357802469135780246913579"},
    /* strings */
    {"{'minLength':2,'maxLength':3}", "'ab' 'abc' '\\u00e9\\u00e9' '\\ud83d\\ude00a' 1",
     "'a' 'abcd' '\\ud83d\\ude00' ''"},
    {"{'maxLength':1e30}", "'abc'", ""},
    {"{'pattern':'^a+$'}", "'a' 'aaa' 1", "'' 'ab' 'aa\\n'"},
    {"{'format':'ipv4'}", "'no address'", ""},
    /* arrays */
    {"{'items':{'type':'integer'}}", "[] [1,2] 'a'", "['a'] [1,'a']"},
    {"{'prefixItems':[{'type':'string'},{'type':'integer'}],'items':false}", "[] ['a'] ['a',1]",
     "[1] ['a','a'] ['a',1,2]"},
    {"{'minItems':1,'maxItems':2}", "[1] [1,2] {}", "[] [1,2,3]"},
    {"{'uniqueItems':true}", "[1,2,'1',true] [[1],[2]] [{'a':1},{'a':2}] [0,false]",
     "[1,1.0] [{'a':1,'b':2},{'b':2,'a':1}] ['a','b','a'] [1,2,3,4,5,6,7,8,9,10,11,1e1]"},
    {"{'contains':{'minimum':5}}", "[1,5] [6]", "[] [1,2]"},
    {"{'contains':{'minimum':5},'minContains':2,'maxContains':3}", "[5,6] [1,5,6,7]",
     "[5] [5,6,7,8]"},
    {"{'contains':{'minimum':5},'minContains':0}", "[] [1]", ""},
    {"{'minContains':2}", "[]", ""},
    /* objects */
    {"{'properties':{'a':{'type':'string'}},'required':['a','b']}", "{'a':'x','b':1} []",
     "{'a':'x'} {'b':1} {'a':1,'b':1} {}"},
    {"{'properties':{'a':true,'b':false}}", "{'a':1} {}", "{'b':1}"},
    {"{'properties':{'a':{}},'additionalProperties':false}", "{'a':1} {}", "{'b':1} {'a':1,'b':2}"},
    {"{'required':['x'],'additionalProperties':false}", "", "{'x':1} {}"},
    {"{'patternProperties':{'^n_':{'type':'number'}},'additionalProperties':{'type':'string'}}",
     "{'n_a':1,'b':'x'}", "{'n_a':'x'} {'b':1}"},
    {"{'propertyNames':{'maxLength':2}}", "{'ab':1} {}", "{'abc':1}"},
    {"{'minProperties':1,'maxProperties':2}", "{'a':1} {'a':1,'a':2,'b':3}",
     "{} {'a':1,'b':2,'c':3}"},
    {"{'dependentRequired':{'a':['b','c']}}", "{'b':1} {'a':1,'b':2,'c':3}",
     "{'a':1,'b':2} {'a':1}"},
    {"{'dependentSchemas':{'a':{'properties':{'b':{'type':'integer'}}}}}",
     "{'b':'x'} {'a':1,'b':2}", "{'a':1,'b':'x'}"},
    {"{'dependencies':{'a':['b'],'c':{'required':['d']}}}", "{'a':1,'b':2} {'c':1,'d':2}",
     "{'a':1} {'c':1}"},
    /* members with one name are all checked, and counted once */
    {"{'properties':{'a':{'type':'integer'}}}", "{'a':1,'a':2}", "{'a':'x','a':1} {'a':1,'a':'x'}"},
    {"{'properties':{'a':{'type':'string'},'a':{'type':'integer'}}}", "{'a':1}", "{'a':'x'}"},
    /* combinations */
    {"{'allOf':[{'minimum':1},{'maximum':3}]}", "2 'a'", "0 4"},
    {"{'anyOf':[{'type':'integer'},{'minLength':2}]}", "1 'ab' null", "'a'"},
    {"{'anyOf':[{'type':'string'},{'type':'integer','minimum':5}]}", "'a' 5", "4 null []"},
    {"{'oneOf':[{'type':'integer'},{'minimum':2}]}", "1 2.5 'a'", "3 1.5"},
    {"{'oneOf':[{'type':'string'},{'type':'integer'}]}", "'a' 1", "null 1.5"},
    {"{'not':{'type':'integer'}}", "'a' 1.5", "1"},
    {"{'if':{'type':'integer'},'then':{'minimum':5},'else':{'type':'string'}}", "5 'a'", "4 null"},
    {"{'then':{'minimum':5}}", "1", ""},
    {"{'if':false,'else':{'type':'string'}}", "'a'", "1"},
    /* what is left over */
    {"{'allOf':[{'properties':{'a':{}}}],'unevaluatedProperties':false}", "{'a':1} {}", "{'b':1}"},
    {"{'anyOf':[{'properties':{'a':{'const':1}},'required':['a']},{'properties':{'b':{}},"
     "'required':['b']}],'unevaluatedProperties':false}",
     "{'a':1} {'b':1} {'a':1,'b':1}", "{'a':2,'b':1} {'a':1,'c':1}"},
    {"{'if':{'properties':{'a':{'const':1}},'required':['a']},'then':{'properties':{'b':{}}},"
     "'else':{'properties':{'c':{}}},'unevaluatedProperties':false}",
     "{'a':1,'b':2} {'c':1}", "{'a':1,'c':2} {'b':1}"},
    {"{'not':{'not':{'properties':{'a':{}}}},'unevaluatedProperties':false}", "{}", "{'a':1}"},
    {"{'prefixItems':[true],'contains':{'type':'string'},'unevaluatedItems':false}",
     "[1,'a'] ['a']", "[1,'a',2] []"},
    {"{'unevaluatedItems':{'type':'integer'},'prefixItems':[true]}", "['a',1] []", "['a','b']"},
    /* references */
    {"{'properties':{'n':{'$ref':'#'}},'additionalProperties':false}", "{'n':{'n':{}}}",
     "{'n':{'m':1}}"},
    {"{'$ref':'#/$defs/a','minimum':5,'$defs':{'a':{'type':'integer'}}}", "5", "4 'a'"},
    {"{'$ref':'#x','$defs':{'a':{'$anchor':'x','type':'integer'}}}", "1", "'a'"},
    {"{'$ref':'#/$defs/a~1b%25','$defs':{'a/b%':{'type':'integer'}}}", "1", "'a'"},
    {"{'$id':'http://x/root','$ref':'item','$defs':{'a':{'$id':'item','$ref':'#/$defs/b','$defs':"
     "{'b':{'type':'integer'}}}}}",
     "1", "'a'"},
    {"{'$ref':'#/x/y','x':{'y':{'type':'integer'}}}", "1", "'a'"},
};

/* Cut a value off *rest: the text up to a space outside of quotes. */
static struct ch_sv cut_value(struct ch_sv *rest) {
    bool inside = false;
    size_t n = 0;
    for (; n < rest->n && (inside || rest->p[n] != ' '); n++)
        inside ^= rest->p[n] == '"';
    struct ch_sv value = ch_sv(rest->p, n);
    *rest = ch_sv(rest->p + CH_MIN(n + 1, rest->n), rest->n - CH_MIN(n + 1, rest->n));
    return value;
}

static void check_all(struct ch_schema *s, const char *schema, struct ch_sv values, bool want) {
    while (values.n) {
        CH_ARENA_AUTO a = {0};
        struct ch_violations list;
        const struct ch_json *v;
        struct ch_sv text = cut_value(&values);
        if (ch_json_parse(&a, text, CH_JSON_STRICT, &v, NULL, NULL) < 0)
            fail_msg("no JSON: %.*s", CH_SV_FMT(text));
        int rc = ch_schema_check(s, v, &a, &list);
        if (ch_schema_valid(s, v) != want)
            fail_msg("%s: %.*s should be %s", schema, CH_SV_FMT(text), want ? "valid" : "invalid");
        if (rc != (want ? 0 : CHELA_EINVAL) || (list.n == 0) != want)
            fail_msg("%s: %.*s: the report differs", schema, CH_SV_FMT(text));
    }
}

static void test_verdicts(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(verdicts); i++) {
        CH_ARENA_AUTO a = {0};
        CH_AUTO(ch_schema) s = compile(&a, verdicts[i].schema, false);
        check_all(s, verdicts[i].schema, quoted(&a, verdicts[i].valid), true);
        check_all(s, verdicts[i].schema, quoted(&a, verdicts[i].invalid), false);
    }
}

/* All messages, a line each. */
static const struct {
    const char *schema, *value, *messages;
} reports[] = {
    {"{'type':'object','properties':{'path':{'type':'string'}}}", "{'path':5}",
     "path must be a string, got number 5"},
    {"{'type':['integer','null']}", "'x'", "the value must be an integer or null, got string 'x'"},
    {"{'type':['string','number','boolean']}", "[1]",
     "the value must be a string, a number or a boolean, got an array of 1 item"},
    {"{'properties':{'name':{},'size':{}},'additionalProperties':false}", "{'colour':1}",
     "unknown key `colour`; allowed: name, size"},
    {"{'properties':{'name':{},'size':{}},'additionalProperties':false}", "{'nmae':1}",
     "unknown key `nmae`; allowed: name, size (did you mean `name`?)"},
    {"{'items':{'properties':{'a':{'type':'string'}},'required':['a','b']}}", "[{},3,{'a':'x'}]",
     "missing required key `a` (a string) in item [0]\n"
     "missing required key `b` in item [0]\n"
     "missing required key `b` in item [2]"},
    {"{'properties':{'m':{'enum':['count','content']}}}", "{'m':'contents'}",
     "m must be one of 'count', 'content' (did you mean 'content'?), got string 'contents'"},
    {"{'const':[1]}", "{}", "the value must be [1], got an empty object"},
    {"{'properties':{'a':{'items':{'maximum':3}}}}", "{'a':[1,4]}",
     "a[1] must be at most 3, got number 4"},
    {"{'minLength':3}", "'ab'", "the value must have at least 3 characters, has 2"},
    {"{'uniqueItems':true}", "[1,2,1]",
     "the value must have items that all differ; items 0 and 2 are equal"},
    {"{'prefixItems':[true],'items':false}", "[1,2]",
     "item [1] is one too many (no more than 1 item), got number 2"},
    {"{'anyOf':[{'type':'integer'},{'type':'null'}]}", "'5'",
     "the value must be an integer or null, got string '5'"},
    {"{'anyOf':[{'type':'object','properties':{'n':{'type':'integer'}}},{'type':'null'}]}",
     "{'n':'x'}", "n must be an integer, got string 'x'"},
    {"{'oneOf':[{'properties':{'k':{'const':'a'}}},{'properties':{'k':{'const':'b'},'n':{'type':"
     "'integer'}}}]}",
     "{'k':'b','n':'x'}",
     "the value matches none of the 2 forms that are allowed (form 2 comes closest), got an object "
     "with `k`, `n`\nn must be an integer, got string 'x'"},
    {"{'oneOf':[{'minimum':1},{'maximum':5}]}", "3",
     "the value must match exactly one of 2 forms, matches 2: forms 1, 2, got number 3"},
    {"{'not':{'type':'null'}}", "null", "the value must not match {'type':'null'}, got null"},
    {"{'dependentRequired':{'a':['b']}}", "{'a':1}",
     "missing required key `b`, which `a` asks for"},
    {"{'propertyNames':{'pattern':'^[a-z]+$'}}", "{'Foo':1}",
     "the key `Foo` must be a text that matches ^[a-z]+$, got string 'Foo'"},
    {"{'format':'date'}", "'2026-02-30'",
     "the value must be a valid date, such as 2026-01-31, got string '2026-02-30'"},
    {"{'properties':{'a':false}}", "{'a':1}", "a is not allowed here"},
    {"{'allOf':[{'properties':{'a':{}}},{'properties':{'b':{}}}],'unevaluatedProperties':false}",
     "{'c':1}", "unknown key `c`; allowed: a, b"},
    {"{'allOf':[{'type':'string'},{'type':'string'}]}", "1",
     "the value must be a string, got number 1"},
    {"{'contains':{'type':'string'}}", "[1]",
     "the value must have at least 1 item that meets contains, has 0"},
    {"{'multipleOf':5}", "7", "the value must be a multiple of 5, got number 7"},
    {"{'if':{'required':['a']},'then':{'required':['b']}}", "{'a':1}", "missing required key `b`"},
};

static void test_reports(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(reports); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO got = {0};
        struct ch_violations list;
        CH_AUTO(ch_schema) s = compile(&a, reports[i].schema, true);
        ch_schema_check(s, read_text(&a, reports[i].value), &a, &list);
        ch_violations_text(&list, &got);
        for (size_t k = 0; k < got.n; k++) /* the table's quotes */
            got.p[k] = got.p[k] == '\'' ? '`' : got.p[k] == '"' ? '\'' : got.p[k];
        if (!ch_sv_is(ch_buf_sv(&got), reports[i].messages))
            fail_msg("%s: %s\ngot  %s\nwant %s", reports[i].schema, reports[i].value,
                     ch_buf_str(&got), reports[i].messages);
    }
}

static void test_places(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO json = {0};
    struct ch_violations list;
    CH_AUTO(ch_schema)
    s = compile(
        &a, "{'properties':{'a/b':{'$ref':'#/$defs/x'}},'$defs':{'x':{'items':{'type':'null'}}}}",
        false);
    const struct ch_json *v = read_text(&a, "{'a/b':[null,1]}");
    assert_int_equal(ch_schema_check(s, v, &a, &list), CHELA_EINVAL);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.list[0].path.p, "/a~1b/1");
    assert_string_equal(list.list[0].schema.p, "#/$defs/x/items/type");
    assert_ptr_equal(list.list[0].at, ch_json_at(ch_json_get(v, "a/b"), 1));
    ch_violation_json(&list.list[0], &json);
    assert_string_equal(json.p, "{\"path\":\"/a~1b/1\",\"schema\":\"#/$defs/x/items/type\","
                                "\"keyword\":\"type\",\"expected\":\"null\",\"received\":"
                                "\"number 1\",\"message\":\"a/b[1] must be null, got number 1\"}");
}

static void test_many_violations(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO words = {0};
    struct ch_violations list;
    const struct ch_json *v;
    CH_AUTO(ch_schema) s = compile(&a, "{'items':{'type':'null'}}", false);
    for (int i = 0; i < 1000; i++)
        ch_buf_addf(&text, "%c%d", i ? ',' : '[', i);
    ch_buf_addc(&text, ']');
    assert_int_equal(ch_json_parse(&a, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    ch_schema_check(s, v, &a, &list);
    assert_int_equal(list.n, CH_LIMIT_VIOLATIONS);
    assert_int_equal(list.total, 1000);
    ch_violations_text(&list, &words);
    assert_non_null(strstr(words.p, "\n(900 more)"));
}

/* --- bounds ---------------------------------------------------------------------- */

/* Each level doubles the work: given up, and said so. */
static void test_exponential(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    struct ch_schema *s = NULL;
    struct ch_violations list;
    const struct ch_json *v = read_text(&a, "1");
    ch_buf_add_str(&text, "{\"$ref\":\"#/$defs/0\",\"$defs\":{");
    for (int i = 0; i < 60; i++)
        ch_buf_addf(&text,
                    "\"%d\":{\"allOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/$defs/%d\"}]},", i,
                    i + 1, i + 1);
    ch_buf_add_str(&text, "\"60\":{\"minimum\":0}}}");
    assert_int_equal(ch_schema_parse(ch_buf_sv(&text), NULL, &s, NULL), 0);
    assert_false(ch_schema_valid(s, v));
    assert_int_equal(ch_schema_check(s, v, &a, &list), CHELA_ELIMIT);
    assert_non_null(strstr(list.list[0].message.p, "too large or too deep"));
    ch_schema_free(s);
}

/* As deep as the reader goes; the schema follows all the way down. */
static void test_deep_value(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    const struct ch_json *v;
    CH_AUTO(ch_schema) s = compile(&a, "{'type':'array','items':{'$ref':'#'}}", false);
    for (int i = 0; i < CH_LIMIT_JSON_DEPTH; i++)
        ch_buf_addc(&text, '[');
    for (int i = 0; i < CH_LIMIT_JSON_DEPTH; i++)
        ch_buf_addc(&text, ']');
    assert_int_equal(ch_json_parse(&a, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    assert_true(ch_schema_valid(s, v));
}

static void test_dynamic_circle(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_AUTO(ch_schema)
    s = compile(&a, "{'$id':'http://x/','$dynamicAnchor':'a','$dynamicRef':'#a'}", false);
    struct ch_violations list;
    assert_false(ch_schema_valid(s, read_text(&a, "1")));
    assert_int_equal(ch_schema_check(s, read_text(&a, "1"), &a, &list), CHELA_ELIMIT);
}

static void test_slow_pattern(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    struct ch_violations list;
    CH_AUTO(ch_schema) s = compile(&a, "{'items':{'pattern':'^(a+)+$'}}", false);
    const struct ch_json *v =
        read_text(&a, "['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!']");
    assert_false(ch_schema_valid(s, v));
    assert_int_equal(ch_schema_check(s, v, &a, &list), CHELA_ELIMIT);
    assert_true(ch_schema_valid(s, read_text(&a, "['aaaa']")));
}

/* A check of a large value costs more than a check of a small one: `times` subschemas, and
 * `n` times a piece of the value. */
static const struct {
    const char *schema, *head, *piece, *tail;
    int times, n;
} large[] = {
    {"{\"items\":{\"type\":\"string\"}}", "[\"\"", ",\"\"", "]", 1000, 40000},
    {"{\"contains\":true}", "[1", ",1", "]", 1000, 40000},
    {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"b\":1", ",\"b\":1", "}", 600, 40000},
    {"{\"minLength\":1}", "\"", "\xc3\xa9", "\"", 1000, 200000},
    {"{\"not\":{\"enum\":[\"\"]}}", "\"", "x", "\"", 1000, 200000},
    {"{\"minimum\":1}", "1", "1", "", 1000, 400000},
    {"{\"uniqueItems\":true}", "[[\"", "x", "\"],[2],[3],[4],[5],[6],[7],[8],[9]]", 600, 500000},
    {"{\"items\":{\"not\":{\"pattern\":\"^(a|a)*$\"}}}", "[\"b\"", ",\"aaaaaaaaaaaaaa!\"", "]", 1,
     3000},
};

static struct ch_schema *repeated(const char *schema, int times) {
    CH_BUF_AUTO text = {0};
    struct ch_schema *s = NULL;
    ch_buf_add_str(&text, "{\"allOf\":[true");
    for (int i = 0; i < times; i++)
        ch_buf_addf(&text, ",%s", schema);
    ch_buf_add_str(&text, "]}");
    assert_int_equal(ch_schema_parse(ch_buf_sv(&text), NULL, &s, NULL), 0);
    return s;
}

static void test_large_values(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(large); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO text = {0};
        CH_AUTO(ch_schema) few = repeated(large[i].schema, large[i].times / 100);
        CH_AUTO(ch_schema) all = repeated(large[i].schema, large[i].times);
        struct ch_violations list;
        const struct ch_json *v;
        ch_buf_add_str(&text, large[i].head);
        for (int k = 0; k < large[i].n; k++)
            ch_buf_add_str(&text, large[i].piece);
        ch_buf_add_str(&text, large[i].tail);
        assert_int_equal(ch_json_parse(&a, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL), 0);
        assert_int_equal(ch_schema_check(few, v, &a, &list), 0);
        if (ch_schema_check(all, v, &a, &list) != CHELA_ELIMIT)
            fail_msg("%s", large[i].schema);
    }
}

/* Every dynamic reference looks at all anchors. */
static void test_many_anchors(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO value = {0};
    struct ch_schema *s = NULL;
    struct ch_violations list;
    const struct ch_json *v;
    ch_buf_add_str(&text, "{\"items\":{\"$dynamicRef\":\"#y\"},\"$defs\":{\"\":true");
    for (int i = 0; i < 3000; i++)
        ch_buf_addf(&text, ",\"%d\":{\"$dynamicAnchor\":\"y\"}", i);
    ch_buf_add_str(&text, "}}");
    for (int i = 0; i < 20000; i++)
        ch_buf_add_str(&value, i ? ",1" : "[1");
    ch_buf_addc(&value, ']');
    assert_int_equal(ch_schema_parse(ch_buf_sv(&text), NULL, &s, NULL), 0);
    assert_int_equal(ch_json_parse(&a, ch_buf_sv(&value), CH_JSON_STRICT, &v, NULL, NULL), 0);
    assert_int_equal(ch_schema_check(s, v, &a, &list), CHELA_ELIMIT);
    ch_schema_free(s);
}

/* More required names than one word has bits, and a name given twice. */
static void test_many_names(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO schema = {0};
    CH_BUF_AUTO value = {0};
    const struct ch_json *v;
    struct ch_schema *s = NULL;
    struct ch_violations list;
    ch_buf_add_str(&schema, "{\"required\":[\"k0\"");
    for (int i = 0; i < 2000; i++) {
        ch_buf_addf(&schema, ",\"k%d\"", i);
        if (i != 1234)
            ch_buf_addf(&value, "%c\"k%d\":%d", value.n ? ',' : '{', i, i);
    }
    ch_buf_add_str(&schema, "]}");
    ch_buf_add_str(&value, "}");
    assert_int_equal(ch_schema_parse(ch_buf_sv(&schema), NULL, &s, NULL), 0);
    assert_int_equal(ch_json_parse(&a, ch_buf_sv(&value), CH_JSON_STRICT, &v, NULL, NULL), 0);
    assert_int_equal(ch_schema_check(s, v, &a, &list), CHELA_EINVAL);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.list[0].message.p, "missing required key 'k1234'");
    ch_schema_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),       cmocka_unit_test(test_reports),
        cmocka_unit_test(test_places),         cmocka_unit_test(test_many_violations),
        cmocka_unit_test(test_exponential),    cmocka_unit_test(test_deep_value),
        cmocka_unit_test(test_dynamic_circle), cmocka_unit_test(test_slow_pattern),
        cmocka_unit_test(test_many_names),     cmocka_unit_test(test_large_values),
        cmocka_unit_test(test_many_anchors),
    };
    return cmocka_run_group_tests_name("json/schema", tests, NULL, NULL);
}

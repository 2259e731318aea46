/* test_schema_coerce.c -- what is corrected, and above all what is not. */
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

#define DROP CH_COERCE_DROP_UNKNOWN
#define NULLS CH_COERCE_DROP_NULL

/* value NULL: nothing is changed, and it stays invalid. */
static const struct {
    const char *schema, *value, *want;
    unsigned flags;
} cases[] = {
    {"{'type':'integer'}", "'5'", "5", 0},
    {"{'type':'integer'}", "' 5 '", "5", 0},
    {"{'type':'integer'}", "'-12e3'", "-12e3", 0},
    {"{'type':'integer'}", "'9223372036854775808'", "9223372036854775808", 0},
    {"{'type':'integer'}", "'5.5'", NULL, 0},
    {"{'type':'integer'}", "'five'", NULL, 0},
    {"{'type':'integer'}", "'0x10'", NULL, 0},
    {"{'type':'integer'}", "''", NULL, 0},
    {"{'type':'integer'}", "true", NULL, 0},
    {"{'type':'integer'}", "5.5", NULL, 0},
    {"{'type':'integer'}", "null", NULL, 0},
    {"{'type':'integer','minimum':10}", "'5'", "5", 0},
    {"{'type':'number'}", "'1e3'", "1e3", 0},
    {"{'type':'number'}", "'0.1'", "0.1", 0},
    {"{'type':'number'}", "'NaN'", NULL, 0},
    {"{'type':'boolean'}", "'true'", "true", 0},
    {"{'type':'boolean'}", "'False'", "false", 0},
    {"{'type':'boolean'}", "'yes'", NULL, 0},
    {"{'type':'boolean'}", "1", NULL, 0},
    {"{'type':'null'}", "'null'", "null", 0},
    {"{'type':'null'}", "'None'", "null", 0},
    {"{'type':'null'}", "''", NULL, 0},
    {"{'type':'string'}", "5", "'5'", 0},
    {"{'type':'string'}", "1.50", "'1.50'", 0},
    {"{'type':'string'}", "true", "'true'", 0},
    {"{'type':'string'}", "null", NULL, 0},
    {"{'type':'string'}", "['a']", NULL, 0},
    {"{'type':'string'}", "{}", NULL, 0},
    /* JSON in a string */
    {"{'type':'array','items':{'type':'integer'}}", "'[1, 2]'", "[1,2]", 0},
    {"{'type':'array','items':{'type':'integer'}}", "'[\\'1\\']'", "[1]", 0},
    {"{'type':'object'}", "'{}'", "{}", 0},
    {"{'type':'object'}", "'[1]'", NULL, 0},
    {"{'type':'object'}", "'{'", NULL, 0},
    {"{'type':'object','properties':{'a':{'type':'object','properties':{'b':{'type':'integer'}}}}}",
     "{'a':'{\\'b\\':\\'7\\'}'}", "{'a':{'b':7}}", 0},
    /* one value where a list is wanted */
    {"{'type':'array','items':{'type':'string'}}", "'a'", "['a']", 0},
    {"{'type':'array','items':{'type':'integer'}}", "3", "[3]", 0},
    {"{'type':'array','items':{'type':'integer'}}", "'x'", NULL, 0},
    {"{'type':'array','items':{'type':'object','required':['a']}}", "{'a':1}", "[{'a':1}]", 0},
    {"{'type':'array','items':{'type':'object','required':['a']}}", "{'b':1}", NULL, 0},
    {"{'type':'array','minItems':2}", "1", NULL, 0},
    {"{'type':['array','null'],'items':{'type':'string'}}", "'a'", "['a']", 0},
    {"{'type':['array','object']}", "1", NULL, 0},
    /* alternatives */
    {"{'anyOf':[{'type':'integer'},{'type':'null'}]}", "'5'", "5", 0},
    {"{'anyOf':[{'type':'integer'},{'type':'null'}]}", "'null'", "null", 0},
    {"{'anyOf':[{'type':'integer'},{'type':'string'}]}", "'5'", "'5'", 0},
    {"{'oneOf':[{'type':'boolean'},{'type':'integer'}]}", "'true'", "true", 0},
    {"{'anyOf':[{'type':'integer'},{'type':'boolean'}]}", "'maybe'", NULL, 0},
    {"{'enum':[1,2]}", "'2'", "2", 0},
    {"{'enum':[1,2]}", "'3'", "3", 0},
    {"{'enum':['1','2']}", "1", "'1'", 0},
    {"{'const':true}", "'true'", "true", 0},
    {"{'allOf':[{'type':'integer'},{'type':'boolean'}]}", "'1'", NULL, 0},
    {"{'not':{'type':'string'}}", "'5'", NULL, 0},
    /* keys */
    {"{'properties':{'a':{}},'additionalProperties':false}", "{'a':1,'b':2}", NULL, 0},
    {"{'properties':{'a':{}},'additionalProperties':false}", "{'a':1,'b':2,'c':3}", "{'a':1}",
     DROP},
    {"{'properties':{'a':{}},'unevaluatedProperties':false}", "{'b':[1],'a':1}", "{'a':1}", DROP},
    {"{'properties':{'a':{}},'additionalProperties':{'type':'string'}}", "{'b':[]}", NULL, DROP},
    {"{'properties':{'a':{'type':'string'}}}", "{'a':null}", NULL, 0},
    {"{'properties':{'a':{'type':'string'}}}", "{'a':null,'b':null}", "{'b':null}", NULLS},
    {"{'properties':{'a':{'type':'string'}},'required':['a']}", "{'a':null}", NULL, NULLS},
    {"{'items':{'type':'string'}}", "[null]", NULL, NULLS},
    {"{'type':'string'}", "null", NULL, NULLS},
    /* nothing to do */
    {"{'type':'string'}", "'5'", "'5'", DROP | NULLS},
    {"{'properties':{'a':{'type':'integer'}}}", "{'a':1,'b':'2'}", "{'a':1,'b':'2'}", DROP},
};

static const struct ch_json *read_text(struct ch_arena *a, const char *text) {
    const struct ch_json *v = NULL;
    if (ch_json_parse(a, quoted(a, text), CH_JSON_STRICT, &v, NULL, NULL) < 0)
        fail_msg("no JSON: %s", text);
    return v;
}

static void run_case(size_t i) {
    CH_ARENA_AUTO a = {0};
    CH_AUTO(ch_schema) s = NULL;
    struct ch_violations left;
    struct ch_changes changes;
    const struct ch_json *out, *v = read_text(&a, cases[i].value);
    struct ch_sv text;
    assert_int_equal(ch_schema_new(read_text(&a, cases[i].schema), NULL, &s, NULL), 0);
    int rc = ch_schema_coerce(s, v, cases[i].flags, &a, &out, &text, &changes, &left);
    const struct ch_json *want = cases[i].want ? read_text(&a, cases[i].want) : v;
    if (!ch_json_equal(out, want))
        fail_msg("%s: %s became %.*s", cases[i].schema, cases[i].value, CH_SV_FMT(text));
    if ((rc == 0) != ch_schema_valid(s, out) || (rc == 0) != (left.n == 0))
        fail_msg("%s: %s: wrong verdict", cases[i].schema, cases[i].value);
    if (!cases[i].want && rc == 0)
        fail_msg("%s: %s should stay invalid", cases[i].schema, cases[i].value);
    assert_int_equal(changes.n == 0, out == v);
}

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        run_case(i);
}

static void test_changes(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_AUTO(ch_schema) s = NULL;
    CH_BUF_AUTO got = {0};
    struct ch_violations left;
    struct ch_changes changes;
    const struct ch_json *out;
    struct ch_sv text;
    const struct ch_json *schema =
        read_text(&a, "{'properties':{'n':{'type':'integer'},'l':{'type':'array','items':{'type':"
                      "'boolean'}}},'additionalProperties':false}");
    assert_int_equal(ch_schema_new(schema, NULL, &s, NULL), 0);
    assert_int_equal(ch_schema_coerce(s, read_text(&a, "{'n':'5','l':'[\\'true\\']','x':{'y':1}}"),
                                      DROP, &a, &out, &text, &changes, &left),
                     0);
    assert_string_equal(text.p, "{\"n\":5,\"l\":[true]}");
    for (size_t i = 0; i < changes.n; i++)
        ch_buf_addf(&got, "%.*s %.*s: %.*s > %.*s\n", CH_SV_FMT(changes.list[i].path),
                    CH_SV_FMT(changes.list[i].what), CH_SV_FMT(changes.list[i].from),
                    CH_SV_FMT(changes.list[i].to));
    assert_string_equal(got.p, "/n string to number: \"5\" > 5\n"
                               "/l JSON in a string to array: \"[\\\"true\\\"]\" > [\"true\"]\n"
                               "/x unknown key dropped: {\"y\":1} > \n"
                               "/l/0 string to boolean: \"true\" > true\n");
}

/* Corrections are counted, and there is an end to them. */
static void test_bounded(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_AUTO(ch_schema) s = NULL;
    CH_BUF_AUTO text = {0};
    struct ch_violations left;
    struct ch_changes changes;
    const struct ch_json *v, *out;
    struct ch_sv fixed;
    for (int i = 0; i < 1000; i++)
        ch_buf_addf(&text, "%c\"%d\"", i ? ',' : '[', i);
    ch_buf_addc(&text, ']');
    assert_int_equal(ch_json_parse(&a, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    assert_int_equal(ch_schema_new(read_text(&a, "{'items':{'type':'integer'}}"), NULL, &s, NULL),
                     0);
    assert_int_equal(ch_schema_coerce(s, v, 0, &a, &out, &fixed, &changes, &left), CHELA_EINVAL);
    assert_int_equal(changes.n, CH_LIMIT_COERCIONS);
    assert_int_equal(left.total, 1000 - CH_LIMIT_COERCIONS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_bounded),
    };
    return cmocka_run_group_tests_name("json/schema_coerce", tests, NULL, NULL);
}

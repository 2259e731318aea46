/* test_schema_clean.c -- schemas in the words of vendors, and advice on tools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "chela/schema.h"
#include "support/quoted.h"
#include "schema/schema_clean.h"
#include "schema/schema_lint.h"

static const struct ch_json *read_text(struct ch_arena *a, const char *text) {
    const struct ch_json *v = NULL;
    if (ch_json_parse(a, quoted(a, text), CH_JSON_STRICT, &v, NULL, NULL) < 0)
        fail_msg("no JSON: %s", text);
    return v;
}

/* want NULL: the vendor cannot say it. */
static const struct {
    enum ch_clean target;
    const char *schema, *want;
} cases[] = {
    /* Gemini's own schemas */
    {CH_CLEAN_GEMINI, "{'type':['string','null'],'minLength':1,'format':'email'}",
     "{'type':'string','minLength':1,'nullable':true}"},
    {CH_CLEAN_GEMINI, "{'type':'string','format':'date-time','title':'T'}",
     "{'type':'string','format':'date-time','title':'T'}"},
    {CH_CLEAN_GEMINI, "{'type':['string','integer']}",
     "{'anyOf':[{'type':'integer'},{'type':'string'}]}"},
    {CH_CLEAN_GEMINI, "{'anyOf':[{'type':'integer'},{'type':'null'}],'description':'d'}",
     "{'type':'integer','description':'d','nullable':true}"},
    {CH_CLEAN_GEMINI, "{'oneOf':[{'type':'string'},{'type':'number'}]}",
     "{'anyOf':[{'type':'string'},{'type':'number'}]}"},
    {CH_CLEAN_GEMINI, "{'const':'x'}", "{'type':'string','enum':['x']}"},
    {CH_CLEAN_GEMINI, "{'enum':[1,2,null]}",
     "{'type':'string','format':'enum','enum':['1','2'],'nullable':true}"},
    {CH_CLEAN_GEMINI, "{'enum':['a','']}", "{'type':'string','enum':['a']}"},
    {CH_CLEAN_GEMINI, "{'anyOf':[{'const':'p'},{'const':'q'}]}",
     "{'type':'string','enum':['p','q']}"},
    {CH_CLEAN_GEMINI, "{'type':'integer','exclusiveMinimum':0,'exclusiveMaximum':10}",
     "{'type':'integer','minimum':1,'maximum':9}"},
    {CH_CLEAN_GEMINI, "{'type':'number','exclusiveMinimum':0,'multipleOf':5}", "{'type':'number'}"},
    {CH_CLEAN_GEMINI, "{'type':'array'}", "{'type':'array','items':{'type':'string'}}"},
    {CH_CLEAN_GEMINI, "{'type':'array','prefixItems':[{'type':'string'},{'type':'number'}]}",
     "{'type':'array','items':{'anyOf':[{'type':'string'},{'type':'number'}]}}"},
    {CH_CLEAN_GEMINI, "{'type':'object','properties':{},'additionalProperties':false}",
     "{'type':'object'}"},
    {CH_CLEAN_GEMINI,
     "{'properties':{'a':{'$ref':'#/$defs/t','description':'d'},'b':false},"
     "'required':['a','z'],'$defs':{'t':{'type':'object','description':'x',"
     "'properties':{'at':{'type':'string'}},'required':['at']}}}",
     "{'type':'object','properties':{'a':{'type':'object','properties':{'at':{'type':'string'}},"
     "'required':['at'],'description':'d'}},'required':['a']}"},
    {CH_CLEAN_GEMINI,
     "{'allOf':[{'type':'object','properties':{'a':{'type':'string'}}},"
     "{'properties':{'b':{'type':'null'},'a':{'maxLength':3}},'required':['a']}]}",
     "{'type':'object','properties':{'a':{'type':'string','maxLength':3},'b':{'anyOf':[{'type':"
     "'string'},{'type':'number'},{'type':'boolean'}],'nullable':true}},'required':['a']}"},
    {CH_CLEAN_GEMINI,
     "{'$ref':'#/$defs/n','$defs':{'n':{'type':'object','properties':{'next':"
     "{'$ref':'#/$defs/n'}}}}}",
     "{'type':'object','properties':{'next':{'type':'object'}}}"},
    {CH_CLEAN_GEMINI, "{'type':'object','not':{},'if':{},'patternProperties':{},'x-mine':1}",
     "{'type':'object'}"},
    {CH_CLEAN_GEMINI, "true", "{'anyOf':[{'type':'string'},{'type':'number'},{'type':'boolean'}]}"},
    /* Gemini's JSON Schema */
    {CH_CLEAN_GEMINI_JSON, "{'type':['string','null'],'minLength':1,'const':'a'}",
     "{'type':['string','null'],'enum':['a',null]}"},
    {CH_CLEAN_GEMINI_JSON,
     "{'$ref':'#/definitions/a','definitions':{'a':{'type':'object',"
     "'properties':{'b':{'$ref':'#/definitions/a'}}}}}",
     "{'type':'object','properties':{'b':{'$ref':'#/$defs/a'}},'$defs':{'a':{'type':'object',"
     "'properties':{'b':{'$ref':'#/$defs/a'}}}}}"},
    {CH_CLEAN_GEMINI_JSON, "{'type':'object','additionalProperties':{'type':'string'}}",
     "{'type':'object','additionalProperties':{'type':'string'}}"},
    {CH_CLEAN_GEMINI_JSON, "{}", "{}"},
    /* OpenAI's strict mode */
    {CH_CLEAN_OPENAI_STRICT,
     "{'type':'object','properties':{'a':{'type':'string','default':'x'},'b':{'enum':['p',1]},"
     "'c':{'type':'integer'}},'required':['c']}",
     "{'type':'object','properties':{'a':{'type':['string','null']},'b':{'type':['integer','string'"
     ",'null'],'enum':['p',1,null]},'c':{'type':'integer'}},'required':['a','b','c'],"
     "'additionalProperties':false}"},
    {CH_CLEAN_OPENAI_STRICT,
     "{'type':'object','properties':{'a':{'$ref':'#/$defs/t'}},'$defs':{"
     "'t':{'type':'string','format':'uuid','pattern':'a(?=b)'}}}",
     "{'type':'object','properties':{'a':{'anyOf':[{'$ref':'#/$defs/t'},{'type':'null'}]}},"
     "'required':['a'],'additionalProperties':false,'$defs':{'t':{'type':'string','format':"
     "'uuid'}}}"},
    {CH_CLEAN_OPENAI_STRICT, "{'type':'object','properties':{}}",
     "{'type':'object','properties':{},'required':[],'additionalProperties':false}"},
    {CH_CLEAN_OPENAI_STRICT, "{'type':'object','additionalProperties':{'type':'string'}}", NULL},
    {CH_CLEAN_OPENAI_STRICT, "{'type':'object','properties':{'a':{}}}", NULL},
    {CH_CLEAN_OPENAI_STRICT, "{'type':'object','properties':{'a':{'type':'array'}}}", NULL},
    {CH_CLEAN_OPENAI_STRICT, "{'anyOf':[{'type':'object','properties':{}}]}", NULL},
    {CH_CLEAN_OPENAI_STRICT, "{'type':'object'}", NULL},
    /* what is wrong with the schema itself */
    {CH_CLEAN_GEMINI, "{'$ref':'#/nowhere'}", NULL},
    /* a schema with an $id of its own, to which its references are relative */
    {CH_CLEAN_GEMINI,
     "{'properties':{'t':{'$id':'http://x/t','type':'array','items':{'$ref':'#/$defs/n'},"
     "'$defs':{'n':{'type':'integer'}}}}}",
     "{'type':'object','properties':{'t':{'type':'array','items':{'type':'integer'}}}}"},
    {CH_CLEAN_GEMINI_JSON,
     "{'properties':{'t':{'$id':'http://x/t','type':'array','items':{'$ref':'#/$defs/n'},"
     "'$defs':{'n':{'type':'integer'}}}}}",
     "{'type':'object','properties':{'t':{'type':'array','items':{'type':'integer'}}}}"},
    {CH_CLEAN_GEMINI, "[]", NULL},
};

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO out = {0};
        struct chela_error err = {0};
        int rc = ch_schema_clean(read_text(&a, cases[i].schema), cases[i].target, &out, NULL, &err);
        if (!cases[i].want && (rc == 0 || !err.message[0]))
            fail_msg("%s: should be refused", cases[i].schema);
        if (!cases[i].want)
            continue;
        if (rc < 0 || !ch_json_equal(read_text(&a, ch_buf_str(&out)), read_text(&a, cases[i].want)))
            fail_msg("%s\ngot  %s\nwant %s", cases[i].schema, rc < 0 ? err.message : out.p,
                     cases[i].want);
    }
}

static void test_notes(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO out = {0};
    CH_BUF_AUTO notes = {0};
    const struct ch_json *schema =
        read_text(&a, "{'type':'object','properties':{'a':{'type':'string','format':'uri'},'b':{"
                      "'type':'array','uniqueItems':true,'items':{'type':'null'}}}}");
    assert_int_equal(ch_schema_clean(schema, CH_CLEAN_GEMINI, &out, &notes, NULL), 0);
    assert_string_equal(notes.p, "/properties/a/format: format 'uri' left out\n"
                                 "/properties/b/items: any type became string, number or boolean\n"
                                 "/properties/b/uniqueItems: 'uniqueItems' left out\n");
    /* The second path is the end of the first one. */
    schema = read_text(&a, "{'type':'object','properties':{'a':{'type':'object','properties':{'b':"
                           "{'type':'string','x':1}}},'b':{'type':'string','x':1}}}");
    ch_buf_clear(&notes);
    assert_int_equal(ch_schema_clean(schema, CH_CLEAN_GEMINI, &out, &notes, NULL), 0);
    assert_string_equal(notes.p, "/properties/a/properties/b/x: 'x' left out\n"
                                 "/properties/b/x: 'x' left out\n");
}

/* A schema that says the same twice at each level would double with each. */
static void test_bounded(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO out = {0};
    struct chela_error err = {0};
    const struct ch_json *v;
    ch_buf_add_str(&text, "{\"$ref\":\"#/$defs/0\",\"$defs\":{");
    for (int i = 0; i < 25; i++)
        ch_buf_addf(&text,
                    "\"%d\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/%d"
                    "\"},\"b\":{\"$ref\":\"#/$defs/%d\"}}},",
                    i, i + 1, i + 1);
    ch_buf_add_str(&text, "\"25\":{\"type\":\"string\"}}}");
    assert_int_equal(ch_json_parse(&a, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    assert_int_equal(ch_schema_clean(v, CH_CLEAN_GEMINI, &out, NULL, &err), CHELA_ELIMIT);
    assert_int_equal(ch_schema_clean(v, CH_CLEAN_GEMINI_JSON, &out, NULL, &err), 0);
}

/* Many references to one large object: the output has more schemas than a vendor takes, long
 * before its text is too long. */
static void test_copies(void **state) {
    (void)state;
    for (int copies = 8; copies <= 12; copies += 4) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO text = {0};
        CH_BUF_AUTO out = {0};
        const struct ch_json *v;
        ch_buf_add_str(&text, "{\"type\":\"object\",\"$defs\":{\"d\":{\"properties\":{\"\":true");
        for (int i = 0; i < 2000; i++)
            ch_buf_addf(&text, ",\"p%d\":{\"type\":\"string\"}", i);
        ch_buf_add_str(&text, "}}},\"properties\":{\"\":true");
        for (int i = 0; i < copies; i++)
            ch_buf_addf(&text, ",\"q%d\":{\"$ref\":\"#/$defs/d\"}", i);
        ch_buf_add_str(&text, "}}");
        assert_int_equal(ch_json_parse(&a, ch_buf_sv(&text), CH_JSON_STRICT, &v, NULL, NULL), 0);
        assert_int_equal(ch_schema_clean(v, CH_CLEAN_GEMINI, &out, NULL, NULL),
                         copies == 8 ? 0 : CHELA_ELIMIT);
    }
}

/* --- advice ------------------------------------------------------------------------- */

/* rules: "level rule path" of each finding, a line each. */
static const struct {
    const char *name, *description, *schema, *findings;
} tools[] = {
    {"read_file", "Read a file of the workspace; fails when it is larger than 16 MB.",
     "{'type':'object','properties':{'path':{'type':'string','description':'relative to the "
     "workspace'}},'required':['path'],'additionalProperties':false}",
     ""},
    {"read file", "", "{'type':'object'}", "error name -\nwarning description -\n"},
    {"1st", "Read a file of the workspace; fails when too large.", "{'type':'object'}",
     "error name -\n"},
    {"search", "Search.", "{'type':'string'}", "warning description -\nerror root \n"},
    {NULL, NULL,
     "{'type':'object','properties':{'q':{'type':'string'},'user_id':{'type':'string',"
     "'description':'The user ID'},'x y':{'description':'something else'}},"
     "'required':['z']}",
     "warning description /properties/q\nwarning description /properties/user_id\n"
     "error name /properties/x y\nwarning type /properties/x y\nwarning required /required/0\n"},
    {NULL, NULL, "{'type':'object','anyOf':[{'required':['a']}]}", "error root \n"},
    {NULL, NULL,
     "{'type':'object','properties':{'a':{'type':'array','description':'the list of "
     "names to use','minItems':1}}}",
     "error items /properties/a\n"},
};

static void test_lint(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(tools); i++) {
        CH_ARENA_AUTO a = {0};
        CH_BUF_AUTO got = {0};
        struct ch_lints list;
        ch_schema_lint(ch_sv_str(tools[i].name), ch_sv_str(tools[i].description),
                       read_text(&a, tools[i].schema), &a, &list);
        for (size_t k = 0; k < list.n; k++)
            if (strcmp(list.list[k].level, "note") != 0)
                ch_buf_addf(&got, "%s %s %s\n", list.list[k].level, list.list[k].rule,
                            list.list[k].path.p ? list.list[k].path.p : "-");
        if (strcmp(ch_buf_str(&got), tools[i].findings) != 0)
            fail_msg("%s\ngot\n%swant\n%s", tools[i].schema, ch_buf_str(&got), tools[i].findings);
    }
}

static bool finds(const char *schema, const char *rule) {
    CH_ARENA_AUTO a = {0};
    struct ch_lints list;
    bool found = false;
    ch_schema_lint(ch_sv(NULL, 0), ch_sv(NULL, 0), read_text(&a, schema), &a, &list);
    for (size_t k = 0; k < list.n; k++)
        found |= strcmp(list.list[k].rule, rule) == 0;
    return found;
}

static void test_size(void **state) {
    (void)state;
    static const char deep[] =
        "{'type':'object','properties':{'a':{'type':'object','properties':{'b':{'type':'object',"
        "'properties':{'c':{'type':'object','properties':{'d':{'type':'string'}}}}}}}}}";
    static const char fine[] =
        "{'type':'object','properties':{'a':{'type':'object','properties':{'b':{'type':'object',"
        "'properties':{'c':{'type':'string'}}}}}}}";
    CH_BUF_AUTO many = {0};
    assert_true(finds(deep, "depth"));
    assert_false(finds(fine, "depth"));
    ch_buf_add_str(&many, "{'type':'object','properties':{");
    for (int i = 0; i < 9; i++)
        ch_buf_addf(&many, "%s'p%d':{}", i ? "," : "", i);
    ch_buf_add_str(&many, "}}");
    assert_false(finds(many.p, "parameters"));
    many.n -= 2;
    ch_buf_add_str(&many, ",'p9':{}}}");
    assert_true(finds(many.p, "parameters"));
}

/* A keyword is named once, with those who refuse it. */
static void test_keywords(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    struct ch_sv text = quoted(
        &a, "[{'name':'t','description':'Does a thing, and says so.','input_schema':{'type':"
            "'object','properties':{'a':{'oneOf':[{'type':'string'}],'description':'first "
            "of them'},'b':{'oneOf':[{'type':'string'}],'description':'second of them'}}}}]");
    char *got = chela_schema_lint(text.p, text.n, NULL);
    assert_non_null(got);
    assert_string_equal(
        got, "[{\"tool\":\"t\",\"level\":\"note\",\"rule\":\"keyword\",\"path\":"
             "\"/properties/a/oneOf\",\"message\":\"'oneOf' is not taken by all vendors\","
             "\"vendors\":\"gemini parameters, openai strict, anthropic strict\"}]");
    ch_free(got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_notes), cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_lint),  cmocka_unit_test(test_size),  cmocka_unit_test(test_keywords),
        cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests_name("json/schema_clean", tests, NULL, NULL);
}

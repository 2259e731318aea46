/* test_schema_source.c -- addresses: what schemas refer to, which draft they
 * are of, and what is said when they cannot be compiled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/quoted.h"
#include "schema/schema.h"

/* Documents that can be referred to. */
static const struct {
    const char *uri, *text;
} documents[] = {
    {"http://docs/int.json", "{'type':'integer'}"},
    {"http://docs/other.json", "{'$id':'http://elsewhere/x.json','$ref':'y.json#/$defs/a'}"},
    {"http://elsewhere/y.json", "{'$defs':{'a':{'type':'integer'}}}"},
    {"http://docs/old.json", "{'$schema':'http://json-schema.org/draft-07/schema#',"
                             "'items':[{'type':'integer'}],'dependentRequired':{'a':['b']}}"},
    {"http://docs/broken.json", "{'type':"},
    {"http://docs/list.json", "[1]"},
    {"http://docs/no-validation",
     "{'$schema':'https://json-schema.org/draft/2020-12/schema','$id':"
     "'http://docs/no-validation','$vocabulary':{"
     "'https://json-schema.org/draft/2020-12/vocab/core':true,"
     "'https://json-schema.org/draft/2020-12/vocab/applicator':true}}"},
    {"http://docs/needs-more", "{'$schema':'https://json-schema.org/draft/2020-12/schema',"
                               "'$vocabulary':{'http://docs/vocab/mine':true}}"},
    {"http://docs/self", "{'$schema':'http://docs/self'}"},
};

static int load(void *user, struct ch_sv uri, struct ch_buf *text, struct chela_error *err) {
    (void)err;
    for (size_t i = 0; i < CH_LEN(documents); i++) {
        CH_ARENA_AUTO a = {0};
        if (!ch_sv_is(uri, documents[i].uri))
            continue;
        ++*(int *)user;
        return ch_buf_add_sv(text, quoted(&a, documents[i].text));
    }
    return CHELA_ENOENT;
}

static int compile(const char *text, struct ch_schema **out, struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    int loads = 0;
    struct ch_schema_opts opts = {.load = load, .user = &loads};
    return ch_schema_parse(quoted(&a, text), &opts, out, err);
}

static bool valid(struct ch_schema *s, const char *text) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&a, quoted(&a, text), CH_JSON_STRICT, &v, NULL, NULL), 0);
    return ch_schema_valid(s, v);
}

static const struct {
    const char *schema, *valid, *invalid; /* one value each; NULL: none */
} linked[] = {
    {"{'$ref':'http://docs/int.json'}", "1", "'a'"},
    {"{'$id':'http://docs/main','$ref':'int.json'}", "1", "'a'"},
    {"{'items':{'$ref':'http://docs/int.json'},'contains':{'$ref':'http://docs/int.json'}}", "[1]",
     "['a']"},
    {"{'$ref':'http://docs/other.json'}", "1", "'a'"},
    {"{'$ref':'https://json-schema.org/draft/2020-12/schema'}", "{'minLength':1}",
     "{'minLength':'x'}"},
    {"{'$ref':'https://json-schema.org/draft/2019-09/schema'}",
     "{'items':[{'$recursiveRef':'#'}],'$recursiveAnchor':true}", "{'items':[{'minLength':'x'}]}"},
    {"{'$schema':'https://json-schema.org/draft/2019-09/schema',"
     "'$ref':'https://json-schema.org/draft/2019-09/schema'}",
     "{'$defs':{'a':{'type':'integer'}}}", "{'$defs':{'a':{'type':1}}}"},
    {"{'$schema':'https://json-schema.org/draft/2019-09/schema',"
     "'$ref':'https://json-schema.org/draft/2019-09/meta/content'}",
     "{'contentSchema':true}", "{'contentSchema':1}"},
    {"{'$ref':'http://json-schema.org/draft-07/schema#'}", "{'items':[{}]}", "{'items':[1]}"},
    /* drafts */
    {"{'$ref':'http://docs/old.json'}", "[1,'x']", "['x']"},
    {"{'$ref':'http://docs/old.json'}", "{'a':1}", NULL},
    {"{'$schema':'http://json-schema.org/draft-07/schema#','$ref':'#/definitions/a',"
     "'definitions':{'a':{'type':'integer'}},'minimum':10}",
     "1", "'a'"},
    {"{'$schema':'http://json-schema.org/draft-07/schema','definitions':{'a':{'$id':'#x',"
     "'type':'integer'}},'allOf':[{'$ref':'#x'}]}",
     "1", "'a'"},
    {"{'$schema':'http://json-schema.org/draft-07/schema','items':[true],'additionalItems':false}",
     "[1]", "[1,2]"},
    {"{'$schema':'https://json-schema.org/draft/2019-09/schema','$recursiveAnchor':true,"
     "'properties':{'a':{'$recursiveRef':'#'}},'additionalProperties':false}",
     "{'a':{'a':{}}}", "{'a':{'b':1}}"},
    /* vocabularies */
    {"{'$schema':'http://docs/no-validation','minimum':5,'properties':{'a':false}}", "1",
     "{'a':1}"},
};

static void test_linked(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(linked); i++) {
        struct chela_error err = {0};
        struct ch_schema *s = NULL;
        if (compile(linked[i].schema, &s, &err) < 0)
            fail_msg("%s: %s", linked[i].schema, err.message);
        if (!valid(s, linked[i].valid))
            fail_msg("%s: %s should be valid", linked[i].schema, linked[i].valid);
        if (linked[i].invalid && valid(s, linked[i].invalid))
            fail_msg("%s: %s should be invalid", linked[i].schema, linked[i].invalid);
        ch_schema_free(s);
    }
}

static const struct {
    const char *schema;
    int code;
    const char *message; /* its beginning */
} broken[] = {
    {"1", CHELA_EINVAL, "#: a schema is an object or a boolean, not number"},
    {"{", CHELA_EPARSE, "line 1"},
    {"{'type':'strin'}", CHELA_EINVAL, "#/type: unknown type 'strin'; there are null"},
    {"{'type':1}", CHELA_EINVAL, "#/type: must be a name"},
    {"{'properties':{'a':{'minLength':'3'}}}", CHELA_EINVAL,
     "#/properties/a/minLength: must be a w"},
    {"{'minItems':-1}", CHELA_EINVAL, "#/minItems: must be a whole number"},
    {"{'minItems':1.5}", CHELA_EINVAL, "#/minItems: must be a whole number"},
    {"{'minimum':'1'}", CHELA_EINVAL, "#/minimum: must be a number"},
    {"{'multipleOf':0}", CHELA_EINVAL, "#/multipleOf: must be a number above 0"},
    {"{'multipleOf':-1}", CHELA_EINVAL, "#/multipleOf: must be a number above 0"},
    {"{'pattern':'a('}", CHELA_EINVAL, "#/pattern: not a regular expression: unclosed group"},
    {"{'patternProperties':{'[':{}}}", CHELA_EINVAL, "#/patternProperties: not a regular"},
    {"{'required':'a'}", CHELA_EINVAL, "#/required: must be a list of names"},
    {"{'required':[1]}", CHELA_EINVAL, "#/required: must be a list of names"},
    {"{'properties':[]}", CHELA_EINVAL, "#/properties: must be an object of schemas"},
    {"{'properties':{'a':1}}", CHELA_EINVAL, "#/properties: must be a schema"},
    {"{'items':[{}]}", CHELA_EINVAL, "#/items: must be a schema; lists"},
    {"{'items':1}", CHELA_EINVAL, "#/items: must be a schema"},
    {"{'anyOf':[]}", CHELA_EINVAL, "#/anyOf: must be a list of schemas"},
    {"{'allOf':{}}", CHELA_EINVAL, "#/allOf: must be a list of schemas"},
    {"{'not':1}", CHELA_EINVAL, "#/not: must be a schema"},
    {"{'enum':1}", CHELA_EINVAL, "#/enum: must be a list of values"},
    {"{'uniqueItems':1}", CHELA_EINVAL, "#/uniqueItems: must be a boolean"},
    {"{'dependentRequired':{'a':1}}", CHELA_EINVAL, "#/dependentRequired: must be a list of names"},
    {"{'$ref':1}", CHELA_EINVAL, "#/$ref: must be a string"},
    {"{'$ref':'#/$defs/a'}", CHELA_ENOENT, "#/$ref: #/$defs/a leads nowhere"},
    {"{'$ref':'#a'}", CHELA_ENOENT, "#/$ref: #a leads nowhere"},
    {"{'$ref':'#/a','a':1}", CHELA_EINVAL, "#/$ref: #/a is no schema"},
    {"{'$ref':'http://nowhere/x'}", CHELA_ENOENT, "#/$ref: the schema refers to http://nowhere/x"},
    {"{'$ref':'http://docs/broken.json'}", CHELA_EPARSE, "#/$ref: http://docs/broken.json: line"},
    {"{'$ref':'http://docs/list.json'}", CHELA_EINVAL,
     "#/$ref: http://docs/list.json: a schema is"},
    {"{'$schema':'http://nowhere/meta'}", CHELA_ENOENT, "the schema refers to http://nowhere/meta"},
    {"{'$schema':'http://docs/needs-more'}", CHELA_EINVAL, "the meta-schema requires the vocab"},
    {"{'$schema':'http://docs/self'}", CHELA_ELIMIT, "$schema http://docs/self: meta-schemas lead"},
    {"{'$ref':'#'}", CHELA_EINVAL, "#/$ref: refers to itself endlessly"},
    {"{'$ref':'#/$defs/a','$defs':{'a':{'anyOf':[{'$ref':'#'}]}}}", CHELA_EINVAL,
     "#/$defs/a/anyOf/0/$ref: refers to itself"},
    {"{'if':{'not':{'dependentSchemas':{'a':{'$ref':'#'}}}},'then':{}}", CHELA_EINVAL,
     "#/if/not/dependentSchemas/a/$ref: refers to itself"},
};

static void test_broken(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(broken); i++) {
        struct chela_error err = {0};
        struct ch_schema *s = NULL;
        int rc = compile(broken[i].schema, &s, &err);
        if (rc != broken[i].code || s ||
            strncmp(err.message, broken[i].message, strlen(broken[i].message)) != 0)
            fail_msg("%s: %d %s", broken[i].schema, rc, rc < 0 ? err.message : "");
    }
}

/* A document is loaded once, however often it is referred to. */
static void test_loads_once(void **state) {
    (void)state;
    CH_ARENA_AUTO a = {0};
    int loads = 0;
    struct ch_schema *s = NULL;
    struct ch_schema_opts opts = {.load = load, .user = &loads};
    struct ch_sv text =
        quoted(&a, "{'items':{'$ref':'http://docs/int.json'},'contains':{'$ref':"
                   "'http://docs/int.json#'},'not':{'$ref':'http://docs/int.json'}}");
    assert_int_equal(ch_schema_parse(text, &opts, &s, NULL), 0);
    assert_int_equal(loads, 1);
    ch_schema_free(s);
}

/* References that follow each other further than is allowed. */
static void test_long_chain(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    struct ch_schema *s = NULL;
    struct chela_error err = {0};
    ch_buf_add_str(&text, "{\"$ref\":\"#/$defs/0\",\"$defs\":{");
    for (int i = 0; i < 2 * CH_LIMIT_SCHEMA_NESTING; i++)
        ch_buf_addf(&text, "\"%d\":{\"$ref\":\"#/$defs/%d\"},", i, i + 1);
    ch_buf_addf(&text, "\"%d\":{}}}", 2 * CH_LIMIT_SCHEMA_NESTING);
    assert_int_equal(ch_schema_parse(ch_buf_sv(&text), NULL, &s, &err), CHELA_ELIMIT);
    assert_non_null(strstr(err.message, "subschemas for one value"));
}

/* The schema keeps what it needs of what it was made from. */
static void test_copies(void **state) {
    (void)state;
    struct ch_arena a = {0};
    const struct ch_json *root;
    struct ch_schema *s = NULL;
    ch_json_parse(&a, quoted(&a, "{'enum':['a text',12],'pattern':'^a'}"), CH_JSON_STRICT, &root,
                  NULL, NULL);
    assert_int_equal(ch_schema_new(root, NULL, &s, NULL), 0);
    ch_arena_release(&a);
    assert_true(valid(s, "'a text'"));
    assert_true(valid(s, "12.0"));
    assert_false(valid(s, "'b'"));
    ch_schema_free(s);
}

/* Processor time in ns to compile a schema with n definitions and a reference to each. keyword:
 * the member that holds a definition's name. The definitions are members of "$defs" or, for
 * references that say so, elements of "list". A stranger may send such a schema. */
static int64_t time_of_references(int n, const char *keyword, const char *reference) {
    CH_BUF_AUTO text = {0};
    struct ch_schema *s = NULL;
    struct chela_error err = {0};
    struct timespec from, to;
    bool list = strstr(reference, "list") != NULL;
    ch_buf_add_str(&text, list ? "{\"list\":[" : "{\"$defs\":{");
    for (int i = 0; i < n; i++) {
        ch_buf_add_str(&text, i ? "," : "");
        if (!list)
            ch_buf_addf(&text, "\"d/%d\":", i);
        ch_buf_addf(&text, "{\"%s\":\"a%d\",\"minimum\":%d}", keyword, i, i);
    }
    ch_buf_addf(&text, "%c,\"properties\":{", list ? ']' : '}');
    for (int i = 0; i < n; i++)
        ch_buf_addf(&text, "%s\"p%d\":{\"$ref\":\"%s%d\"}", i ? "," : "", i, reference, i);
    ch_buf_add_str(&text, "}}");
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    if (ch_schema_parse(ch_buf_sv(&text), NULL, &s, &err) < 0)
        fail_msg("%s", err.message);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    assert_true(valid(s, "{'p0':0,'p17':17,'p29':29}"));
    assert_false(valid(s, "{'p17':16}"));
    ch_schema_free(s);
    return (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
}

/* The time must not grow with the square of the number of references. */
static void test_many_references(void **state) {
    static const char *const forms[][2] = {
        {"title", "#/$defs/d~1"}, {"title", "#/list/"}, {"$anchor", "#a"}, {"$id", "a"}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(forms); i++) {
        int64_t some = time_of_references(1500, forms[i][0], forms[i][1]);
        assert_true(time_of_references(30000, forms[i][0], forms[i][1]) < 120 * some);
    }
}

/* Of members with the same name the last one is used, also of many. */
static void test_repeated_names(void **state) {
    CH_BUF_AUTO text = {0};
    struct ch_schema *s = NULL;
    struct chela_error err = {0};
    (void)state;
    ch_buf_add_str(&text, "{\"$defs\":{");
    for (int i = 0; i < 60; i++)
        ch_buf_addf(&text, "\"d%d\":{\"minimum\":%d},", i % 20, i);
    ch_buf_add_str(&text, "\"\":{}},\"$ref\":\"#/$defs/d7\"}");
    assert_int_equal(ch_schema_parse(ch_buf_sv(&text), NULL, &s, &err), 0);
    assert_true(valid(s, "47"));
    assert_false(valid(s, "46"));
    ch_schema_free(s);
    text.p[text.n - 3] = 'x';
    assert_int_equal(ch_schema_parse(ch_buf_sv(&text), NULL, &s, &err), CHELA_ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_linked),
        cmocka_unit_test(test_broken),     cmocka_unit_test(test_loads_once),
        cmocka_unit_test(test_long_chain), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_many_references), cmocka_unit_test(test_repeated_names),
    };
    return cmocka_run_group_tests_name("json/schema_source", tests, NULL, NULL);
}

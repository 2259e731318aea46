/* test_output.c -- answers that match a JSON Schema: reading, asking, checking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/machine/output.h"
#include "base/mem.h"
#include "chela/session.h"

#define OBJECT                                                                                    \
    "{\"type\":\"object\",\"required\":[\"n\"],"                                                 \
    "\"properties\":{\"n\":{\"type\":\"integer\"},\"s\":{\"type\":\"string\"}}}"

static struct ch_output *output(const char *schema, enum chela_output_by by) {
    struct ch_output *o = NULL;
    assert_int_equal(ch_output_new(schema, by, &o, NULL), 0);
    return o;
}

static void test_schemas(void **state) {
    (void)state;
    static const struct {
        const char *schema;
        enum chela_output_by by;
        const char *why; /* NULL: it is taken */
    } cases[] = {
        {OBJECT, CHELA_OUTPUT_BY_AUTO, NULL},
        {"{\"type\":\"array\"}", CHELA_OUTPUT_BY_AUTO, NULL},
        {"{\"type\":\"array\"}", CHELA_OUTPUT_BY_TOOL, "only an object can be given by a tool"},
        {"{", CHELA_OUTPUT_BY_AUTO, "the schema of the answer"},
        {"{\"type\":\"nothing\"}", CHELA_OUTPUT_BY_AUTO, "the schema of the answer"},
        {OBJECT, (enum chela_output_by)99, ""},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {0};
        struct ch_output *o = NULL;
        int rc = ch_output_new(cases[i].schema, cases[i].by, &o, &err);
        assert_int_equal(rc, cases[i].why ? CHELA_EINVAL : 0);
        if (cases[i].why && !strstr(err.message, cases[i].why))
            fail_msg("case %zu: %s", i, err.message);
        ch_output_free(o);
    }
}

static void test_tool(void **state) {
    (void)state;
    struct ch_output *o = output(OBJECT, CHELA_OUTPUT_BY_AUTO);
    assert_true(ch_output_has_tool(o));
    assert_false(ch_output_must_be_native(o));
    ch_output_free(o);
    o = output("{\"type\":\"string\"}", CHELA_OUTPUT_BY_AUTO);
    assert_false(ch_output_has_tool(o));
    ch_output_free(o);
    o = output(OBJECT, CHELA_OUTPUT_BY_PROMPT);
    assert_false(ch_output_has_tool(o));
    ch_output_free(o);
}

static void test_answers(void **state) {
    (void)state;
    static const struct {
        const char *answer, *json; /* json NULL: refused */
        const char *why;
    } cases[] = {
        {"{\"n\":1}", "{\"n\":1}", NULL},
        {"  {\"n\":1}\n", "{\"n\":1}", NULL},
        {"Here it is:\n```json\n{\"n\":1}\n```\nDone.", "{\"n\":1}", NULL},
        {"{\"n\":1,\"s\":null}", "{\"n\":1}", NULL}, /* null for an optional member */
        {"{\"n\":\"x\"}", NULL, "n"},
        {"{}", NULL, "n"},
        {"[1]", NULL, ""},
        {"no", NULL, "it is no JSON"},
        {"{\"n\":1", NULL, "it is no JSON"},
        {"", NULL, "it is empty"},
        {"  \n", NULL, "it is empty"},
    };
    struct ch_output *o = output(OBJECT, CHELA_OUTPUT_BY_AUTO);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO json = {0};
        CH_BUF_AUTO why = {0};
        bool good = ch_output_check(o, ch_sv_str(cases[i].answer), &json, &why);
        assert_int_equal(good, cases[i].json != NULL);
        if (good)
            assert_string_equal(ch_buf_str(&json), cases[i].json);
        else if (!why.n || !strstr(ch_buf_str(&why), cases[i].why))
            fail_msg("case %zu: %s", i, ch_buf_str(&why));
    }
    ch_output_free(o);
}

static void test_ask(void **state) {
    (void)state;
    struct ch_output *o = output(OBJECT, CHELA_OUTPUT_BY_AUTO);
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    struct ch_model_request req = {.system = CH_SV("You are.")};
    ch_output_ask(o, CH_OUTPUT_NATIVE, &req, &a);
    assert_true(ch_sv_is(req.output_schema, ch_output_schema(o)));
    assert_true(ch_sv_is(req.system, "You are."));
    ch_output_ask(o, CH_OUTPUT_BY_TOOL, &req, &a);
    assert_non_null(strstr(req.system.p, CH_OUTPUT_TOOL));
    req.system = CH_SV("You are.");
    ch_output_ask(o, CH_OUTPUT_PROMPT, &req, &a);
    assert_true(ch_sv_starts(req.system, "You are.\n"));
    assert_non_null(strstr(req.system.p, ch_output_schema(o)));
    ch_output_complain(CH_OUTPUT_PROMPT, CH_SV("n is missing"), &text);
    assert_non_null(strstr(ch_buf_str(&text), "n is missing"));
    assert_null(strstr(ch_buf_str(&text), CH_OUTPUT_TOOL));
    ch_output_free(o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_tool),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

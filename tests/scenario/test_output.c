/* test_output.c -- answers of a given form: how they are asked for, checked,
 * asked for again and given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/stage.h"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},"
    "\"note\":{\"type\":\"string\"}},\"required\":[\"n\"],\"additionalProperties\":false}";

static bool sent(const struct stage *st, size_t i, const char *what) {
    return i < st->model.nrequests && strstr(ch_buf_str(&st->model.requests[i]), what);
}

static const struct {
    const char *name;
    enum chela_output_by by;
    struct fake_reply replies[3];
    size_t n; /* requests made */
    const char *verdict, *text;
} rows[] = {
    {"fits at once",
     CHELA_OUTPUT_BY_PROMPT,
     {{.body = A_SAY("{\\\"n\\\":5}")}},
     1,
     "done/task_completed",
     "{\"n\":5}"},
    {"fences and words are overlooked",
     CHELA_OUTPUT_BY_PROMPT,
     {{.body = A_SAY("Here:\\n```json\\n{\\\"n\\\": 5}\\n```\\nDone.")}},
     1,
     "done/task_completed",
     "{\"n\": 5}"},
    {"null for what may be absent",
     CHELA_OUTPUT_BY_PROMPT,
     {{.body = A_SAY("{\\\"n\\\":5,\\\"note\\\":null}")}},
     1,
     "done/task_completed",
     "{\"n\":5}"},
    {"asked again",
     CHELA_OUTPUT_BY_PROMPT,
     {{.body = A_SAY("five")}, {.body = A_SAY("{\\\"n\\\":5}")}},
     2,
     "done/task_completed",
     "{\"n\":5}"},
    {"given up",
     CHELA_OUTPUT_BY_PROMPT,
     {{.body = A_SAY("five")}, {.body = A_SAY("{\\\"m\\\":5}")}},
     2,
     "error/model_error",
     "{\"m\":5}"},
    {"by a tool",
     CHELA_OUTPUT_BY_TOOL,
     {{.body = A_USE("a", "final_answer", "{\\\"n\\\":5}")}},
     1,
     "done/task_completed",
     "{\"n\":5}"},
    {"by a tool, corrected",
     CHELA_OUTPUT_BY_TOOL,
     {{.body = A_USE("a", "final_answer", "{\\\"n\\\":\\\"5\\\"}")}},
     1,
     "done/task_completed",
     "{\"n\":5}"},
    {"by a tool, asked again",
     CHELA_OUTPUT_BY_TOOL,
     {{.body = A_USE("a", "final_answer", "{\\\"m\\\":5}")},
      {.body = A_USE("b", "final_answer", "{\\\"n\\\":5}")}},
     2,
     "done/task_completed",
     "{\"n\":5}"},
    {"by a tool, given up",
     CHELA_OUTPUT_BY_TOOL,
     {{.body = A_USE("a", "final_answer", "{}")}, {.body = A_USE("b", "final_answer", "{}")}},
     2,
     "error/model_error",
     ""},
    {"text where a tool was asked for",
     CHELA_OUTPUT_BY_TOOL,
     {{.body = A_SAY("It is five.")}, {.body = A_USE("b", "final_answer", "{\\\"n\\\":5}")}},
     2,
     "done/task_completed",
     "{\"n\":5}"},
    {"text that happens to fit",
     CHELA_OUTPUT_BY_TOOL,
     {{.body = A_SAY("{\\\"n\\\":5}")}},
     1,
     "done/task_completed",
     "{\"n\":5}"},
    {"a refusal is one",
     CHELA_OUTPUT_BY_PROMPT,
     {{.body = A_BEGIN A_TEXT(0, "no") A_END("refusal")}},
     1,
     "declined/refused",
     "no"},
};

static void test_ways(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct stage st;
        struct chela_agent_opts opts =
            CHELA_AGENT_OPTS(
                .output_schema = schema, .allow = "",
                .request = &(struct chela_request_opts)CHELA_REQUEST_OPTS(.output_by = rows[i].by));
        STAGE_OPEN(&st, &opts, rows[i].replies);
        stage_play(&st, "how many?");
        if (strcmp(stage_verdict(&st), rows[i].verdict) != 0 ||
            strcmp(chela_run_text(st.run), rows[i].text) != 0 || st.model.nrequests != rows[i].n)
            fail_msg("%s: %s, \"%s\", %zu requests; %s", rows[i].name, stage_verdict(&st),
                     chela_run_text(st.run), st.model.nrequests, chela_run_error(st.run));
        bool failed = strcmp(rows[i].verdict, "error/model_error") == 0;
        const char *error = chela_run_error(st.run);
        assert_int_equal(strstr(error, "does not fit its schema") != NULL, failed);
        stage_close(&st);
    }
}

/* Native where the model can, a tool where not; the schema in words only when
 * that is what was asked for. */
static void test_what_is_sent(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("{\\\"n\\\":5}")}};
    static const struct {
        enum chela_output_by by;
        const char *model;
        const char *has, *has_not;
    } cases[] = {
        {CHELA_OUTPUT_BY_AUTO, "anthropic/claude-sonnet-4-5", "\"output_config\":{\"format\"",
         "final_answer"},
        {CHELA_OUTPUT_BY_NATIVE, "anthropic/claude-opus-4-6", "\"output_config\":{\"format\"",
         "## Answer"},
        {CHELA_OUTPUT_BY_AUTO, "anthropic/claude-3-5-haiku-latest", "\"name\":\"final_answer\"",
         "output_config"},
        {CHELA_OUTPUT_BY_AUTO, "anthropic/fake-1",
         "\"tool_choice\":{\"type\":\"tool\",\"name\":\"final_answer\"}", "output_config"},
        {CHELA_OUTPUT_BY_PROMPT, "anthropic/claude-sonnet-4-5", "one JSON value that fits",
         "final_answer"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct stage st;
        struct chela_agent_opts opts =
            CHELA_AGENT_OPTS(
                .output_schema = schema, .model = cases[i].model,
                .request = &(struct chela_request_opts)CHELA_REQUEST_OPTS(
                    .output_by = cases[i].by));
        STAGE_OPEN(&st, &opts, replies);
        stage_play(&st, "how many?");
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        if (!sent(&st, 0, cases[i].has) || sent(&st, 0, cases[i].has_not))
            fail_msg("%s, %s: %s", chela_output_by_name(cases[i].by), cases[i].model,
                     ch_buf_str(&st.model.requests[0]));
        stage_close(&st);
    }
}

static void test_complaint(void **state) {
    (void)state;
    static const struct fake_reply replies[][2] = {
        {{.body = A_SAY("{\\\"n\\\":true}")}, {.body = A_SAY("{\\\"n\\\":5}")}},
        {{.body = A_BEGIN A_TEXT(0, "{\\\"n\\\":") A_END("max_tokens")},
         {.body = A_SAY("{\\\"n\\\":5}")}}};
    static const char *const why[] = {"n must be an integer", "the output limit cut it"};
    struct stage st;
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.output_schema = schema,
                         .request = &(struct chela_request_opts)
                                        CHELA_REQUEST_OPTS(.output_by = CHELA_OUTPUT_BY_PROMPT));
    for (size_t i = 0; i < CH_LEN(why); i++) {
        STAGE_OPEN(&st, &opts, replies[i]);
        stage_play(&st, "how many?");
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        assert_true(sent(&st, 1, why[i]));
        stage_close(&st);
    }
}

static void test_native_that_is_not(void **state) {
    (void)state;
    struct stage st;
    static const struct fake_reply replies[] = {{.body = A_SAY("5")}};
    static const struct {
        const char *model, *allow, *why; /* NULL: it can */
    } cases[] = {
        {"anthropic/fake-1", NULL, "fake-1 cannot be held to this schema by its protocol: let"},
        {"gemini/gemini-2.5-pro", NULL, "by its protocol while it has tools: let"},
        {"gemini/gemini-2.5-pro", "", NULL}, /* no tool is allowed */
        {"gemini/gemini-3-pro-preview", NULL, NULL},
    };
    STAGE_OPEN(&st, NULL, replies);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {0};
        chela_agent *agent;
        struct chela_agent_opts opts =
            CHELA_AGENT_OPTS(.output_schema = schema, .api_key = "k", .model = cases[i].model,
                             .tools = "time", .allow = cases[i].allow,
                             .request =
                                 &(struct chela_request_opts)
                                     CHELA_REQUEST_OPTS(.output_by = CHELA_OUTPUT_BY_NATIVE));
        int rc = chela_agent_new(st.rt, &opts, &agent, &err);
        assert_int_equal(rc, cases[i].why ? CHELA_EINVAL : 0);
        if (cases[i].why && !strstr(err.message, cases[i].why))
            fail_msg("%s", err.message);
    }
    stage_close(&st);
}

static void test_bad_schemas(void **state) {
    (void)state;
    static const struct {
        const char *schema;
        enum chela_output_by by;
        const char *why;
    } cases[] = {
        {"{", 0, "the schema of the answer"},
        {"{\"type\":\"nothing\"}", 0, "the schema of the answer"},
        {"{\"type\":\"array\"}", CHELA_OUTPUT_BY_TOOL, "only an object"},
        {"{}", (enum chela_output_by)9, "there is no output_by 9"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_output *o = NULL;
        struct chela_error err = {0};
        assert_int_equal(ch_output_new(cases[i].schema, cases[i].by, &o, &err), CHELA_EINVAL);
        if (!strstr(err.message, cases[i].why))
            fail_msg("%s", err.message);
        assert_null(o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),        cmocka_unit_test(test_what_is_sent),
        cmocka_unit_test(test_complaint),   cmocka_unit_test(test_native_that_is_not),
        cmocka_unit_test(test_bad_schemas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

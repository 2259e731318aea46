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
    const char *name, *by;
    struct fake_reply replies[3];
    size_t n; /* requests made */
    const char *verdict, *text;
} rows[] = {
    {"fits at once",
     "prompt",
     {{.body = A_SAY("{\\\"n\\\":5}")}},
     1,
     "done/task_completed",
     "{\"n\":5}"},
    {"fences and words are overlooked",
     "prompt",
     {{.body = A_SAY("Here:\\n```json\\n{\\\"n\\\": 5}\\n```\\nDone.")}},
     1,
     "done/task_completed",
     "{\"n\": 5}"},
    {"null for what may be absent",
     "prompt",
     {{.body = A_SAY("{\\\"n\\\":5,\\\"note\\\":null}")}},
     1,
     "done/task_completed",
     "{\"n\":5}"},
    {"asked again",
     "prompt",
     {{.body = A_SAY("five")}, {.body = A_SAY("{\\\"n\\\":5}")}},
     2,
     "done/task_completed",
     "{\"n\":5}"},
    {"given up",
     "prompt",
     {{.body = A_SAY("five")}, {.body = A_SAY("{\\\"m\\\":5}")}},
     2,
     "error/model_error",
     "{\"m\":5}"},
    {"by a tool",
     "tool",
     {{.body = A_USE("a", "final_answer", "{\\\"n\\\":5}")}},
     1,
     "done/task_completed",
     "{\"n\":5}"},
    {"by a tool, corrected",
     "tool",
     {{.body = A_USE("a", "final_answer", "{\\\"n\\\":\\\"5\\\"}")}},
     1,
     "done/task_completed",
     "{\"n\":5}"},
    {"by a tool, asked again",
     "tool",
     {{.body = A_USE("a", "final_answer", "{\\\"m\\\":5}")},
      {.body = A_USE("b", "final_answer", "{\\\"n\\\":5}")}},
     2,
     "done/task_completed",
     "{\"n\":5}"},
    {"by a tool, given up",
     "tool",
     {{.body = A_USE("a", "final_answer", "{}")}, {.body = A_USE("b", "final_answer", "{}")}},
     2,
     "error/model_error",
     ""},
    {"text where a tool was asked for",
     "tool",
     {{.body = A_SAY("It is five.")}, {.body = A_USE("b", "final_answer", "{\\\"n\\\":5}")}},
     2,
     "done/task_completed",
     "{\"n\":5}"},
    {"text that happens to fit",
     "tool",
     {{.body = A_SAY("{\\\"n\\\":5}")}},
     1,
     "done/task_completed",
     "{\"n\":5}"},
    {"a refusal is one",
     "prompt",
     {{.body = A_BEGIN A_TEXT(0, "no") A_END("refusal")}},
     1,
     "done/refused",
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
        const char *by, *model;
        const char *has, *has_not;
    } cases[] = {
        {"auto", "anthropic/claude-sonnet-4-5", "\"output_config\":{\"format\"", "final_answer"},
        {"native", "anthropic/claude-opus-4-6", "\"output_config\":{\"format\"", "## Answer"},
        {"auto", "anthropic/claude-3-5-haiku-latest", "\"name\":\"final_answer\"", "output_config"},
        {"auto", "anthropic/fake-1",
         "\"tool_choice\":{\"type\":\"tool\",\"name\":\"final_answer\"}", "output_config"},
        {"prompt", "anthropic/claude-sonnet-4-5", "one JSON value that fits", "final_answer"},
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
            fail_msg("%s, %s: %s", cases[i].by, cases[i].model, ch_buf_str(&st.model.requests[0]));
        stage_close(&st);
    }
}

static void test_complaint(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("{\\\"n\\\":true}")},
                                                {.body = A_SAY("{\\\"n\\\":5}")}};
    struct stage st;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .output_schema = schema,
        .request = &(struct chela_request_opts)CHELA_REQUEST_OPTS(.output_by = "prompt"));
    STAGE_OPEN(&st, &opts, replies);
    stage_play(&st, "how many?");
    assert_true(sent(&st, 1, "n must be an integer"));
    stage_close(&st);
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
            CHELA_AGENT_OPTS(
                .output_schema = schema, .api_key = "k", .model = cases[i].model,
                .tools = "time", .allow = cases[i].allow,
                .request = &(struct chela_request_opts)CHELA_REQUEST_OPTS(.output_by = "native"));
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
        const char *schema, *by, *why;
    } cases[] = {
        {"{", NULL, "the schema of the answer"},
        {"{\"type\":\"nothing\"}", NULL, "the schema of the answer"},
        {"{\"type\":\"array\"}", "tool", "only an object"},
        {"{}", "magic", "expected auto, native, tool or prompt"},
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

/* test_role_reply.c -- replies of roles, in the forms that models and prompts of people use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/feature/mode/role_reply.h"
#include "base/mem.h"

static const char *schema(struct ch_sv tool, void *user) {
    (void)user;
    if (ch_sv_is(tool, "weather"))
        return "{\"properties\":{\"city\":{\"type\":\"string\"},\"unit\":{\"type\":\"string\"}},"
               "\"required\":[\"city\"]}";
    if (ch_sv_is(tool, "mail"))
        return "{\"properties\":{\"to\":{\"type\":\"string\"},\"body\":{\"type\":\"string\"}},"
               "\"required\":[\"to\",\"body\"]}";
    return ch_sv_is(tool, "search") ? "{\"properties\":{\"query\":{\"type\":\"string\"}}}" : NULL;
}
static const struct ch_role_tools tools = {schema, NULL};

#define STEP(id, tool, input, needs)                                                         \
    "{\"step_id\":" id ",\"description\":\"" tool "\",\"tool_name\":\"" tool                 \
    "\",\"tool_input\":" input ",\"depends_on\":[" needs "]}"
#define PLAN(n, steps) \
    "{\"analysis\":\"\",\"plan\":[" steps "],\"estimated_steps\":" n ",\"can_parallelize\":[]}"
#define SCORES(a, b, c)                                                                      \
    "{\"evaluation\":{\"completeness\":{\"score\":" a ",\"reason\":\"\"},\"correctness\":"   \
    "{\"score\":" b ",\"reason\":\"\"},\"format\":{\"score\":" c ",\"reason\":\"\"}}"

/* want NULL: not read. notes: the text must hold it; NULL: no notes. */
static const struct {
    const char *name;
    enum ch_role_kind role;
    const char *text, *want, *notes;
} cases[] = {
    {"a router's usual form stays", CH_ROLE_ROUTER,
     "{\"reasoning\":\"r\",\"tool_name\":\"weather\",\"tool_input\":{\"city\":\"x\"},"
     "\"confidence\":0.9}",
     "{\"reasoning\":\"r\",\"tool_name\":\"weather\",\"tool_input\":{\"city\":\"x\"},"
     "\"confidence\":0.9}",
     NULL},
    {"a router without reasoning and confidence", CH_ROLE_ROUTER,
     "{\"tool_name\":\"weather\",\"tool_input\":{}}",
     "{\"reasoning\":\"\",\"tool_name\":\"weather\",\"tool_input\":{},\"confidence\":1}", NULL},
    {"a router with other names, in a fence", CH_ROLE_ROUTER,
     "Sure:\n```json\n{\"tool\":\"weather\",\"input\":\"Tokyo\",\"mood\":1}\n```",
     "{\"reasoning\":\"\",\"tool_name\":\"weather\",\"tool_input\":{\"city\":\"Tokyo\"},"
     "\"confidence\":1}",
     "tool is read as tool_name\ninput is read as tool_input\ntool_input is a text, and is taken "
     "for city\nmood is left out"},
    {"a router's decision between tags", CH_ROLE_ROUTER,
     "<scratchpad>{\"tool_name\":\"mail\"}?</scratchpad>\n<action>\n{\"tool_name\":\"search\","
     "\"tool_input\":{},\"reasoning_summary\":\"s\"}</action>",
     "{\"reasoning\":\"s\",\"tool_name\":\"search\",\"tool_input\":{},\"confidence\":1}",
     "between <action>"},
    {"a router that asks back, and says no more", CH_ROLE_ROUTER,
     "{\"action\":\"clarify\",\"question\":\"Which?\"}",
     "{\"reasoning\":\"\",\"action\":\"clarify\",\"question\":\"Which?\",\"tool_name\":\"none\","
     "\"tool_input\":{},\"confidence\":1}",
     NULL},
    {"a tool under the name of the action", CH_ROLE_ROUTER,
     "{\"action\":\"search\",\"action_input\":\"cats\"}",
     "{\"reasoning\":\"\",\"tool_name\":\"search\",\"tool_input\":{\"query\":\"cats\"},"
     "\"confidence\":1}",
     "action is read as tool_name"},
    {"comments in the JSON", CH_ROLE_ROUTER,
     "{\n  \"tool_name\": \"weather\",   # the \"name\" of {it}\n  \"tool_input\": {\"city\": "
     "\"a//b#c\"}, // input]\n  \"confidence\": 0.7 /* sure */  \xe2\x86\x90 so }\n}",
     "{\"reasoning\":\"\",\"tool_name\":\"weather\",\"tool_input\":{\"city\":\"a//b#c\"},"
     "\"confidence\":0.7}",
     "comments"},
    {"two objects: the first counts", CH_ROLE_ROUTER,
     "{\"tool_name\":\"weather\"} {\"tool_name\":\"mail\"}",
     "{\"reasoning\":\"\",\"tool_name\":\"weather\",\"tool_input\":{},\"confidence\":1}",
     "more JSON follows"},
    {"prose", CH_ROLE_ROUTER, "The weather tool {probably}.", NULL, NULL},
    {"an object of another kind", CH_ROLE_ROUTER, "{\"temperature\":1}", NULL, NULL},
    {"a bare list of steps", CH_ROLE_PLANNER,
     "[{\"step_id\":1,\"tool\":\"search\",\"input\":\"a\",\"depends_on\":[]},"
     "{\"step_id\":2,\"tool\":\"weather\",\"input\":\"$step_1_result, b\",\"depends_on\":[1]}]",
     PLAN("2", STEP("1", "search", "{\"query\":\"a\"}", "") ","
               STEP("2", "weather", "{\"city\":\"$step_1_result, b\"}", "1")),
     "a list without an object around it"},
    {"steps with neither number nor needs", CH_ROLE_PLANNER,
     "{\"steps\":[{\"tool_name\":\"search\"},{\"tool_name\":\"mail\",\"depends_on\":\"step_1\"}]}",
     PLAN("2", STEP("1", "search", "{}", "") "," STEP("2", "mail", "{}", "1")),
     "steps is read as plan"},
    {"a plan with members of its own", CH_ROLE_PLANNER,
     "{\"plan\":[{\"step_id\":1,\"description\":\"search\",\"tool_name\":\"search\","
     "\"tool_input\":\"{\\\"query\\\":\\\"a\\\"}\",\"depends_on\":null,\"owner\":\"me\"}],"
     "\"can_parallelize\":true,\"risk\":\"low\"}",
     PLAN("1", STEP("1", "search", "{\"query\":\"a\"}", "")),
     "step 1: tool_input is JSON inside of a text\nstep 1: owner is left out\nrisk is left out"},
    {"one step alone", CH_ROLE_PLANNER, "{\"tool\":\"search\",\"input\":{\"query\":\"a\"}}",
     PLAN("1", STEP("1", "search", "{\"query\":\"a\"}", "")), "a step without a list"},
    {"a planner that refuses, and says no more", CH_ROLE_PLANNER,
     "{\"action\":\"refuse\",\"reason\":\"no\"}",
     "{\"analysis\":\"\",\"action\":\"refuse\",\"reason\":\"no\",\"plan\":[],"
     "\"estimated_steps\":0,\"can_parallelize\":[]}",
     NULL},
    {"a text for a tool with two texts stays one", CH_ROLE_PLANNER,
     "[{\"step_id\":1,\"tool_name\":\"mail\",\"description\":\"mail\",\"tool_input\":\"a\"}]",
     PLAN("1", STEP("1", "mail", "\"a\"", "")), "a list without"},
    {"an empty plan", CH_ROLE_PLANNER, "{\"analysis\":\"a\",\"plan\":[]}", NULL, NULL},
    {"an executor's call without a wrapper", CH_ROLE_EXECUTOR,
     "{\"name\":\"weather\",\"arguments\":\"Rome\"}",
     "{\"tool_call\":{\"name\":\"weather\",\"arguments\":{\"city\":\"Rome\"}},"
     "\"explanation\":\"\"}",
     "is taken for city"},
    {"an executor's call as vendors write it", CH_ROLE_EXECUTOR,
     "{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"weather\",\"arguments\":"
     "\"{\\\"city\\\":\\\"Rome\\\"}\"}}]}",
     "{\"tool_call\":{\"name\":\"weather\",\"arguments\":{\"city\":\"Rome\"}},"
     "\"explanation\":\"\"}",
     "tool_calls is read as tool_call"},
    {"an executor that answers something else", CH_ROLE_EXECUTOR, "{\"urgent\":false}", NULL, NULL},
    {"bare scores", CH_ROLE_REFLECTOR,
     "{\"completeness\":5,\"correctness\":\"4\",\"format\":\"3/5\",\"decision\":\"pass\"}",
     SCORES("5", "4", "3") ",\"action\":\"accept\"}", "scores without evaluation"},
    {"a judge that hands over", CH_ROLE_REFLECTOR,
     "{\"action\":\"clarify\",\"question\":\"Which?\"}",
     SCORES("1", "1", "1") ",\"action\":\"escalate\",\"question\":\"Which?\"}", "escalate"},
    {"a judge without scores", CH_ROLE_REFLECTOR, "{\"action\":\"accept\"}", NULL, NULL},
    {"a listener", CH_ROLE_LISTENER, "{\"should_speak\":true,\"reason\":\"r\"}",
     "{\"speak\":true,\"why\":\"r\"}", "should_speak is read as speak"},
};

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO json = {0};
        CH_BUF_AUTO notes = {0};
        bool read = ch_role_reply_read(cases[i].role, ch_sv_str(cases[i].text), &tools, &json,
                                       &notes);
        if (read != (cases[i].want != NULL))
            fail_msg("%s: %s", cases[i].name, read ? "was read" : "was not read");
        if (read && strcmp(ch_buf_str(&json), cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].name, ch_buf_str(&json));
        if (read && cases[i].notes ? !strstr(ch_buf_str(&notes), cases[i].notes) : notes.n != 0)
            fail_msg("%s: notes: %s", cases[i].name, ch_buf_str(&notes));
    }
}

/* What was read once is in the usual form, and is read without a change. */
static void test_twice(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO json = {0};
        if (!cases[i].want)
            continue;
        assert_true(ch_role_reply_read(cases[i].role, ch_sv_str(cases[i].want), &tools, &json,
                                       NULL));
        assert_string_equal(ch_buf_str(&json), cases[i].want);
    }
}

static void test_megabyte(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO json = {0};
    for (int i = 0; i < 60000; i++)
        ch_buf_add_str(&text, "{\"tool_name\":\"[");
    assert_false(ch_role_reply_read(CH_ROLE_ROUTER, ch_buf_sv(&text), &tools, &json, NULL));
    assert_int_equal(json.n, 0);
    ch_buf_clear(&text);
    ch_buf_add_str(&text, "{\"tool_name\":\"search\",\"tool_input\":{\"query\":\"");
    for (int i = 0; i < 1 << 20; i++)
        ch_buf_addc(&text, 'x');
    ch_buf_add_str(&text, "\"}}");
    assert_true(ch_role_reply_read(CH_ROLE_ROUTER, ch_buf_sv(&text), &tools, &json, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_megabyte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

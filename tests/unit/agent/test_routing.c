/* test_routing.c -- the router: what it is told, and what becomes of its choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/stage.h"

#define UNCLEAR "I am not sure what to do with this. What exactly would you like?"

/* The reply of the router: its members as JSON. */
static struct fake_reply choice(struct ch_arena *a, const char *action, const char *tool,
                                const char *confidence, const char *question) {
    return fake_say(a, ch_arena_printf(a,
                                       "{\"reasoning\":\"why\",\"action\":\"%s\",\"tool_name\":"
                                       "\"%s\",\"tool_input\":{\"x\":1},\"confidence\":%s,"
                                       "\"question\":\"%s\"}",
                                       action, tool, confidence, question));
}

static void open_router(struct stage *st, const struct fake_reply *replies, size_t n) {
    static const struct chela_planning_opts quiet =
        CHELA_PLANNING_OPTS(.reflection = CHELA_REFLECTION_IMPLICIT);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.mode = CHELA_MODE_ROUTE, .planning = &quiet);
    stage_open(st, &opts, replies, n);
    stage_tool(st, "save", 0);
}

/* called: the tool save was called. answer: a part of the run's answer. */
static const struct {
    const char *name, *action, *tool, *confidence, *question;
    bool called;
    const char *answer;
} cases[] = {
    {"a tool", "route", "save", "0.9", "", true, "the end"},
    {"a tool, just sure enough", "route", "save", "0.6", "", true, "the end"},
    {"a tool, not sure", "route", "save", "0.59", "Which file?", false, "Which file?"},
    {"not sure, no question", "route", "save", "0.1", "", false, UNCLEAR},
    {"a question", "clarify", "none", "0.9", "Which file?", false, "Which file?"},
    {"a question with a tool", "clarify", "save", "0.9", "Which file?", false, "Which file?"},
    {"an invented name", "route", "fly", "0.9", "Where to?", false, "Where to?"},
    {"an invented name, no question", "route", "fly", "0.9", "", false, UNCLEAR},
    {"no target", "route", "none", "0.9", "", false, UNCLEAR},
};

static void test_choices(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO a = {0};
        struct stage st;
        struct fake_reply replies[] = {choice(&a, cases[i].action, cases[i].tool,
                                              cases[i].confidence, cases[i].question),
                                       fake_say(&a, "the end")};
        open_router(&st, replies, CH_LEN(replies));
        stage_play(&st, "do it");
        bool called = strstr(ch_buf_str(&st.log), "tool_start(") != NULL;
        if (called != cases[i].called || !strstr(ch_buf_str(&st.run->text), cases[i].answer))
            fail_msg("%s: '%s', %s", cases[i].name, ch_buf_str(&st.run->text),
                     ch_buf_str(&st.log));
        assert_string_equal(stage_verdict(&st),
                            called ? "done/task_completed" : "declined/clarification");
        stage_close(&st);
    }
}

/* The tool gets the router's input. */
static void test_input_of_a_tool(void **state) {
    CH_ARENA_AUTO a = {0};
    struct stage st;
    struct fake_reply replies[] = {choice(&a, "route", "save", "1", ""),
                                   fake_say(&a, "the end")};
    (void)state;
    open_router(&st, replies, CH_LEN(replies));
    stage_play(&st, "do it");
    assert_int_equal(st.model.nrequests, 2);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "save:{\\\"x\\\":1}"));
    stage_close(&st);
}

/* Another agent of the runtime. */
static void add_poet(struct stage *st) {
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.id = "poet", .model = "anthropic/fake-1", .api_key = "test-key-01234",
                         .system = "Writes poems. Never prose.");
    chela_agent *poet;
    assert_int_equal(chela_agent_new(st->rt, &opts, &poet, NULL), 0);
}

/* The list of targets: tools, other agents by their first sentence, the planner. */
static void test_targets(void **state) {
    CH_ARENA_AUTO a = {0};
    struct stage st;
    struct fake_reply replies[] = {choice(&a, "clarify", "none", "1", "Which?")};
    (void)state;
    open_router(&st, replies, CH_LEN(replies));
    add_poet(&st);
    stage_play(&st, "do it");
    const char *body = ch_buf_str(&st.model.requests[0]);
    assert_non_null(strstr(body, "\\\"name\\\":\\\"save\\\",\\\"kind\\\":\\\"tool\\\""));
    assert_non_null(strstr(body, "\\\"name\\\":\\\"poet\\\",\\\"kind\\\":\\\"agent\\\""));
    assert_non_null(strstr(body, "Writes poems."));
    assert_null(strstr(body, "Never prose."));
    assert_non_null(strstr(body, "\\\"name\\\":\\\"planner\\\",\\\"kind\\\":\\\"planner\\\""));
    assert_non_null(strstr(body, "do it"));
    stage_close(&st);
}

static void test_planner(void **state) {
    CH_ARENA_AUTO a = {0};
    struct stage st;
    struct fake_reply replies[] = {choice(&a, "route", "planner", "1", ""), {.hang = true}};
    (void)state;
    open_router(&st, replies, CH_LEN(replies));
    stage_start(&st, "do it");
    for (int i = 0; i < 200 && st.model.nrequests < 2; i++)
        ch_loop_tick(st.rt->loop);
    assert_int_equal(st.model.nrequests, 2);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "You are a planner."));
    assert_null(strstr(ch_buf_str(&st.log), "tool_start("));
    chela_cancel(st.run, NULL);
    stage_finish(&st);
    stage_close(&st);
}

static void test_refusal(void **state) {
    CH_ARENA_AUTO a = {0};
    static const struct {
        const char *reason, *answer;
    } reasons[] = {{"That is not allowed.", "That is not allowed."},
                   {"", "This cannot be done here."}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(reasons); i++) {
        struct stage st;
        struct fake_reply replies[] = {
            fake_say(&a, ch_arena_printf(&a,
                                         "{\"reasoning\":\"why\",\"action\":\"refuse\","
                                         "\"tool_name\":\"none\",\"tool_input\":{},"
                                         "\"confidence\":1,\"reason\":\"%s\"}",
                                         reasons[i].reason))};
        open_router(&st, replies, CH_LEN(replies));
        stage_play(&st, "do it");
        if (!strstr(ch_buf_str(&st.run->text), reasons[i].answer))
            fail_msg("%s, %s: '%s'", reasons[i].answer, stage_verdict(&st),
                     ch_buf_str(&st.run->text));
        assert_int_equal(chela_run_reason(st.run), CHELA_REASON_REFUSED);
        stage_close(&st);
    }
}

/* Without a usable answer of the router the agent works as in mode react. */
static void test_no_answer(void **state) {
    CH_ARENA_AUTO a = {0};
    struct stage st;
    struct fake_reply replies[] = {fake_say(&a, "Hm."), fake_say(&a, "Hm."),
                                   fake_say(&a, "by myself")};
    (void)state;
    open_router(&st, replies, CH_LEN(replies));
    stage_play(&st, "do it");
    assert_non_null(strstr(ch_buf_str(&st.run->text), "by myself"));
    assert_non_null(strstr(ch_buf_str(&st.log), "warning"));
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices), cmocka_unit_test(test_input_of_a_tool),
        cmocka_unit_test(test_targets), cmocka_unit_test(test_planner),
        cmocka_unit_test(test_refusal), cmocka_unit_test(test_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

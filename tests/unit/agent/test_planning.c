/* test_planning.c -- plans: asked for, checked, turned into calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "support/stage.h"

#define STEP(id, tool, input, needs)                                                       \
    "{\"step_id\":" #id ",\"description\":\"step " #id "\",\"tool_name\":\"" tool          \
    "\",\"tool_input\":" input ",\"depends_on\":[" needs "]}"
#define PLAN(steps)                                                                        \
    "{\"analysis\":\"a\",\"action\":\"plan\",\"plan\":[" steps "],\"estimated_steps\":1,"  \
    "\"can_parallelize\":[]}"
#define NO_PLAN(action, more)                                                              \
    "{\"analysis\":\"a\",\"action\":\"" action "\",\"plan\":[],\"estimated_steps\":0,"     \
    "\"can_parallelize\":[]" more "}"

static void play(struct stage *st, const struct fake_reply *replies, size_t n) {
    static const struct chela_planning_opts quiet =
        CHELA_PLANNING_OPTS(.reflection = CHELA_REFLECTION_IMPLICIT);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.mode = CHELA_MODE_PLAN, .planning = &quiet);
    stage_open(st, &opts, replies, n);
    stage_tool(st, "save", 0);
    stage_play(st, "keep it");
}

static const char *request(const struct stage *st, size_t i) {
    assert_true(i < st->model.nrequests);
    return ch_buf_str(&st->model.requests[i]);
}

/* Arguments of the last call of a tool in the transcript. */
static struct ch_sv arguments(const struct stage *st, const char *tool) {
    const struct ch_transcript *t = &st->session->transcript;
    for (size_t i = t->n; i-- > 0;)
        for (uint32_t k = 0; k < t->msgs[i]->nblocks; k++)
            if (t->msgs[i]->blocks[k].type == CH_BLOCK_TOOL_CALL &&
                ch_sv_is(t->msgs[i]->blocks[k].name, tool))
                return t->msgs[i]->blocks[k].text;
    fail_msg("no call of %s", tool);
    return CH_SV("");
}

static void test_steps_become_calls(void **state) {
    CH_ARENA_AUTO arena = {0};
    const struct fake_reply replies[] = {
        fake_say(&arena, PLAN(STEP(1, "save", "{\"n\":1}", "") ","
                              STEP(2, "save", "{\"was\":\"$step_1_result\"}", "1"))),
        fake_say(&arena, "both are kept"),
    };
    struct stage st;
    (void)state;
    play(&st, replies, CH_LEN(replies));
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_non_null(strstr(request(&st, 0), "You are a planner."));
    assert_non_null(strstr(request(&st, 0), "keep it"));
    assert_non_null(strstr(ch_buf_str(&st.log), "tool_result(plan_1_s1)"));
    assert_non_null(strstr(ch_buf_str(&st.log), "tool_result(plan_1_s2)"));
    /* The second step got the result of the first. */
    struct ch_sv args = arguments(&st, "save");
    assert_non_null(memmem(args.p, args.n, "save:{", 6));
    assert_string_equal(ch_buf_str(&st.run->text), "both are kept");
    stage_close(&st);
}

/* A plan that cannot be carried out goes back to the planner with the reason. */
static void test_a_bad_plan(void **state) {
    CH_ARENA_AUTO arena = {0};
    const struct fake_reply replies[] = {
        fake_say(&arena, PLAN(STEP(1, "fly", "{}", ""))),
        fake_say(&arena, PLAN(STEP(1, "save", "{}", ""))),
        fake_say(&arena, "kept"),
    };
    struct stage st;
    (void)state;
    play(&st, replies, CH_LEN(replies));
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_non_null(strstr(request(&st, 1), "The plan cannot be carried out"));
    assert_non_null(strstr(request(&st, 1), "fly"));
    stage_close(&st);
}

static void test_bad_plans_only(void **state) {
    CH_ARENA_AUTO arena = {0};
    struct fake_reply replies[CH_LIMIT_PLANS + 1];
    for (size_t i = 0; i < CH_LIMIT_PLANS; i++)
        replies[i] = fake_say(&arena, PLAN(STEP(1, "fly", "{}", "")));
    replies[CH_LIMIT_PLANS] = fake_say(&arena, "without a plan");
    struct stage st;
    (void)state;
    play(&st, replies, CH_LEN(replies));
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_string_equal(ch_buf_str(&st.run->text), "without a plan");
    assert_non_null(strstr(ch_buf_str(&st.log), "warning"));
    assert_int_equal(st.model.nrequests, CH_LIMIT_PLANS + 1);
    stage_close(&st);
}

static void test_no_plan(void **state) {
    static const struct {
        const char *reply, *verdict, *text;
    } cases[] = {
        {NO_PLAN("clarify", ",\"question\":\"where?\""), "declined/clarification", "where?"},
        {NO_PLAN("clarify", ""), "declined/clarification", "What exactly is wanted?"},
        {NO_PLAN("refuse", ",\"reason\":\"too dear\""), "declined/refused", "too dear"},
        {NO_PLAN("refuse", ""), "declined/refused", "This cannot be done here."},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        const struct fake_reply replies[] = {fake_say(&arena, cases[i].reply)};
        struct stage st;
        play(&st, replies, CH_LEN(replies));
        assert_string_equal(stage_verdict(&st), cases[i].verdict);
        assert_string_equal(ch_buf_str(&st.run->text), cases[i].text);
        stage_close(&st);
    }
}

/* The result of step 1 has no such member: the executor writes the arguments. */
static void test_the_executor_fills_in(void **state) {
    CH_ARENA_AUTO arena = {0};
    const struct fake_reply replies[] = {
        fake_say(&arena, PLAN(STEP(1, "save", "{}", "") ","
                              STEP(2, "save", "{\"id\":\"$step_1_result.items[3]\"}", "1"))),
        {.body = NULL, .status = 500},
    };
    struct stage st;
    (void)state;
    play(&st, replies, CH_LEN(replies));
    assert_true(st.model.nrequests > 1);
    const char *asked = request(&st, 1);
    assert_non_null(strstr(asked, "To be done differently"));
    assert_non_null(strstr(asked, "step 2"));
    stage_close(&st);
}

/* The runtime is closed while a model answers a step without a tool. */
static void test_closed_in_a_step(void **state) {
    CH_ARENA_AUTO arena = {0};
    const struct fake_reply replies[] = {fake_say(&arena, PLAN(STEP(1, "none", "{}", ""))),
                                         {.hang = true}};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.mode = CHELA_MODE_PLAN);
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, &opts, replies);
    stage_start(&st, "keep it");
    for (int i = 0; i < 100 && st.model.nrequests < 2; i++)
        ch_loop_tick(st.rt->loop);
    assert_int_equal(st.model.nrequests, 2);
    stage_close(&st);
}

/* The work of a plan stays with the agent: a planner that names another one does not get it. */
static void test_no_other_agent(void **state) {
    CH_ARENA_AUTO arena = {0};
    const struct fake_reply replies[] = {
        fake_say(&arena, PLAN(STEP(1, "react_step", "{\"task\":\"t\",\"agent\":\"ops\"}", ""))),
        fake_say(&arena, "not done"),
    };
    struct chela_planning_opts quiet =
        CHELA_PLANNING_OPTS(.reflection = CHELA_REFLECTION_IMPLICIT);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.mode = CHELA_MODE_PLAN, .planning = &quiet);
    struct chela_agent_opts other = CHELA_AGENT_OPTS(.id = "ops", .model = "scripted/demo");
    struct stage st;
    chela_agent *ops;
    (void)state;
    STAGE_OPEN(&st, &opts, replies);
    assert_int_equal(chela_agent_new(st.rt, &other, &ops, NULL), 0);
    stage_play(&st, "keep it");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_non_null(strstr(request(&st, 1), "there is no agent 'ops'"));
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_become_calls), cmocka_unit_test(test_a_bad_plan),
        cmocka_unit_test(test_bad_plans_only),     cmocka_unit_test(test_no_plan),
        cmocka_unit_test(test_the_executor_fills_in), cmocka_unit_test(test_no_other_agent),
        cmocka_unit_test(test_closed_in_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

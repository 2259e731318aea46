/* test_plans.c -- runs in mode plan that another process continues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/context/context_budget.h"
#include "agent/journal/run_journal.h"
#include "store/store.h"
#include "support/stage.h"

#define PLAN                                                                                    \
    "{\"analysis\":\"a\",\"action\":\"plan\",\"plan\":[{\"step_id\":1,\"description\":\"s\","    \
    "\"tool_name\":\"save\",\"tool_input\":{},\"depends_on\":[]}],\"estimated_steps\":1,"       \
    "\"can_parallelize\":[]}"

static const struct chela_planning_opts quiet =
    CHELA_PLANNING_OPTS(.reflection = CHELA_REFLECTION_IMPLICIT);

static void open_kept(struct stage *st, chela_store *store, const struct fake_reply *replies,
                      size_t n) {
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.mode = CHELA_MODE_PLAN, .planning = &quiet);
    stage_open(st, &opts, replies, n);
    stage_tool(st, "save", 0);
    assert_int_equal(chela_runtime_store(st->rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st->session);
    assert_int_equal(chela_session_new(st->agent, "a", &st->session, NULL), 0);
    assert_int_equal(chela_session_wait(st->session, NULL), 0);
}

/* The run continues with one request, which no planner gets. */
static void check_goes_on(chela_store *store) {
    CH_ARENA_AUTO arena = {0};
    const struct fake_reply replies[] = {fake_say(&arena, "all is kept")};
    struct stage st;
    open_kept(&st, store, replies, CH_LEN(replies));
    assert_int_equal(chela_run_resume(st.session, NULL, &st.run, NULL), 0);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_int_equal(st.model.nrequests, 1);
    assert_null(strstr(ch_buf_str(&st.model.requests[0]), "You are a planner."));
    assert_string_equal(ch_buf_str(&st.run->text), "all is kept");
    stage_check_transcript(&st);
    stage_close(&st);
}

static void leave_at_result(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TOOL_RESULT)
        chela_run_leave(st->run);
}

/* No plan came about, and the model works by itself: so it does after a restart. */
static void test_without_a_plan(void **state) {
    const struct fake_reply replies[] = {{.body = A_SAY("no")},
                                         {.body = A_SAY("no")},
                                         {.body = A_USE("c1", "save", "{}")}};
    struct stage st;
    chela_store *store;
    (void)state;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    open_kept(&st, store, replies, CH_LEN(replies));
    st.on_event = leave_at_result;
    stage_play(&st, "keep it");
    assert_string_equal(stage_verdict(&st), "paused/interrupted");
    stage_close(&st);
    check_goes_on(store);
    chela_store_close(store);
}

/* As a compaction does that leaves a summary only. */
static void forget_plan(struct stage *st, const struct chela_event *ev) {
    struct ch_transcript *t = &st->session->transcript;
    if (ev->type != CHELA_EV_MODEL_REQUEST || ev->request.role)
        return;
    ch_transcript_release(t);
    *t = (struct ch_transcript){0};
    ch_transcript_add(t, ch_msg_text(CH_MSG_USER, CH_SV("keep it"), st->now));
    ch_context_budget_rewritten(st->session);
    ch_run_journal_rewritten(st->run, &(struct ch_run_journal_rewrite){.strategy = "summary"});
    chela_run_leave(st->run);
}

/* Every step is done, and the plan is no longer in the conversation: no step is done again. */
static void test_after_the_last_step(void **state) {
    CH_ARENA_AUTO arena = {0};
    const struct fake_reply replies[] = {fake_say(&arena, PLAN), {.hang = true}};
    struct stage st;
    chela_store *store;
    (void)state;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    open_kept(&st, store, replies, CH_LEN(replies));
    st.on_event = forget_plan;
    stage_start(&st, "keep it");
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/interrupted");
    stage_close(&st);
    check_goes_on(store);
    chela_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_plan),
        cmocka_unit_test(test_after_the_last_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

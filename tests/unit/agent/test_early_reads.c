/* test_early_reads.c -- calls that only read begin while the model still writes its reply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/stage.h"

static struct {
    unsigned ran, early; /* calls made; made while the reply was received */
} seen;

static int look(chela_call *call, void *user) {
    const struct stage *st = user;
    seen.ran++;
    seen.early += st->model.open > 0;
    chela_result_printf(call, "%s saw %s", chela_call_name(call), chela_call_arguments(call));
    return 0;
}

static void add(struct stage *st, const char *name, enum chela_effect effect, unsigned flags) {
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
        .name = name, .description = "Does it.", .schema = "{\"type\":\"object\"}", .fn = look,
        .user = st, .effect = effect, .flags = CHELA_TOOL_ON_LOOP | flags);
    struct chela_error err = {0};
    if (chela_agent_add_tool(st->agent, &tool, &err) < 0)
        fail_msg("%s", err.message);
}

static void open_stage(struct stage *st, const struct fake_reply *replies, size_t n) {
    memset(&seen, 0, sizeof(seen));
    stage_open(st, NULL, replies, n);
    add(st, "look", CHELA_EFFECT_READ, 0);
    add(st, "save", CHELA_EFFECT_ONCE, 0);
    add(st, "peek", CHELA_EFFECT_READ, CHELA_TOOL_CONFIRM);
}

#define OPEN(st, replies) open_stage(st, replies, CH_LEN(replies))

/* True: `a` occurs in the log of events before `b`. */
static bool comes_before(const struct stage *st, const char *a, const char *b) {
    const char *first = strstr(ch_buf_str(&st->log), a), *second = strstr(ch_buf_str(&st->log), b);
    return first && second && first < second;
}

#define PIECE 64 /* bytes of a reply that arrive at once */
#define CALL(i, id, name) A_CALL(i, id, name, "{\\\"n\\\":" #i "}")

static void test_reads_before_the_first_effect_begin_early(void **state) {
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN CALL(0, "c1", "look") CALL(1, "c2", "look") CALL(2, "c3", "save")
             CALL(3, "c4", "look") A_END("tool_use")},
        {.body = A_SAY("done")}};
    struct stage st;
    (void)state;
    OPEN(&st, replies);
    st.model.chunk = PIECE;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_int_equal(seen.early, 2);
    assert_int_equal(seen.ran, 4);
    stage_check_transcript(&st);
    const struct ch_msg *m = st.session->transcript.msgs[2];
    assert_int_equal(m->nblocks, 4);
    assert_true(ch_sv_is(m->blocks[0].text, "look saw {\"n\":0}"));
    assert_true(ch_sv_is(m->blocks[1].text, "look saw {\"n\":1}"));
    assert_true(ch_sv_is(m->blocks[2].text, "save saw {\"n\":2}"));
    /* A host hears of a call before it hears that the call has begun. */
    assert_true(comes_before(&st, "tool_call(c1", "tool_start(c1"));
    assert_true(comes_before(&st, "tool_start(c1", "tool_result(c1"));
    stage_close(&st);
}

static void test_a_failed_reply_leaves_nothing_of_its_reads(void **state) {
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN CALL(0, "c1", "look"), .fail = "connection reset"},
        {.body = A_BEGIN CALL(0, "c9", "look") A_END("tool_use")},
        {.body = A_SAY("done")}};
    struct stage st;
    (void)state;
    OPEN(&st, replies);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_int_equal(seen.ran, 2);
    assert_int_equal(st.session->transcript.n, 4);
    assert_true(ch_sv_is(st.session->transcript.msgs[2]->blocks[0].id, "c9"));
    stage_check_transcript(&st);
    stage_close(&st);
}

static void test_a_refused_reply_leaves_nothing_of_its_reads(void **state) {
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN CALL(0, "c1", "look") A_END("refusal")}};
    struct stage st;
    (void)state;
    OPEN(&st, replies);
    st.model.chunk = PIECE;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "declined/refused");
    assert_int_equal(seen.early, 1);
    assert_null(strstr(ch_buf_str(&st.log), "tool_start"));
    stage_close(&st);
}

static void test_a_reply_that_arrives_whole_begins_no_read_early(void **state) {
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN CALL(0, "c1", "look") A_END("tool_use")}, {.body = A_SAY("done")}};
    struct stage st;
    (void)state;
    OPEN(&st, replies);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_int_equal(seen.early, 0);
    assert_int_equal(seen.ran, 1);
    stage_check_transcript(&st);
    stage_close(&st);
}

static void test_a_cancelled_reply_leaves_nothing_of_its_reads(void **state) {
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN CALL(0, "c1", "look"), .hang = true}};
    struct stage st;
    (void)state;
    OPEN(&st, replies);
    stage_start(&st, "go");
    while (!seen.ran)
        ch_loop_tick(st.rt->loop);
    chela_cancel(st.run, NULL);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
    assert_int_equal(seen.early, 1);
    assert_null(strstr(ch_buf_str(&st.log), "tool_start"));
    stage_check_transcript(&st);
    stage_close(&st);
}

static void test_a_session_may_be_closed_while_a_read_is_early(void **state) {
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN CALL(0, "c1", "look"), .hang = true}};
    struct stage st;
    (void)state;
    OPEN(&st, replies);
    stage_start(&st, "go");
    while (!seen.ran)
        ch_loop_tick(st.rt->loop);
    stage_close(&st);
}

static void test_a_read_that_needs_consent_waits_for_the_reply(void **state) {
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN CALL(0, "c1", "peek") CALL(1, "c2", "look") A_END("tool_use")},
        {.body = A_SAY("done")}};
    struct stage st;
    (void)state;
    OPEN(&st, replies);
    stage_start(&st, "go");
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/approval_required");
    assert_int_equal(seen.early, 0);
    stage_close(&st);
}

static void test_arguments_that_need_repair_wait_for_the_reply(void **state) {
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN A_CALL(0, "c1", "look", "{\\\"n\\\":1,}") A_END("tool_use")},
        {.body = A_SAY("done")}};
    struct stage st;
    (void)state;
    OPEN(&st, replies);
    stage_play(&st, "go");
    assert_int_equal(seen.early, 0);
    assert_int_equal(seen.ran, 1);
    stage_close(&st);
}

static enum chela_flow leave_out(chela_run *run, struct chela_before_tool *call, void *user) {
    (void)run, (void)user;
    call->action = CHELA_TOOL_SKIP;
    return CHELA_GO;
}

static void test_a_hook_before_a_call_is_asked_first(void **state) {
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN CALL(0, "c1", "look") A_END("tool_use")}, {.body = A_SAY("done")}};
    const struct chela_hooks hooks = CHELA_HOOKS(.before_tool = leave_out);
    struct chela_error err = {0};
    struct stage st;
    (void)state;
    OPEN(&st, replies);
    assert_int_equal(chela_agent_hooks(st.agent, &hooks, &err), 0);
    stage_play(&st, "go");
    assert_int_equal(seen.ran, 0);
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_before_the_first_effect_begin_early),
        cmocka_unit_test(test_a_failed_reply_leaves_nothing_of_its_reads),
        cmocka_unit_test(test_a_refused_reply_leaves_nothing_of_its_reads),
        cmocka_unit_test(test_a_reply_that_arrives_whole_begins_no_read_early),
        cmocka_unit_test(test_a_cancelled_reply_leaves_nothing_of_its_reads),
        cmocka_unit_test(test_a_session_may_be_closed_while_a_read_is_early),
        cmocka_unit_test(test_a_read_that_needs_consent_waits_for_the_reply),
        cmocka_unit_test(test_arguments_that_need_repair_wait_for_the_reply),
        cmocka_unit_test(test_a_hook_before_a_call_is_asked_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

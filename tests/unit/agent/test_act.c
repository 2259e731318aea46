/* test_act.c -- the calls of one reply: asked about, recorded, answered, each once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "support/fake_journal.h"

#define TWO                                                                                   \
    A_BEGIN A_CALL(0, "c1", "save", "{\\\"n\\\":1}") A_CALL(1, "c2", "look", "{\\\"n\\\":2}") \
        A_END("tool_use")

static const struct fake_reply two_and_answer[] = {{.body = TWO}, {.body = A_SAY("hi")}};

static void tick(struct stage *st) {
    for (int i = 0; i < 20; i++)
        ch_loop_tick(st->rt->loop);
}

static int ran;

static int count(chela_call *call, void *user) {
    (void)user;
    ran++;
    chela_result_printf(call, "%s", chela_call_name(call));
    return 0;
}

static void add(struct stage *st, const char *name, enum chela_effect effect, unsigned flags) {
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
        .name = name, .description = "Does it.", .schema = "{\"type\":\"object\"}", .fn = count,
        .effect = effect, .flags = CHELA_TOOL_ON_LOOP | flags);
    struct chela_error err = {0};
    if (chela_agent_add_tool(st->agent, &tool, &err) < 0)
        fail_msg("%s", err.message);
}

static unsigned records(const struct fake_journal *f, enum ch_record_type type, const char *text) {
    unsigned n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += f->records[i].type == type && strstr(f->records[i].json, text);
    return n;
}

static void open_all(struct stage *st, struct fake_journal *f, unsigned flags) {
    ran = 0;
    STAGE_OPEN(st, NULL, two_and_answer);
    add(st, "save", CHELA_EFFECT_ONCE, flags);
    add(st, "look", CHELA_EFFECT_READ, 0);
    fake_journal_attach(f, st);
}

static void close_all(struct stage *st, struct fake_journal *f) {
    stage_close(st);
    fake_journal_release(f);
}

/* A call that changes nothing needs no STARTED record and does not wait for one. */
static void test_only_effects_are_announced(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    open_all(&st, &f, 0);
    stage_start(&st, "go");
    while (!records(&f, CH_REC_STARTED, "")) {
        f.hold = records(&f, CH_REC_MESSAGE, "") > 0;
        ch_loop_tick(st.rt->loop);
    }
    tick(&st);
    assert_int_equal(ran, 1); /* look */
    assert_int_equal(records(&f, CH_REC_STARTED, "\"id\":\"c2\""), 0);
    fake_journal_commit(&f);
    stage_finish(&st);
    assert_int_equal(ran, 2);
    assert_int_equal(records(&f, CH_REC_DONE, ""), 2);
    /* In the transcript the results have the order of the calls. */
    const struct ch_msg *m = st.session->transcript.msgs[2];
    assert_int_equal(m->kind, CH_MSG_RESULTS);
    assert_true(ch_sv_is(m->blocks[0].id, "c1") && ch_sv_is(m->blocks[1].id, "c2"));
    close_all(&st, &f);
}

/* The question is stored with a digest before anybody is asked; a denial is a result. */
static void test_asked(void **state) {
    struct stage st;
    struct fake_journal f;
    struct chela_error err = {0};
    (void)state;
    open_all(&st, &f, CHELA_TOOL_CONFIRM);
    stage_start(&st, "go");
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/approval_required");
    assert_int_equal(records(&f, CH_REC_ASKED, "\"digest\":\""), 1);
    assert_int_equal(records(&f, CH_REC_ASKED, st.approval), 1);
    assert_int_equal(ran, 1);
    assert_int_equal(chela_session_approve(st.session, st.approval, CHELA_DENY, "no", &err), 0);
    assert_int_equal(chela_run_resume(st.session, NULL, NULL, &err), 0);
    while (chela_session_status(st.session) != CHELA_SESSION_IDLE)
        ch_loop_tick(st.rt->loop);
    assert_int_equal(records(&f, CH_REC_ANSWERED, "\"decision\":\"deny\""), 1);
    assert_int_equal(records(&f, CH_REC_STARTED, ""), 0);
    assert_int_equal(ran, 1);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "no"));
    close_all(&st, &f);
}

/* The session as another process finds it: `once` calls that had started are not run again,
 * calls without an effect are. */
static void test_after_a_crash(void **state) {
    struct stage st;
    struct fake_journal f;
    struct chela_error err = {0};
    (void)state;
    open_all(&st, &f, 0);
    stage_start(&st, "go");
    while (!records(&f, CH_REC_STARTED, "")) {
        f.hold = records(&f, CH_REC_MESSAGE, "") > 0;
        ch_loop_tick(st.rt->loop);
    }
    fake_journal_lose(&f, CHELA_EIO);
    stage_finish(&st);
    while (f.records[f.n - 1].type != CH_REC_STARTED) /* the process died there */
        ch_free(f.records[--f.n].json);
    f.hold = false;
    ran = 0;
    chela_session *s = fake_journal_session(&st, "next");
    assert_int_equal(chela_session_status(s), CHELA_SESSION_RUNNING);
    assert_int_equal(chela_run_resume(s, NULL, NULL, &err), 0);
    while (chela_session_status(s) != CHELA_SESSION_IDLE)
        ch_loop_tick(st.rt->loop);
    assert_int_equal(ran, 1);
    assert_int_equal(records(&f, CH_REC_STARTED, ""), 1);
    assert_int_equal(records(&f, CH_REC_DONE, "\"call\":0"), 1);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "interrupted"));
    close_all(&st, &f);
}

/* As a call that is an agent: its own calls count for the run. */
static int call_below(chela_call *call, void *user) {
    struct stage *st = user;
    st->run->m.below.tool_calls++;
    return count(call, NULL);
}

/* The calls of a child leave fewer for later turns, not for the calls of the same reply. */
static void test_made_within_the_limit(void **state) {
    struct stage st;
    struct fake_journal f;
    const struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .limits = &(struct chela_limits)CHELA_LIMITS(.max_tool_calls = 2));
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
        .name = "save", .description = "Does it.", .schema = "{\"type\":\"object\"}",
        .fn = call_below, .user = &st, .effect = CHELA_EFFECT_READ,
        .flags = CHELA_TOOL_ON_LOOP | CHELA_TOOL_SEQUENTIAL);
    (void)state;
    ran = 0;
    STAGE_OPEN(&st, &opts, two_and_answer);
    assert_int_equal(chela_agent_add_tool(st.agent, &tool, NULL), 0);
    add(&st, "look", CHELA_EFFECT_READ, CHELA_TOOL_SEQUENTIAL);
    fake_journal_attach(&f, &st);
    stage_play(&st, "go");
    assert_int_equal(ran, 2);
    assert_int_equal(records(&f, CH_REC_DONE, ""), 2);
    assert_int_equal(records(&f, CH_REC_DONE, "\"refused\""), 0);
    close_all(&st, &f);
}

static void fill_history(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TOOL_START)
        st->session->transcript.bytes = CH_LIMIT_HISTORY - 1;
}

/* Without room for the results the run ends, and its reply with the calls is removed. */
static void test_no_room_for_results(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    open_all(&st, &f, 0);
    st.on_event = fill_history;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "error/internal_error");
    stage_check_transcript(&st);
    assert_int_equal(st.session->transcript.n, 1);
    close_all(&st, &f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_within_the_limit),
        cmocka_unit_test(test_only_effects_are_announced),
        cmocka_unit_test(test_asked),
        cmocka_unit_test(test_after_a_crash),
        cmocka_unit_test(test_no_room_for_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_think.c -- one model call: what the request holds, what becomes of the reply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/run/think.h"
#include "agent/session/session.h"
#include "support/stage.h"

static const char *request(const struct stage *st, size_t i) {
    assert_true(i < st->model.nrequests);
    return ch_buf_str(&st->model.requests[i]);
}

static struct chela_turn_patch wanted; /* by the hook */

static enum chela_flow before_model(chela_run *run, struct chela_turn_patch *p, void *user) {
    (void)run, (void)user;
    unsigned turn = p->turn;
    if (turn == 1)
        *p = wanted;
    p->turn = turn;
    return CHELA_GO;
}

/* What a hook changes holds for one request. */
static void test_patch(void **state) {
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "save", "{}")},
                                                {.body = A_SAY("hi")}};
    static const double warm = 0.25;
    struct chela_hooks hooks = CHELA_HOOKS(.before_model = before_model);
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "save", 0);
    stage_tool(&st, "load", 0);
    wanted = (struct chela_turn_patch){.system = "Be long.", .tools = "save",
                                       .temperature = &warm, .max_output_tokens = 77};
    assert_int_equal(chela_agent_hooks(st.agent, &hooks, NULL), 0);
    stage_play(&st, "go");
    assert_non_null(strstr(request(&st, 0), "Be long."));
    assert_null(strstr(request(&st, 0), "\"load\""));
    assert_non_null(strstr(request(&st, 0), "\"temperature\":0.25"));
    assert_non_null(strstr(request(&st, 0), "\"max_tokens\":77"));
    assert_non_null(strstr(request(&st, 1), "Be brief."));
    assert_non_null(strstr(request(&st, 1), "\"load\""));
    assert_null(strstr(request(&st, 1), "temperature"));
    stage_close(&st);
}

/* A model that a hook names and that cannot be used ends the run; no other is asked. */
static void test_patched_model(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("hi")}};
    struct chela_hooks hooks = CHELA_HOOKS(.before_model = before_model);
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, NULL, replies);
    wanted = (struct chela_turn_patch){.model = "nobody/x"};
    assert_int_equal(chela_agent_hooks(st.agent, &hooks, NULL), 0);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "error/internal_error");
    assert_non_null(strstr(chela_run_error(st.run), "nobody"));
    assert_int_equal(st.model.nrequests, 0);
    stage_close(&st);
}

/* The order of a turn: what was steered, then events of the system, as messages of the
 * conversation. */
static void test_deliver(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("one")}, {.body = A_SAY("two")}};
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, NULL, replies);
    stage_start(&st, "go");
    assert_int_equal(chela_run_steer(st.run, "left", 4), 0);
    assert_int_equal(chela_run_follow_up(st.run, "then", 4), 0);
    ch_queue_push(&st.session->events,
                  ch_msg_text(CH_MSG_EVENT, CH_SV("job done"), st.now));
    stage_finish(&st);
    assert_non_null(strstr(ch_buf_str(&st.log), "steering(left) system_event(job done)"));
    assert_non_null(strstr(ch_buf_str(&st.log), "follow_up(then)"));
    const char *left = strstr(request(&st, 0), "left"), *job = strstr(request(&st, 0), "job done");
    assert_true(left && job && left < job);
    assert_null(strstr(request(&st, 0), "then"));
    assert_non_null(strstr(request(&st, 1), "then"));
    assert_string_equal(chela_run_text(st.run), "two");
    stage_close(&st);
}

static void test_an_empty_reply_is_nudged(void **state) {
    static const struct fake_reply replies[] = {{.body = A_BEGIN A_END("end_turn")},
                                                {.body = A_SAY("sorry")}};
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, NULL, replies);
    stage_play(&st, "go");
    assert_non_null(strstr(request(&st, 1), "Your last reply was empty."));
    assert_string_equal(chela_run_text(st.run), "sorry");
    stage_close(&st);
}

/* A message records who was asked: a service may report another name of the model. */
static void test_who_was_asked(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("hi")}};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "anthropic/fake");
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, &opts, replies);
    stage_play(&st, "go");
    const struct ch_msg *m = st.session->transcript.msgs[1];
    assert_true(ch_sv_is(ch_msg_author(m).asked, "anthropic/fake"));
    assert_true(ch_sv_is(ch_msg_author(m).model, "fake-1"));
    stage_close(&st);
}

/* A refused reply is not kept. */
static void test_refused(void **state) {
    static const struct fake_reply replies[] = {{.body = A_BEGIN A_TEXT(0, "no") A_END("refusal")}};
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, NULL, replies);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "declined/refused");
    assert_int_equal(st.session->transcript.n, 1);
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patch),
        cmocka_unit_test(test_patched_model),
        cmocka_unit_test(test_deliver),
        cmocka_unit_test(test_an_empty_reply_is_nudged),
        cmocka_unit_test(test_who_was_asked),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

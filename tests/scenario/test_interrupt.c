/* test_interrupt.c -- what comes from outside while a run is under way: cancel,
 * close, steering, follow-ups, answers of the host, hooks. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "support/stage.h"

static bool sent(const struct stage *st, size_t request, const char *text) {
    return strstr(ch_buf_str(&st->model.requests[request]), text) != NULL;
}
static bool logged(const struct stage *st, const char *text) {
    return strstr(ch_buf_str(&st->log), text) != NULL;
}

static const struct fake_reply two_rounds[] = {
    {.body = A_BEGIN A_THINK(0, "hm") A_TEXT(1, "first") A_CALL(2, "c1", "echo", "{}")
         A_CALL(3, "c2", "nope", "{}") A_END("tool_use")},
    {.body = A_USE("c3", "echo", "{}")},
    {.body = A_SAY("done")},
    {.body = A_SAY("next")},
};

/* --- cancelling and closing at every single event */

static void cancel_at(struct stage *st, const struct chela_event *ev) {
    if ((long)ev->seq == st->arg)
        chela_cancel(st->run, "enough");
}

static void test_cancel_at_every_event(void **state) {
    (void)state;
    for (long at = 0, last = 1; at < last; at++) {
        struct stage st;
        STAGE_OPEN(&st, NULL, two_rounds);
        stage_tool(&st, "echo", 0);
        st.on_event = cancel_at;
        st.arg = at;
        stage_start(&st, "go");
        stage_finish(&st);
        last = at == 0 ? 60 : last;
        assert_int_equal(st.ends, 1);
        stage_check_transcript(&st);
        bool cancelled = strcmp(stage_verdict(&st), "cancelled/cancelled") == 0;
        assert_true(cancelled || strcmp(stage_verdict(&st), "done/task_completed") == 0);
        if (at == 5)
            assert_true(cancelled);
        /* the session is as good as new */
        st.on_event = NULL;
        stage_play(&st, "again");
        assert_true(st.model.nrequests > 0);
        stage_close(&st);
    }
}

/* --- what the model had said when the run was cancelled */

static void cancel_in_text(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TEXT_DELTA)
        chela_cancel(st->run, "enough");
}

static void test_cancel_keeps_what_was_said(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN A_THINK(0, "hm") A_TEXT(1, "Half a sen") A_CALL_OPEN(2, "c1", "echo", "{"),
         .hang = true},
        {.body = A_SAY("next")},
    };
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "echo", 0);
    st.on_event = cancel_in_text;
    stage_start(&st, "go");
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
    assert_string_equal(chela_run_text(st.run), "Half a sen");
    stage_check_transcript(&st);
    st.on_event = NULL;
    stage_play(&st, "again");
    assert_true(sent(&st, 1, "Half a sen\\n\\n[interrupted]"));
    assert_false(sent(&st, 1, "\"c1\""));
    stage_close(&st);
}

/* A reply in one piece, so that all of its deltas were read when the first one is emitted. */
#define TEXT_DELTA(text) A_DELTA(1, "{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define LONG_REPLY                                                                           \
    A_BEGIN A_THINK(0, "hm")                                                                 \
    A_BLOCK(1, "{\"type\":\"text\",\"text\":\"\"}")                                            \
    TEXT_DELTA("one ") TEXT_DELTA("two ") TEXT_DELTA("three ") TEXT_DELTA("four") A_CLOSE(1) \
    A_CALL(2, "c1", "echo", "{}") A_END("tool_use")

static struct {
    enum chela_event_type type;
    unsigned nth, seen, late;
    bool cancelled, works; /* works: a call was started after the cancel */
} quiet;

static void cancel_at_delta(struct stage *st, const struct chela_event *ev) {
    bool delta = ev->type == CHELA_EV_TEXT_DELTA || ev->type == CHELA_EV_REASONING_DELTA ||
                 ev->type == CHELA_EV_TOOL_CALL_DELTA;
    quiet.late += quiet.cancelled && delta;
    quiet.works |= quiet.cancelled && ev->type == CHELA_EV_TOOL_START;
    if (ev->type != quiet.type || ++quiet.seen != quiet.nth)
        return;
    chela_cancel(st->run, "enough");
    quiet.cancelled = true;
}

static const struct {
    enum chela_event_type type;
    unsigned nth;
    bool hang;
    const char *said;
} deltas[] = {
    {CHELA_EV_REASONING_DELTA, 1, false, ""},
    {CHELA_EV_TEXT_DELTA, 1, false, "one "},
    {CHELA_EV_TEXT_DELTA, 3, false, "one two three "},
    {CHELA_EV_TEXT_DELTA, 2, true, "one two "},
    {CHELA_EV_TOOL_CALL_DELTA, 1, false, "one two three four"},
    {CHELA_EV_MODEL_REQUEST, 1, false, ""},
    {CHELA_EV_RUN_START, 1, false, ""},
};

/* After a cancel from a callback, no delta follows, and no call starts. The history has the
 * text that the host saw. */
static void test_cancel_ends_the_deltas(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * CH_LEN(deltas); i++) {
        const struct fake_reply replies[] = {{.body = LONG_REPLY, .hang = deltas[i / 2].hang},
                                             {.body = A_SAY("next")}};
        struct stage st;
        STAGE_OPEN(&st, NULL, replies);
        st.model.chunk = i % 2 ? 64 : 0;
        stage_tool(&st, "echo", 0);
        quiet.type = deltas[i / 2].type;
        quiet.nth = deltas[i / 2].nth;
        quiet.seen = quiet.late = 0;
        quiet.cancelled = quiet.works = false;
        st.on_event = cancel_at_delta;
        stage_start(&st, "go");
        stage_finish(&st);
        if (quiet.late || quiet.works)
            fail_msg("row %zu: %u deltas after the cancel", i, quiet.late);
        assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
        assert_string_equal(chela_run_error(st.run), "enough");
        assert_string_equal(chela_run_text(st.run), deltas[i / 2].said);
        stage_check_transcript(&st);
        stage_close(&st);
    }
}

/* Two calls, and a cancel from the callback of an event: functions called and calls started. */
static struct {
    enum chela_event_type type;
    unsigned starts, works;
} calls;

static int count_work(chela_call *call, void *user) {
    (void)user;
    calls.works++;
    chela_result_printf(call, "worked");
    return 0;
}

static void cancel_at_call(struct stage *st, const struct chela_event *ev) {
    calls.starts += ev->type == CHELA_EV_TOOL_START;
    if (ev->type == calls.type)
        chela_cancel(st->run, "enough");
}

static const struct {
    enum chela_event_type type;
    enum chela_effect effect;
    unsigned flags, works;
} call_rows[] = {
    {CHELA_EV_TOOL_START, CHELA_EFFECT_KEYED, CHELA_TOOL_ON_LOOP, 0},
    {CHELA_EV_TOOL_START, CHELA_EFFECT_KEYED, 0, 0},
    {CHELA_EV_TOOL_START, CHELA_EFFECT_ONCE, 0, 0},
    {CHELA_EV_TOOL_START, CHELA_EFFECT_READ, CHELA_TOOL_SEQUENTIAL, 0},
    {CHELA_EV_TOOL_RESULT, CHELA_EFFECT_READ, CHELA_TOOL_SEQUENTIAL | CHELA_TOOL_ON_LOOP, 1},
    {CHELA_EV_TOOL_RESULT, CHELA_EFFECT_ONCE, CHELA_TOOL_SEQUENTIAL | CHELA_TOOL_ON_LOOP, 1},
};

/* A call whose start is cancelled does not run, and no other call of the reply starts. A read may
 * have begun before its reply was complete. */
static void test_cancel_at_the_start_of_a_call(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN A_CALL(0, "c1", "work", "{}") A_CALL(1, "c2", "work", "{}")
             A_END("tool_use")},
        {.body = A_SAY("next")},
    };
    for (size_t i = 0; i < CH_LEN(call_rows); i++) {
        struct chela_tool_opts tool =
            CHELA_TOOL_OPTS(.name = "work", .description = "Counts its calls.",
                            .schema = "{\"type\":\"object\"}", .fn = count_work,
                            .effect = call_rows[i].effect, .flags = call_rows[i].flags);
        struct stage st;
        STAGE_OPEN(&st, NULL, replies);
        assert_int_equal(chela_agent_add_tool(st.agent, &tool, NULL), 0);
        calls.type = call_rows[i].type;
        calls.starts = calls.works = 0;
        st.on_event = cancel_at_call;
        stage_start(&st, "go");
        stage_finish(&st);
        if (calls.works != call_rows[i].works || calls.starts != 1)
            fail_msg("row %zu: %u calls ran, %u started", i, calls.works, calls.starts);
        assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
        assert_string_equal(chela_run_error(st.run), "enough");
        stage_check_transcript(&st);
        stage_close(&st);
    }
}

static void test_cancel_before_the_first_word(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN A_BLOCK(0, "{\"type\":\"text\",\"text\":\"\"}"), .hang = true},
        {.body = A_SAY("next")},
    };
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_start(&st, "go");
    for (int i = 0; i < 50; i++)
        ch_loop_tick(st.rt->loop);
    chela_cancel(st.run, NULL);
    stage_finish(&st);
    stage_play(&st, "again");
    assert_false(sent(&st, 1, "[interrupted]"));
    stage_close(&st);
}

static void close_at(struct stage *st, const struct chela_event *ev) {
    if ((long)ev->seq == st->arg)
        chela_session_close(st->session);
}

static void test_close_at_every_event(void **state) {
    (void)state;
    for (long at = 0; at < 60; at++) {
        struct stage st;
        STAGE_OPEN(&st, NULL, two_rounds);
        stage_tool(&st, "echo", 0);
        st.on_event = close_at;
        st.arg = at;
        stage_start(&st, "go");
        for (int i = 0; i < 200; i++)
            ch_loop_tick(st.rt->loop);
        assert_true((long)st.events <= at + 1);
        assert_true(chela_run_status(st.run) != CHELA_STATUS_RUNNING);
        stage_close(&st);
    }
}

static void test_runtime_closed_in_the_middle(void **state) {
    (void)state;
    for (int ticks = 0; ticks < 40; ticks++) {
        struct stage st;
        STAGE_OPEN(&st, NULL, two_rounds);
        stage_tool(&st, "echo", 0);
        stage_start(&st, "go");
        for (int i = 0; i < ticks; i++)
            ch_loop_tick(st.rt->loop);
        if (ticks % 3 == 0)
            chela_cancel(st.run, NULL); /* and its post never arrives */
        stage_close(&st);
    }
}

/* --- cancel from another thread, while a blocking tool runs */

static atomic_bool naps;

static int nap(chela_call *call, void *user) {
    (void)user;
    naps = true;
    for (int i = 0; i < 500 && !chela_call_cancelled(call); i++)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    chela_result_printf(call, "slept");
    return 0;
}

static void *cancel_soon(void *run) {
    while (!naps)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    chela_cancel(run, "from a thread");
    chela_cancel(run, "once more");
    return NULL;
}

static void test_cancel_from_a_thread(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "nap", "{}")},
                                                {.body = A_SAY("never")}};
    struct stage st;
    pthread_t thread;
    STAGE_OPEN(&st, NULL, replies);
    chela_agent_tool(st.agent, "nap", "Sleeps.", NULL, nap, NULL);
    stage_start(&st, "go");
    pthread_create(&thread, NULL, cancel_soon, st.run);
    stage_finish(&st);
    pthread_join(thread, NULL);
    assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
    assert_string_equal(chela_run_error(st.run), "from a thread");
    assert_true(logged(&st, "tool_result(c1!cancelled)"));
    stage_check_transcript(&st);
    stage_close(&st);
}

/* --- steering and follow-ups */

static void steer_on_call(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TOOL_CALL && st->arg-- > 0)
        assert_int_equal(chela_run_steer(st->run, "look left", 9), 0);
}

static void test_steering_skips_what_has_not_begun(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_BEGIN A_CALL(0, "c1", "echo", "{}")
                                                     A_CALL(1, "c2", "echo", "{}")
                                                         A_END("tool_use")},
                                                {.body = A_SAY("left it is")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "echo", 0);
    st.on_event = steer_on_call;
    st.arg = 1;
    stage_play(&st, "go");
    assert_false(logged(&st, "tool_start"));
    assert_true(logged(&st, "steering(look left)"));
    assert_true(sent(&st, 1, "look left") && sent(&st, 1, "Skipped"));
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    stage_close(&st);
}

static void talk_over(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TEXT_DELTA && st->arg-- > 0) {
        assert_int_equal(chela_run_follow_up(st->run, "and then?", 9), 0);
        assert_int_equal(chela_run_follow_up(st->run, "and after?", 10), 0);
    }
}

static void test_follow_ups_go_on_one_by_one(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_SAY("one")}, {.body = A_SAY("two")}, {.body = A_SAY("three")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    st.on_event = talk_over;
    st.arg = 1;
    stage_play(&st, "go");
    assert_true(sent(&st, 1, "and then?") && !sent(&st, 1, "and after?"));
    assert_true(sent(&st, 2, "and after?"));
    assert_string_equal(chela_run_text(st.run), "three");
    assert_int_equal(chela_run_steer(st.run, "x", 1), CHELA_ESTATE);
    stage_close(&st);
}

static void test_unread_messages_are_not_dropped_silently(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("one")}};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .limits = &(struct chela_limits)CHELA_LIMITS(.max_turns = 1));
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    st.on_event = talk_over;
    st.arg = 1;
    stage_play(&st, "go");
    assert_true(logged(&st, "warning"));
    assert_string_equal(stage_verdict(&st), "stopped/max_turns_exceeded");
    stage_close(&st);
}

/* --- tools that the host runs */

static const struct fake_reply asks_host[] = {
    {.body = A_BEGIN A_CALL(0, "c1", "pick", "{}") A_CALL(1, "c2", "echo", "{}")
         A_CALL(2, "c3", "pick", "{}") A_END("tool_use")},
    {.body = A_SAY("thanks")}};

static void test_host_answers_later(void **state) {
    (void)state;
    struct chela_error err = {0};
    struct stage st;
    STAGE_OPEN(&st, NULL, asks_host);
    stage_tool(&st, "echo", 0);
    stage_tool(&st, "pick", CHELA_TOOL_CLIENT);
    stage_start(&st, "go");
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/client_tool_required");
    assert_true(logged(&st, "client_tool_required(c1)") && logged(&st, "client_tool_required(c3)"));
    assert_true(logged(&st, "tool_result(c2)"));
    uint64_t seq = st.next_seq;

    assert_int_equal(chela_run_start(st.session, "x", 1, NULL, NULL, &err), CHELA_ESTATE);
    assert_int_equal(chela_session_answer(st.session, "zz", "", 0, 0, &err), CHELA_ENOENT);
    assert_int_equal(chela_session_answer(st.session, "c3", "blue", 4, 0, &err), 0);
    assert_int_equal(chela_session_answer(st.session, "c3", "red", 3, 0, &err), CHELA_EEXIST);
    assert_int_equal(chela_run_resume(st.session, NULL, NULL, &err), CHELA_ESTATE);
    assert_int_equal(chela_session_answer(st.session, "c1", "no colour", 9, 1, &err), 0);
    assert_int_equal(chela_run_resume(st.session, NULL, NULL, &err), 0);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_true(st.next_seq > seq);
    assert_int_equal(st.ends, 2);
    assert_true(sent(&st, 1, "blue") && sent(&st, 1, "no colour"));
    stage_check_transcript(&st);
    stage_close(&st);
}

static void test_cancel_while_waiting_for_the_host(void **state) {
    (void)state;
    struct stage st;
    STAGE_OPEN(&st, NULL, asks_host);
    stage_tool(&st, "echo", 0);
    stage_tool(&st, "pick", CHELA_TOOL_CLIENT);
    stage_start(&st, "go");
    stage_finish(&st);
    chela_cancel(st.run, "never mind");
    for (int i = 0; i < 10; i++)
        ch_loop_tick(st.rt->loop);
    assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
    assert_int_equal(st.ends, 2);
    stage_check_transcript(&st);
    stage_play(&st, "again");
    assert_string_equal(chela_run_text(st.run), "thanks");
    stage_close(&st);
}

/* --- hooks */

struct probe {
    unsigned models, texts, thoughts, deltas, turns, befores, afters, invalids, ends;
    enum chela_tool_action action;
    enum chela_invalid_action mend;
    const char *halt_in;
};

static enum chela_flow flow(const struct probe *p, const char *where) {
    return p->halt_in && strcmp(p->halt_in, where) == 0 ? CHELA_HALT : CHELA_GO;
}
static enum chela_flow hook_model(chela_run *run, struct chela_turn_patch *patch, void *user) {
    struct probe *p = user;
    (void)run;
    p->models++;
    if (patch->turn == 2)
        patch->system = "only this turn";
    return flow(p, "model");
}
static enum chela_flow hook_text(chela_run *run, struct chela_str piece, struct chela_str so_far,
                                 void *user) {
    struct probe *p = user;
    (void)run;
    assert_true(so_far.n >= piece.n);
    p->texts++;
    return flow(p, "text");
}
static enum chela_flow hook_thought(chela_run *run, struct chela_str piece, struct chela_str so_far,
                                    void *user) {
    (void)run, (void)piece, (void)so_far;
    ((struct probe *)user)->thoughts++;
    return CHELA_GO;
}
static enum chela_flow hook_delta(chela_run *run, const struct chela_event *ev, void *user) {
    (void)run, (void)ev;
    ((struct probe *)user)->deltas++;
    return flow(user, "delta");
}
static enum chela_flow hook_turn(chela_run *run, const struct chela_event *ev, void *user) {
    (void)run, (void)ev;
    ((struct probe *)user)->turns++;
    return flow(user, "turn");
}
static enum chela_flow hook_invalid(chela_run *run, struct chela_invalid_call *call, void *user) {
    struct probe *p = user;
    (void)run;
    p->invalids++;
    call->action = p->mend;
    call->new_name = "echo";
    call->new_arguments = "{\"mended\":true}";
    call->feedback = "use echo";
    return flow(p, "invalid");
}
static enum chela_flow hook_before(chela_run *run, struct chela_before_tool *call, void *user) {
    struct probe *p = user;
    (void)run;
    p->befores++;
    call->action = p->action;
    call->feedback = "not today";
    call->new_arguments = "{\"rewritten\":1}";
    return flow(p, "before");
}
static enum chela_flow hook_after(chela_run *run, struct chela_after_tool *call, void *user) {
    struct probe *p = user;
    (void)run;
    p->afters++;
    call->content = "[as seen by the model]";
    return flow(p, "after");
}
static void hook_end(chela_run *run, const struct chela_event *ev, void *user) {
    (void)run, (void)ev;
    ((struct probe *)user)->ends++;
}

static void add_hooks(struct stage *st, struct probe *p) {
    struct chela_hooks hooks =
        CHELA_HOOKS(.user = p, .before_model = hook_model, .text = hook_text,
                    .reasoning = hook_thought, .call_delta = hook_delta, .after_model = hook_turn,
                    .invalid_call = hook_invalid, .before_tool = hook_before,
                    .after_tool = hook_after, .run_end = hook_end);
    chela_agent_hooks(st->agent, &hooks, NULL);
}

static void test_hooks_see_and_change(void **state) {
    (void)state;
    struct probe p = {0};
    struct stage st;
    STAGE_OPEN(&st, NULL, two_rounds);
    stage_tool(&st, "echo", 0);
    add_hooks(&st, &p);
    stage_play(&st, "go");
    assert_int_equal(p.models, 3);
    assert_int_equal(p.turns, 3);
    assert_int_equal(p.texts, 2);
    assert_int_equal(p.thoughts, 1);
    assert_true(p.deltas >= 3);
    assert_int_equal(p.invalids, 1);
    assert_int_equal(p.befores, 2);
    assert_int_equal(p.afters, 3);
    assert_int_equal(p.ends, 1);
    assert_true(sent(&st, 1, "only this turn") && !sent(&st, 2, "only this turn"));
    assert_true(sent(&st, 1, "[as seen by the model]"));
    stage_close(&st);
}

static void test_hook_skips_and_mends(void **state) {
    (void)state;
    struct probe skip = {.action = CHELA_TOOL_SKIP}, mend = {.mend = CHELA_INVALID_REPAIR};
    struct stage st;
    STAGE_OPEN(&st, NULL, two_rounds);
    stage_tool(&st, "echo", 0);
    add_hooks(&st, &skip);
    stage_play(&st, "go");
    assert_false(logged(&st, "tool_start"));
    stage_close(&st);

    STAGE_OPEN(&st, NULL, two_rounds);
    stage_tool(&st, "echo", 0);
    add_hooks(&st, &mend);
    stage_play(&st, "go");
    assert_true(logged(&st, "tool_start(c2)"));
    assert_false(logged(&st, "!not_found"));
    stage_close(&st);
}

static void test_hook_hands_over(void **state) {
    (void)state;
    struct probe p = {.action = CHELA_TOOL_HAND_OVER};
    struct stage st;
    STAGE_OPEN(&st, NULL, two_rounds);
    stage_tool(&st, "echo", 0);
    add_hooks(&st, &p);
    stage_start(&st, "go");
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/client_tool_required");
    stage_close(&st);
}

static void test_every_hook_can_halt(void **state) {
    (void)state;
    static const char *const where[] = {"model",   "text",   "delta", "turn",
                                        "invalid", "before", "after"};
    for (size_t i = 0; i < CH_LEN(where); i++) {
        struct probe p = {.halt_in = where[i]};
        struct stage st;
        STAGE_OPEN(&st, NULL, two_rounds);
        stage_tool(&st, "echo", 0);
        add_hooks(&st, &p);
        stage_play(&st, "go");
        if (strcmp(stage_verdict(&st), "cancelled/cancelled") != 0)
            fail_msg("halt in %s: %s", where[i], stage_verdict(&st));
        stage_close(&st);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel_at_every_event),
        cmocka_unit_test(test_cancel_keeps_what_was_said),
        cmocka_unit_test(test_cancel_ends_the_deltas),
        cmocka_unit_test(test_cancel_at_the_start_of_a_call),
        cmocka_unit_test(test_cancel_before_the_first_word),
        cmocka_unit_test(test_close_at_every_event),
        cmocka_unit_test(test_runtime_closed_in_the_middle),
        cmocka_unit_test(test_cancel_from_a_thread),
        cmocka_unit_test(test_steering_skips_what_has_not_begun),
        cmocka_unit_test(test_follow_ups_go_on_one_by_one),
        cmocka_unit_test(test_unread_messages_are_not_dropped_silently),
        cmocka_unit_test(test_host_answers_later),
        cmocka_unit_test(test_cancel_while_waiting_for_the_host),
        cmocka_unit_test(test_hooks_see_and_change),
        cmocka_unit_test(test_hook_skips_and_mends),
        cmocka_unit_test(test_hook_hands_over),
        cmocka_unit_test(test_every_hook_can_halt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

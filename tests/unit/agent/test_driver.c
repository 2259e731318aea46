/* test_driver.c -- the driver: delays between attempts, keys, interruptions, the one end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/run/driver.h"
#include "agent/run/feature_turn.h"
#include "agent/run/think.h"
#include "base/error.h"
#include "model/provider/cooldown.h"
#include "model/provider/target.h"
#include "support/fake_journal.h"

static void tick(struct stage *st) {
    for (int i = 0; i < 20; i++)
        ch_loop_tick(st->rt->loop);
}

static int64_t delay; /* of the last retry event */

static void note_retry(struct stage *st, const struct chela_event *ev) {
    (void)st;
    if (ev->type == CHELA_EV_RETRY)
        delay = ev->retry.delay_ms;
}

/* A delay of our own is shortened by a quarter at most; one that the server asked for is
 * kept. */
static void test_delay(void **state) {
    static const struct fake_reply own[] = {{.status = 503, .body = "{}"}, {.body = A_SAY("hi")}};
    static const struct fake_reply asked[] = {
        {.status = 503, .body = "{}", .retry_after = "7"}, {.body = A_SAY("hi")}};
    int64_t least = INT64_MAX, most = 0;
    (void)state;
    for (int i = 0; i < 40; i++) {
        struct stage st;
        STAGE_OPEN(&st, NULL, own);
        st.on_event = note_retry;
        stage_play(&st, "go");
        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
        stage_close(&st);
    }
    assert_true(most > least); /* not in step */
    assert_true(least >= most * 3 / 4);
    for (int i = 0; i < 5; i++) {
        struct stage st;
        STAGE_OPEN(&st, NULL, asked);
        st.on_event = note_retry;
        stage_play(&st, "go");
        assert_int_equal(delay, 7000);
        stage_close(&st);
    }
}

/* A key that is refused is left for the next one, without a retry of the machine. */
static void test_the_next_key(void **state) {
    static const struct fake_reply replies[] = {{.status = 401, .body = "{}"},
                                                {.body = A_SAY("hi")}};
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, NULL, replies);
    struct ch_target *t = st.agent->targets[0];
    t->keys = ch_realloc(t->keys, 2 * sizeof(*t->keys));
    t->keys[t->nkeys++] = ch_strdup("second-key-0123456789");
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_int_equal(st.model.nrequests, 2);
    assert_string_equal(t->ep.api_key, "second-key-0123456789");
    /* The refused key cools down, so the next run begins with the other. */
    struct ch_cooldown_subject first = ch_target_subject(t, t->keys[0]);
    assert_true(ch_cooldown_of(&st.rt->providers.cooldowns, first, st.now).ms > 0);
    stage_close(&st);
}

/* The runtime fails at some event: the run ends with the message, once. */
static void break_it(struct stage *st, const struct chela_event *ev) {
    if (st->arg-- != 0 || ev->type == CHELA_EV_RUN_END)
        return;
    st->run->stop = CH_IN_CANCEL; /* as chela_cancel does inside a callback */
}

static void test_stopped_at_every_event(void **state) {
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "save", "{}")},
                                                {.body = A_SAY("hi")}};
    unsigned events = 1;
    (void)state;
    for (unsigned at = 0; at < events; at++) {
        struct stage st;
        STAGE_OPEN(&st, NULL, replies);
        stage_tool(&st, "save", 0);
        st.arg = (long)at;
        st.on_event = break_it;
        stage_play(&st, "go"); /* one RUN_END, and a result for every call */
        events = at == 0 ? 20 : events;
        stage_close(&st);
    }
}

static void test_broken(void **state) {
    static const struct fake_reply replies[] = {{.hang = true}};
    struct stage st;
    struct chela_error err = {0};
    (void)state;
    STAGE_OPEN(&st, NULL, replies);
    stage_start(&st, "go");
    tick(&st);
    assert_int_equal(st.model.open, 1);
    ch_fail(&err, CHELA_EINTERNAL, "out of order");
    ch_driver_break(st.run, &err);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "error/internal_error");
    assert_string_equal(chela_run_error(st.run), "out of order");
    assert_int_equal(st.model.open, 0);
    ch_driver_break(st.run, &err); /* nothing follows the end */
    tick(&st);
    assert_int_equal(st.ends, 1);
    stage_close(&st);
}

/* Nothing of a run begins before its session was read. */
static void test_admitted_when_opened(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("hi")}};
    struct stage st;
    struct fake_journal f;
    struct chela_error err = {0};
    (void)state;
    STAGE_OPEN(&st, NULL, replies);
    fake_journal_attach(&f, &st);
    assert_int_equal(chela_session_new(st.agent, "new", &st.session, &err), 0);
    stage_start(&st, "go");
    assert_false(ch_run_begun(st.run));
    assert_string_equal(ch_buf_str(&st.log), "");
    stage_finish(&st);
    assert_true(ch_run_begun(st.run));
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    stage_close(&st);
    fake_journal_release(&f);
}

/* The store answers after the deadline: the run has ended before. */
static void hold_at_turn_end(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TURN_END)
        ((struct fake_journal *)st->rt->journal)->hold = true;
}

static void test_ended_before_the_deadline(void **state) {
    static const struct fake_reply replies[] = {{.body = A_SAY("hi")}};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .limits = &(struct chela_limits)CHELA_LIMITS(.timeout_ms = 1000));
    struct stage st;
    struct fake_journal f;
    struct chela_error err = {0};
    (void)state;
    STAGE_OPEN(&st, &opts, replies);
    fake_journal_attach(&f, &st);
    st.on_event = hold_at_turn_end;
    stage_start(&st, "go");
    tick(&st);
    assert_true(ch_run_over(&st.run->m));
    st.now += 2000;
    tick(&st);
    ch_fail(&err, CHELA_EINTERNAL, "out of order");
    ch_driver_break(st.run, &err);
    assert_int_equal(st.ends, 0);
    fake_journal_commit(&f);
    tick(&st);
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_string_equal(chela_run_error(st.run), "");
    stage_close(&st);
    fake_journal_release(&f);
}

/* --- a paused run continues */

static const struct fake_reply asks_client[] = {{.body = A_USE("c1", "pick", "{}")},
                                                {.body = A_SAY("thanks")}};

static void open_paused(struct stage *st, struct fake_journal *f) {
    STAGE_OPEN(st, NULL, asks_client);
    stage_tool(st, "pick", CHELA_TOOL_CLIENT);
    fake_journal_attach(f, st);
    stage_start(st, "go");
    stage_finish(st);
    assert_string_equal(stage_verdict(st), "paused/client_tool_required");
    ch_buf_clear(&st->log);
}

/* Another process finds the run paused until STATE running is committed, and uses the next
 * seq. So a cancel emits nothing before. */
static void test_cancel_of_a_paused_run_is_stored_first(void **state) {
    (void)state;
    for (int resumed = 0; resumed < 2; resumed++) {
        struct stage st;
        struct fake_journal f;
        open_paused(&st, &f);
        f.hold = true;
        if (resumed) {
            assert_int_equal(chela_session_answer(st.session, "c1", "blue", 4, 0, NULL), 0);
            assert_int_equal(chela_run_resume(st.session, NULL, NULL, NULL), 0);
        }
        chela_cancel(st.run, "never mind");
        tick(&st);
        assert_string_equal(ch_buf_str(&st.log), "");
        fake_journal_commit(&f);
        stage_finish(&st);
        assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
        assert_string_equal(chela_run_error(st.run), "never mind");
        assert_int_equal(st.ends, 2);
        assert_int_equal(st.model.nrequests, 1);
        stage_check_transcript(&st);
        stage_close(&st);
        fake_journal_release(&f);
    }
}

static struct fake_journal *held;

static void hold_when_asked(struct stage *st, const struct chela_event *ev) {
    (void)st;
    held->hold |= ev->type == CHELA_EV_CLIENT_TOOL_REQUIRED;
}

/* The same while the pause is stored. The run is not paused then, but another process may find it
 * paused. */
static void test_cancel_while_the_pause_is_stored(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    STAGE_OPEN(&st, NULL, asks_client);
    stage_tool(&st, "pick", CHELA_TOOL_CLIENT);
    fake_journal_attach(&f, &st);
    held = &f;
    st.on_event = hold_when_asked;
    stage_start(&st, "go");
    for (int i = 0; i < 10; i++)
        tick(&st);
    assert_non_null(strstr(f.records[f.n - 1].json, "\"paused\""));
    assert_int_equal(st.ends, 0);
    ch_buf_clear(&st.log);
    chela_cancel(st.run, "never mind");
    tick(&st);
    tick(&st);
    assert_string_equal(ch_buf_str(&st.log), "");
    fake_journal_commit(&f);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
    assert_string_equal(chela_run_error(st.run), "never mind");
    assert_int_equal(st.ends, 1);
    stage_check_transcript(&st);
    stage_close(&st);
    fake_journal_release(&f);
}

struct seen {
    char run[32]; /* of the last event */
    uint64_t first;
    unsigned events, ends;
};

static void see(const struct chela_event *ev, void *user) {
    struct seen *s = user;
    s->first = s->events++ ? s->first : ev->seq;
    s->ends += ev->type == CHELA_EV_RUN_END;
    snprintf(s->run, sizeof(s->run), "%s", ev->run);
}

/* The resumption cannot be stored: its events take no seq of the run, which continues later
 * without a gap. */
static void test_resumption_is_lost(void **state) {
    struct stage st;
    struct fake_journal f;
    struct seen lost = {0}, later = {0};
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = see, .user = &lost);
    char paused[32];
    (void)state;
    open_paused(&st, &f);
    snprintf(paused, sizeof(paused), "%s", st.run->id);
    size_t stored = f.n;
    f.hold = true;
    assert_int_equal(chela_session_answer(st.session, "c1", "blue", 4, 0, NULL), 0);
    assert_int_equal(chela_run_resume(st.session, &opts, NULL, NULL), 0);
    fake_journal_lose(&f, CHELA_EIO);
    tick(&st);
    assert_int_equal(lost.ends, 1);
    assert_string_equal(stage_verdict(&st), "error/store_error");
    assert_string_not_equal(lost.run, paused);
    for (; f.n > stored; f.n--)
        ch_free(f.records[f.n - 1].json);

    f.hold = false;
    opts.user = &later;
    chela_session *s = fake_journal_session(&st, "t2"); /* as after a restart */
    assert_int_equal(chela_session_answer(s, "c1", "blue", 4, 0, NULL), 0);
    chela_run_free(CH_TAKE(st.run));
    assert_int_equal(chela_run_resume(s, &opts, &st.run, NULL), 0);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_string_equal(later.run, paused);
    assert_int_equal(later.first, st.next_seq);
    stage_close(&st);
    fake_journal_release(&f);
}

/* The record of the pause may be stored though its commit failed. Only RUN_END follows, which the
 * record counts, so the run continues later without using a seq again. */
static void test_pause_is_lost(void **state) {
    (void)state;
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        struct stage st;
        struct fake_journal f;
        struct seen later = {0};
        struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = see, .user = &later);
        STAGE_OPEN(&st, NULL, asks_client);
        stage_tool(&st, "pick", CHELA_TOOL_CLIENT);
        fake_journal_attach(&f, &st);
        held = &f;
        st.on_event = hold_when_asked;
        stage_start(&st, "go");
        for (int i = 0; i < 10; i++)
            tick(&st);
        assert_non_null(strstr(f.records[f.n - 1].json, "\"paused\""));
        size_t stored = f.n;
        if (cancelled)
            chela_cancel(st.run, NULL);
        tick(&st);
        ch_buf_clear(&st.log);
        fake_journal_lose(&f, CHELA_ENET);
        stage_finish(&st);
        assert_string_equal(stage_verdict(&st), "error/store_error");
        assert_string_equal(ch_buf_str(&st.log), "run_end(store_error)");
        for (; f.n > stored; f.n--)
            ch_free(f.records[f.n - 1].json);

        f.hold = false;
        chela_session *s = fake_journal_session(&st, "t2"); /* as in another process */
        assert_int_equal(chela_session_answer(s, "c1", "blue", 4, 0, NULL), 0);
        chela_run_free(CH_TAKE(st.run));
        assert_int_equal(chela_run_resume(s, &opts, &st.run, NULL), 0);
        stage_finish(&st);
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        assert_int_equal(later.first, st.next_seq);
        stage_close(&st);
        fake_journal_release(&f);
    }
}

/* A reply that a feature wrote says nothing about the model, which cools down. */
static void test_reply_of_a_feature(void **state) {
    static const struct fake_reply hang[] = {{.hang = true}, {.hang = true}};
    const struct ch_block call = {.type = CH_BLOCK_TOOL_CALL,
                                  .id = CH_SV("c1"),
                                  .name = CH_SV("echo"),
                                  .text = CH_SV("{}")};
    struct stage st;
    const char *key;
    (void)state;
    STAGE_OPEN(&st, NULL, hang);
    stage_tool(&st, "echo", 0);
    stage_start(&st, "go");
    tick(&st);
    assert_int_equal(st.model.open, 1);
    ch_think_abort(st.run);
    struct ch_cooldowns *c = &st.rt->providers.cooldowns;
    const struct ch_target *t = st.run->target;
    ch_cooldown_failed(c, ch_target_subject(t, ch_think_key(st.run)), CH_ERR_RATE_LIMIT, 60000,
                       st.now);
    assert_int_equal(ch_target_cooling(t, c, st.now, &key).asked_ms, 60000);
    ch_feature_turn_calls(st.run, &call, 1);
    assert_int_equal(ch_target_cooling(t, c, st.now, &key).asked_ms, 60000);
    chela_cancel(st.run, NULL);
    stage_finish(&st);
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_the_next_key),
        cmocka_unit_test(test_stopped_at_every_event),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_admitted_when_opened),
        cmocka_unit_test(test_ended_before_the_deadline),
        cmocka_unit_test(test_cancel_of_a_paused_run_is_stored_first),
        cmocka_unit_test(test_cancel_while_the_pause_is_stored),
        cmocka_unit_test(test_resumption_is_lost),
        cmocka_unit_test(test_pause_is_lost),
        cmocka_unit_test(test_reply_of_a_feature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

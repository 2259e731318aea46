/* test_session.c -- sessions: opened, restored, left, closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/handle/run_origin.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/queue.h"
#include "agent/session/input_queue.h"
#include "agent/session/session.h"
#include "support/fake_journal.h"

static const struct fake_reply hang[] = {{.hang = true}, {.body = A_SAY("hi")}};

static void tick(struct stage *st) {
    for (int i = 0; i < 20; i++)
        ch_loop_tick(st->rt->loop);
}

static void open_all(struct stage *st, struct fake_journal *f) {
    STAGE_OPEN(st, NULL, hang);
    fake_journal_attach(f, st);
}

static void close_all(struct stage *st, struct fake_journal *f) {
    stage_close(st);
    fake_journal_release(f);
}

/* One run at a time, and none in a closed session. */
static void test_one_run(void **state) {
    struct stage st;
    struct fake_journal f;
    struct chela_error err = {0};
    chela_run *run = NULL;
    (void)state;
    open_all(&st, &f);
    stage_start(&st, "go");
    tick(&st);
    assert_int_equal(chela_session_status(st.session), CHELA_SESSION_RUNNING);
    assert_int_equal(chela_run_start(st.session, "x", 1, NULL, &run, &err), CHELA_EBUSY);
    assert_null(run);
    ch_session_tell(st.session, CH_SV("first"));
    ch_session_tell(st.session, CH_SV("second"));
    assert_int_equal(chela_run_wake(st.session, NULL, &run, &err), CHELA_EBUSY);
    assert_true(ch_sv_is(ch_queue_text(&st.session->events), "first")); /* stays in its place */
    chela_cancel(st.run, NULL);
    stage_finish(&st);
    assert_int_equal(chela_session_status(st.session), CHELA_SESSION_IDLE);
    stage_play(&st, "again");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    close_all(&st, &f);
}

/* A session whose process died in the middle of a run: the run can be resumed, or another
 * begins instead of it. */
static void test_left_behind(void **state) {
    static const bool resumes[] = {true, false};
    (void)state;
    for (size_t i = 0; i < CH_LEN(resumes); i++) {
        struct stage st;
        struct fake_journal f;
        struct chela_error err = {0};
        open_all(&st, &f);
        stage_start(&st, "first words");
        tick(&st);
        size_t n = f.n;
        fake_journal_lose(&f, CHELA_EIO);
        stage_finish(&st);
        assert_int_equal(f.n, n);
        st.session = fake_journal_session(&st, "next");
        assert_int_equal(chela_session_status(st.session), CHELA_SESSION_RUNNING);
        assert_int_equal(st.session->transcript.n, 1);
        if (resumes[i]) {
            assert_int_equal(chela_run_resume(st.session, NULL, NULL, &err), 0);
            while (chela_session_status(st.session) != CHELA_SESSION_IDLE)
                ch_loop_tick(st.rt->loop);
        } else {
            stage_play(&st, "other words");
        }
        const char *body = ch_buf_str(&st.model.requests[1]);
        assert_non_null(strstr(body, "first words"));
        assert_int_equal(strstr(body, "other words") != NULL, !resumes[i]);
        assert_null(st.session->journal->past);
        close_all(&st, &f);
    }
}

static void test_nothing_to_resume(void **state) {
    struct stage st;
    struct fake_journal f;
    struct chela_error err = {0};
    (void)state;
    open_all(&st, &f);
    assert_int_equal(chela_run_resume(st.session, NULL, NULL, &err), CHELA_ESTATE);
    assert_int_equal(chela_session_approve(st.session, "none", CHELA_DENY, NULL, &err),
                     CHELA_ENOENT);
    assert_int_equal(f.n, 0);
    close_all(&st, &f);
}

/* A session that is closed in the middle of a run stops at once, without an end. */
static void test_closed_in_a_run(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    open_all(&st, &f);
    stage_start(&st, "go");
    tick(&st);
    assert_int_equal(st.model.open, 1);
    chela_session_close(st.session);
    tick(&st);
    assert_int_equal(st.model.open, 0);
    assert_int_equal(st.ends, 0);
    assert_null(f.open); /* the lease is released */
    close_all(&st, &f);
}

static void store(struct fake_journal *f, enum ch_record_type type, const char *json) {
    f->records[f->n++] = (struct fake_record){type, CH_SYNC_COMMIT, ch_strdup(json)};
}

#define USER "{\"role\":\"user\",\"content\":\"hi\"}"

/* A run that is parked keeps its address, its goal and the answer that leaves no trace. */
static void test_parked(void **state) {
    struct chela_run_opts insist = CHELA_RUN_OPTS(.insist = 1);
    struct stage st;
    struct fake_journal f;
    struct chela_error err = {0};
    (void)state;
    open_all(&st, &f);
    store(&f, CH_REC_INBOUND,
          "{\"run\":\"run_1\",\"mode\":\"start\",\"to\":\"chat\",\"drop_if\":\"-\","
          "\"about_id\":\"m1\",\"message\":" USER "}");
    store(&f, CH_REC_STATE,
          "{\"run\":\"run_1\",\"status\":\"running\",\"recoveries\":3,\"goal\":\"hi\"}");
    chela_session *s = fake_journal_session(&st, "p");
    assert_int_equal(chela_run_resume(s, NULL, NULL, &err), CHELA_ESTATE);
    assert_int_equal(chela_session_status(s), CHELA_SESSION_PARKED);
    assert_int_equal(chela_run_resume(s, NULL, NULL, &err), CHELA_ESTATE);
    assert_int_equal(chela_run_resume(s, &insist, NULL, &err), 0);
    assert_string_equal(ch_run_origin_answer_to(s->run), "chat");
    assert_string_equal(ch_run_origin_drop_if(s->run), "-");
    assert_string_equal(ch_run_origin_of_message(s->run)->id, "m1");
    assert_string_equal(ch_run_journal_counters(s->run)->goal, "hi");
    close_all(&st, &f);
}

/* A call that waits for consent takes no result, also after a restart. */
static void test_answers_after_a_restart(void **state) {
    struct stage st;
    struct fake_journal f;
    struct chela_error err = {0};
    (void)state;
    open_all(&st, &f);
    store(&f, CH_REC_INBOUND, "{\"run\":\"run_1\",\"mode\":\"start\",\"message\":" USER "}");
    store(&f, CH_REC_MESSAGE,
          "{\"run\":\"run_1\",\"message\":{\"role\":\"assistant\",\"content\":["
          "{\"type\":\"tool_call\",\"id\":\"c1\",\"name\":\"exec\",\"arguments\":{}},"
          "{\"type\":\"tool_call\",\"id\":\"c2\",\"name\":\"far\",\"arguments\":{}},"
          "{\"type\":\"tool_call\",\"id\":\"c3\",\"name\":\"far\",\"arguments\":{}}]}}");
    store(&f, CH_REC_ASKED, "{\"call\":0,\"approval\":\"ap1\"}");
    store(&f, CH_REC_ASKED, "{\"call\":1,\"approval\":\"ap2\"}");
    store(&f, CH_REC_ANSWERED, "{\"approval\":\"ap2\",\"decision\":\"allow-once\"}");
    store(&f, CH_REC_STATE,
          "{\"run\":\"run_1\",\"status\":\"paused\",\"state\":\"WAITING\"}");
    chela_session *s = fake_journal_session(&st, "p");
    assert_int_equal(chela_session_answer(s, "c1", "x", 1, 0, &err), CHELA_ENOENT);
    assert_int_equal(ch_session_may_answer(s, "c1", 1, &err), CHELA_ENOENT);
    assert_int_equal(chela_session_answer(s, "c2", "x", 1, 0, &err), 0);
    assert_int_equal(chela_session_answer(s, "c3", "x", 1, 0, &err), 0);
    close_all(&st, &f);
}

static void close_session(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_MODEL_REQUEST)
        chela_session_close(CH_TAKE(st->session));
}

/* A caller that waits for the run continues when a callback closes the session. */
static void test_closed_while_awaited(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    open_all(&st, &f);
    st.on_event = close_session;
    stage_start(&st, "go");
    assert_int_equal(chela_run_wait(st.run), 0);
    assert_int_equal(chela_run_status(st.run), CHELA_STATUS_CANCELLED);
    close_all(&st, &f);
}

static void send_words(struct stage *st, const char *words, const char *event) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.event_id = event);
    struct chela_error err = {0};
    if (chela_session_send(st->session, words, strlen(words), &opts, &err) < 0)
        fail_msg("%s", err.message);
}

/* The inbox keeps an event whose record was not stored: the message does not also wait here,
 * not even if it went back from a run that has ended. */
static void test_event_of_an_ended_run(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    open_all(&st, &f);
    stage_start(&st, "go");
    tick(&st);
    f.hold = true;
    send_words(&st, "more", "ev_1");
    assert_int_equal(st.run->steering.n, 1);
    chela_cancel(st.run, NULL);
    tick(&st);
    assert_int_equal(ch_input_queue_waiting(st.session), 1);
    fake_journal_lose(&f, CHELA_EIO);
    assert_int_equal(ch_input_queue_waiting(st.session), 0);
    close_all(&st, &f);
}

/* A session that was left is read again, with the messages that waited: each waits once. */
static void test_waiting_when_left(void **state) {
    struct chela_queue_opts collect = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_COLLECT);
    struct stage st;
    struct fake_journal f;
    (void)state;
    open_all(&st, &f);
    assert_int_equal(chela_session_queue(st.session, &collect, NULL), 0);
    stage_start(&st, "go");
    tick(&st);
    send_words(&st, "later", NULL);
    tick(&st);
    f.hold = true;
    send_words(&st, "later still", NULL); /* stored, although the commit was not seen here */
    assert_int_equal(ch_input_queue_waiting(st.session), 2);
    chela_run_leave(st.run);
    tick(&st);
    f.hold = false;
    chela_run_free(CH_TAKE(st.run));
    assert_int_equal(chela_run_start(st.session, "x", 1, NULL, &st.run, NULL), 0);
    tick(&st);
    assert_int_equal(ch_input_queue_waiting(st.session), 2);
    close_all(&st, &f);
}

static void forget_records(struct fake_journal *f) {
    while (f->n > 0)
        ch_free(f->records[--f->n].json);
}

static size_t count_records(const struct fake_journal *f, enum ch_record_type type) {
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        n += f->records[i].type == type;
    return n;
}

/* A journal that lost its records gets the parts of the next request again. */
static void test_parts_after_a_loss(void **state) {
    static const struct fake_reply says[] = {
        {.body = A_SAY("a")}, {.body = A_SAY("b")}, {.body = A_SAY("c")}};
    struct stage st;
    struct fake_journal f;
    (void)state;
    STAGE_OPEN(&st, NULL, says);
    fake_journal_attach(&f, &st);
    stage_play(&st, "one");
    size_t parts = count_records(&f, CH_REC_PART);
    assert_true(parts > 0);
    for (int i = 0; i < 2; i++) {
        fake_journal_lose(&f, CHELA_EIO);
        forget_records(&f);
        stage_play(&st, i ? "one two three" : "one two");
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        assert_int_equal(count_records(&f, CH_REC_PART), parts);
    }
    close_all(&st, &f);
}

/* One open session per key; a session without a key gets one of its own. */
static void test_keys(void **state) {
    struct stage st;
    struct chela_error err = {0};
    chela_session *a, *b, *c = NULL;
    (void)state;
    STAGE_OPEN(&st, NULL, hang);
    assert_int_equal(chela_session_new(st.agent, "s", &c, &err), CHELA_EEXIST);
    assert_int_equal(chela_session_new(st.agent, NULL, &a, &err), 0);
    assert_int_equal(chela_session_new(st.agent, NULL, &b, &err), 0);
    assert_string_not_equal(chela_session_key(a), chela_session_key(b));
    chela_session_close(st.session); /* the key is free at once */
    assert_int_equal(chela_session_new(st.agent, "s", &c, &err), 0);
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_run),          cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_nothing_to_resume), cmocka_unit_test(test_closed_in_a_run),
        cmocka_unit_test(test_keys),             cmocka_unit_test(test_parked),
        cmocka_unit_test(test_answers_after_a_restart),
        cmocka_unit_test(test_closed_while_awaited),
        cmocka_unit_test(test_parts_after_a_loss),
        cmocka_unit_test(test_event_of_an_ended_run),
        cmocka_unit_test(test_waiting_when_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

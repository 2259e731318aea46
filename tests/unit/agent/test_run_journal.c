/* test_run_journal.c -- which records a run appends, and what it waits for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/journal/run_journal.h"
#include "agent/machine/run.h"
#include "base/mem.h"
#include "support/fake_journal.h"

static const struct fake_reply call_and_answer[] = {
    {.body = A_USE("c1", "save", "{}")},
    {.body = A_SAY("saved")},
};

static void tick(struct stage *st) {
    for (int i = 0; i < 20; i++)
        ch_loop_tick(st->rt->loop);
}

static void close_all(struct stage *st, struct fake_journal *f) {
    stage_close(st);
    fake_journal_release(f);
}

/* The last record of a type; NULL: none. */
static const struct fake_record *last(const struct fake_journal *f, enum ch_record_type type) {
    for (size_t i = f->n; i-- > 0;)
        if (f->records[i].type == type)
            return &f->records[i];
    return NULL;
}

static void has(const struct fake_journal *f, enum ch_record_type type, const char *text) {
    const struct fake_record *r = last(f, type);
    assert_non_null(r);
    if (!strstr(r->json, text))
        fail_msg("no %s in %s", text, r->json);
}

static void test_records_of_a_run(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    STAGE_OPEN(&st, NULL, call_and_answer);
    stage_tool(&st, "save", 0);
    fake_journal_attach(&f, &st);
    stage_play(&st, "keep\nthis");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_string_equal(ch_buf_str(&f.log), "titled:keep inbound is:running state epoch part "
                                            "request message state started done request message "
                                            "is:idle state");
    close_all(&st, &f);
}

/* A call with an effect runs when its STARTED record is committed, not before. */
static void test_a_call_waits_for_its_record(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    STAGE_OPEN(&st, NULL, call_and_answer);
    stage_tool(&st, "save", 0);
    fake_journal_attach(&f, &st);
    stage_start(&st, "go");
    while (!last(&f, CH_REC_STARTED)) {
        f.hold = last(&f, CH_REC_MESSAGE) != NULL;
        ch_loop_tick(st.rt->loop);
    }
    tick(&st);
    assert_int_equal(last(&f, CH_REC_STARTED)->sync, CH_SYNC_DISK);
    assert_null(last(&f, CH_REC_DONE));
    assert_null(strstr(ch_buf_str(&st.log), "tool_result"));
    fake_journal_commit(&f);
    stage_finish(&st);
    has(&f, CH_REC_STARTED, "\"effect\":\"once\"");
    has(&f, CH_REC_DONE, "\"ran\":true");
    assert_non_null(strstr(ch_buf_str(&st.log), "tool_result(c1)"));
    close_all(&st, &f);
}

/* RUN_END is emitted when the end is stored. */
static void test_the_end_waits_for_its_record(void **state) {
    static const struct fake_reply answer[] = {{.body = A_SAY("hi")}};
    struct stage st;
    struct fake_journal f;
    (void)state;
    STAGE_OPEN(&st, NULL, answer);
    fake_journal_attach(&f, &st);
    stage_start(&st, "go");
    while (!strstr(ch_buf_str(&st.log), "text_delta"))
        ch_loop_tick(st.rt->loop);
    f.hold = true;
    tick(&st);
    assert_int_equal(last(&f, CH_REC_STATE)->sync, CH_SYNC_TOLD);
    has(&f, CH_REC_STATE, "\"status\":\"done\"");
    has(&f, CH_REC_STATE, "\"cost_unknown\":true"); /* the model has no price */
    assert_int_equal(st.ends, 0);
    fake_journal_commit(&f);
    stage_finish(&st);
    assert_int_equal(st.ends, 1);
    close_all(&st, &f);
}

/* The journal is lost before STARTED is committed: the call never runs. */
static void test_lost(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    STAGE_OPEN(&st, NULL, call_and_answer);
    stage_tool(&st, "save", 0);
    fake_journal_attach(&f, &st);
    stage_start(&st, "go");
    while (!last(&f, CH_REC_STARTED)) {
        f.hold = last(&f, CH_REC_MESSAGE) != NULL;
        ch_loop_tick(st.rt->loop);
    }
    size_t n = f.n;
    fake_journal_lose(&f, CHELA_EIO);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "error/store_error");
    assert_null(strstr(ch_buf_str(&st.log), "tool_start"));
    assert_int_equal(f.n, n);
    assert_null(f.open);
    close_all(&st, &f);
}

static void test_it_cannot_be_opened(void **state) {
    static const struct fake_reply answer[] = {{.body = A_SAY("hi")}};
    struct stage st;
    struct fake_journal f;
    (void)state;
    STAGE_OPEN(&st, NULL, answer);
    fake_journal_attach(&f, &st);
    f.open_rc = CHELA_EBUSY;
    st.session = fake_journal_session(&st, "busy");
    assert_int_equal(st.session->journal->state, CH_RUN_JOURNAL_FAILED);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "error/store_error");
    assert_int_equal(st.model.nrequests, 0);
    /* The next run opens the journal again. */
    f.open_rc = 0;
    stage_play(&st, "again");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    close_all(&st, &f);
}

/* The records hold the whole conversation. */
static void test_records_rebuild_the_session(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    STAGE_OPEN(&st, NULL, call_and_answer);
    stage_tool(&st, "save", 0);
    fake_journal_attach(&f, &st);
    stage_play(&st, "go");
    const struct ch_transcript *was = &st.session->transcript;
    chela_session *copy = fake_journal_session(&st, "copy");
    assert_int_equal(copy->transcript.n, 4);
    assert_int_equal(copy->transcript.n, was->n);
    for (size_t i = 0; i < was->n; i++) {
        assert_int_equal(copy->transcript.msgs[i]->kind, was->msgs[i]->kind);
        assert_true(ch_sv_eq(copy->transcript.msgs[i]->blocks[0].text,
                             was->msgs[i]->blocks[0].text));
    }
    assert_int_equal(chela_session_status(copy), CHELA_SESSION_IDLE);
    assert_int_equal(copy->journal->safe, f.n);
    close_all(&st, &f);
}

static void test_embedding_usage_is_stored_once(void **state) {
    struct stage st;
    struct fake_journal f;
    (void)state;
    STAGE_OPEN(&st, NULL, call_and_answer);
    stage_tool(&st, "save", 0);
    fake_journal_attach(&f, &st);
    stage_start(&st, "go");
    ch_run_journal_embedded(st.run, "openai/e", 10);
    ch_run_journal_embedded(st.run, "openai/e", 5);
    stage_finish(&st);
    unsigned n = 0;
    for (size_t i = 0; i < f.n; i++)
        n += strstr(f.records[i].json, "\"embedding\":{\"model\":\"openai/e\",\"calls\":2,"
                                       "\"input\":15}") != NULL;
    assert_int_equal(n, 1);
    close_all(&st, &f);
}

/* A session that is not stored: every function does nothing. */
static void test_without_a_journal(void **state) {
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, NULL, call_and_answer);
    stage_tool(&st, "save", 0);
    stage_start(&st, "go");
    assert_null(ch_run_journal_of(st.run));
    assert_int_equal(ch_run_journal_state(st.run, CH_REPLAY_RUNNING, CH_SYNC_DISK), 0);
    assert_int_equal(ch_run_journal_end(st.run, CH_REPLAY_IDLE, ""), 0);
    assert_int_equal(ch_run_journal_lease(st.run), CH_LEASE_HELD);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_of_a_run),
        cmocka_unit_test(test_a_call_waits_for_its_record),
        cmocka_unit_test(test_the_end_waits_for_its_record),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_it_cannot_be_opened),
        cmocka_unit_test(test_records_rebuild_the_session),
        cmocka_unit_test(test_embedding_usage_is_stored_once),
        cmocka_unit_test(test_without_a_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

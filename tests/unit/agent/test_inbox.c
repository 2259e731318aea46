/* test_inbox.c -- events from outside: what is accepted, and who takes it up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/journal/inbox.h"
#include "base/limits.h"
#include "base/mem.h"
#include "support/fake_journal.h"

static const struct fake_reply answer[] = {{.body = A_SAY("hi")}};

static void open_all(struct stage *st, struct fake_journal *f) {
    STAGE_OPEN(st, NULL, answer);
    fake_journal_attach(f, st);
}

static void close_all(struct stage *st, struct fake_journal *f) {
    stage_close(st);
    fake_journal_release(f);
}

static void tick(struct stage *st) {
    for (int i = 0; i < 8; i++)
        ch_loop_tick(st->rt->loop);
}

struct told {
    unsigned times;
    int rc;
};

static void on_accepted(int rc, const struct chela_error *err, void *user) {
    struct told *t = user;
    assert_true((rc < 0) == (err != NULL));
    t->times++;
    t->rc = rc;
}

static void test_what_is_refused(void **state) {
    char *long_id = ch_alloc(CH_LIMIT_EVENT_ID + 2);
    char *large = ch_alloc(CH_LIMIT_INPUT + 2);
    memset(long_id, 'i', CH_LIMIT_EVENT_ID + 1);
    memset(large, 'x', CH_LIMIT_INPUT + 1);
    const struct {
        const char *id, *session, *data;
        size_t n;
        int rc;
    } cases[] = {
        {NULL, "t", "x", 1, CHELA_EINVAL},
        {"", "t", "x", 1, CHELA_EINVAL},
        {long_id, "t", "x", 1, CHELA_EINVAL},
        {"ev\xff", "t", "x", 1, CHELA_EINVAL},
        {"ev", "", "x", 1, CHELA_EINVAL},
        {"ev", "t", "a\0b", 3, CHELA_EINVAL},
        {"ev", "t", "\xc3", 1, CHELA_EINVAL},
        {"ev", "t", large, CH_LIMIT_INPUT + 1, CHELA_ELIMIT},
        {"ev", "t", large, CH_LIMIT_INPUT, 0},
        {"ev", "t", NULL, 0, 0},
    };
    struct stage st;
    struct fake_journal f;
    (void)state;
    open_all(&st, &f);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_inbox_event e = CHELA_INBOX_EVENT(.id = cases[i].id,
                                                       .session = cases[i].session,
                                                       .data = cases[i].data, .n = cases[i].n);
        struct told told = {0};
        struct chela_error err = {0};
        int rc = chela_inbox_accept(st.rt, &e, on_accepted, &told, &err);
        if (rc != cases[i].rc)
            fail_msg("case %zu: %d %s", i, rc, err.message);
        assert_int_equal(told.times, 0); /* never inside of the call */
        tick(&st);
        assert_int_equal(told.times, rc == 0);
    }
    assert_string_equal(ch_buf_str(&f.log), "accept:ev accept:ev");
    close_all(&st, &f);
    ch_free(long_id);
    ch_free(large);
}

/* The sender may forget the event when the store has it, not before. */
static void test_accepted_when_stored(void **state) {
    static const int outcomes[] = {0, CHELA_EEXIST, CHELA_EIO};
    struct stage st;
    struct fake_journal f;
    (void)state;
    open_all(&st, &f);
    for (size_t i = 0; i < CH_LEN(outcomes); i++) {
        struct chela_inbox_event e = CHELA_INBOX_EVENT(.id = "ev", .session = "t");
        struct told told = {0};
        f.hold = true;
        f.change_rc = outcomes[i];
        assert_int_equal(chela_inbox_accept(st.rt, &e, on_accepted, &told, NULL), 0);
        tick(&st);
        assert_int_equal(told.times, 0);
        fake_journal_commit(&f);
        tick(&st);
        assert_int_equal(told.times, 1);
        assert_int_equal(told.rc, outcomes[i]);
    }
    close_all(&st, &f);
}

static int start(struct stage *st, const char *event, const char *to, struct chela_error *err) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.event_id = event, .answer_to = to);
    return chela_run_start(st->session, "go", 2, &opts, &st->run, err);
}

/* The run that an event begins takes it out of the inbox with the record of its input. */
static void test_taken_with_the_input(void **state) {
    struct stage st;
    struct fake_journal f;
    struct chela_error err = {0};
    (void)state;
    open_all(&st, &f);
    assert_int_equal(start(&st, "ev_1", NULL, &err), 0);
    stage_finish(&st);
    assert_non_null(strstr(ch_buf_str(&f.log), "take:ev_1 inbound "));
    assert_non_null(strstr(f.records[0].json, "\"event\":\"ev_1\""));
    assert_int_equal(f.records[0].sync, CH_SYNC_COMMIT); /* the inbox has it on disk */
    close_all(&st, &f);
}

static void test_ids_and_addresses(void **state) {
    char *long_id = ch_alloc(CH_LIMIT_EVENT_ID + 2);
    memset(long_id, 'i', CH_LIMIT_EVENT_ID + 1);
    struct stage st;
    struct fake_journal f;
    struct chela_error err = {0};
    (void)state;
    open_all(&st, &f);
    assert_int_equal(start(&st, long_id, NULL, &err), CHELA_EINVAL);
    assert_int_equal(start(&st, "", NULL, &err), CHELA_EINVAL);
    assert_int_equal(start(&st, NULL, "\xff", &err), CHELA_EINVAL);
    assert_int_equal(start(&st, NULL, "chat_1", &err), CHELA_ESTATE);
    assert_non_null(strstr(err.message, "no channel"));
    /* Nothing of the refused runs was stored. */
    assert_string_equal(ch_buf_str(&f.log), "");
    /* A session that is still being opened. */
    assert_int_equal(chela_session_new(st.agent, "slow", &st.session, &err), 0);
    assert_int_equal(start(&st, "ev_1", NULL, &err), CHELA_ESTATE);
    close_all(&st, &f);
    ch_free(long_id);
}

static void test_without_a_store(void **state) {
    struct stage st;
    struct chela_error err = {0};
    struct chela_inbox_event e = CHELA_INBOX_EVENT(.id = "ev", .session = "s");
    (void)state;
    STAGE_OPEN(&st, NULL, answer);
    assert_int_equal(chela_inbox_accept(st.rt, &e, on_accepted, NULL, &err), CHELA_ESTATE);
    assert_int_equal(chela_inbox_settle(st.rt, "ev", &err), CHELA_ESTATE);
    assert_int_equal(start(&st, "ev", NULL, &err), CHELA_ESTATE);
    ch_inbox_take(st.session, "ev");
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_accepted_when_stored),
        cmocka_unit_test(test_taken_with_the_input),
        cmocka_unit_test(test_ids_and_addresses),
        cmocka_unit_test(test_without_a_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

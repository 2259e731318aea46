/* test_input_queue.c -- messages that come while a session is busy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/session/input_queue.h"
#include "base/limits.h"
#include "chela/store.h"
#include "support/stage.h"

static const struct fake_reply says[] = {
    {.body = A_SAY("one")},
    {.body = A_SAY("two")},
    {.body = A_SAY("three")},
    {.body = A_SAY("four")},
};

static unsigned ends;
static char reasons[256];

static void on_run(const struct chela_event *ev, void *user) {
    (void)user;
    if (ev->type != CHELA_EV_RUN_END)
        return;
    ends++;
    snprintf(reasons + strlen(reasons), sizeof(reasons) - strlen(reasons), "%s ",
             chela_reason_name(ev->end.reason));
}

static void queue(struct stage *st, const struct chela_queue_opts *opts) {
    ends = 0;
    reasons[0] = '\0';
    stage_open(st, NULL, says, CH_LEN(says));
    assert_int_equal(chela_session_queue(st->session, opts, NULL), 0);
}

static int send_as(struct stage *st, const char *id, const char *text) {
    struct chela_inbound in = CHELA_INBOUND(.channel = "pigeon", .message_id = id);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_run, .inbound = &in);
    return chela_session_send(st->session, text, strlen(text), &opts, NULL);
}

static int send_to(struct stage *st, const char *text) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_run);
    return chela_session_send(st->session, text, strlen(text), &opts, NULL);
}

/* Until nothing is in progress and nothing waits. */
static void settle(struct stage *st) {
    for (int i = 0; i < 100 && !st->rt->idle; i++) {
        if (ch_loop_run(st->rt->loop, &st->rt->idle) == 0)
            return;
        int64_t due = ch_loop_next_due(st->rt->loop);
        assert_true(due >= 0);
        st->now += due;
    }
    assert_true(st->rt->idle);
}

/* The texts that users said, joined. */
static void check_said(const struct stage *st, const char *want) {
    CH_BUF_AUTO got = {0};
    const struct ch_transcript *t = &st->session->transcript;
    for (size_t i = 0; i < t->n; i++)
        if (t->msgs[i]->kind == CH_MSG_USER)
            ch_buf_addf(&got, "%.*s|", CH_SV_FMT(ch_msg_words(t->msgs[i])));
    assert_string_equal(ch_buf_str(&got), want);
}

static void test_steer(void **state) {
    struct stage st;
    (void)state;
    queue(&st, &(struct chela_queue_opts)CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_STEER));
    assert_int_equal(send_to(&st, "a"), 0);
    assert_int_equal(send_to(&st, "b"), 0);
    settle(&st);
    check_said(&st, "a|b|");
    assert_int_equal(ends, 1);
    stage_close(&st);
}

/* What the agent says holds until the session says otherwise. */
static void test_the_agents_queue(void **state) {
    struct stage st;
    struct chela_queue_opts queue = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_INTERRUPT);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.queue = &queue);
    struct chela_queue_opts own = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_STEER);
    (void)state;
    ends = 0;
    reasons[0] = '\0';
    stage_open(&st, &opts, says, CH_LEN(says));
    send_to(&st, "a");
    send_to(&st, "b");
    settle(&st);
    assert_string_equal(reasons, "cancelled task_completed ");
    assert_int_equal(chela_session_queue(st.session, &own, NULL), 0);
    send_to(&st, "c");
    send_to(&st, "d");
    settle(&st);
    assert_string_equal(reasons, "cancelled task_completed task_completed ");
    queue.cap = 1000;
    chela_agent *agent;
    opts.model = "scripted/demo";
    assert_int_equal(chela_agent_new(st.rt, &opts, &agent, NULL), CHELA_EINVAL);
    stage_close(&st);
}

static void test_follow_up(void **state) {
    struct stage st;
    (void)state;
    queue(&st, &(struct chela_queue_opts)CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_FOLLOW_UP));
    send_to(&st, "a");
    send_to(&st, "b");
    send_to(&st, "c");
    settle(&st);
    check_said(&st, "a|b|c|");
    assert_int_equal(ends, 1);
    assert_int_equal(st.model.nrequests, 3);
    stage_close(&st);
}

/* Messages that come close together are one. */
static void test_collect(void **state) {
    struct stage st;
    (void)state;
    queue(&st, &(struct chela_queue_opts)CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_COLLECT,
                                                          .debounce_ms = 500));
    int64_t before = st.now;
    send_to(&st, "a");
    send_to(&st, "b");
    assert_null(st.session->run);
    settle(&st);
    check_said(&st, "a\n\nb|");
    assert_true(st.now - before >= 500);
    send_to(&st, "c");
    settle(&st);
    check_said(&st, "a\n\nb|c|");
    assert_int_equal(ends, 2);
    stage_close(&st);
}

static void test_interrupt(void **state) {
    struct stage st;
    static const struct fake_reply slow[] = {{.body = A_BEGIN, .hang = true},
                                             {.body = A_SAY("instead")}};
    (void)state;
    ends = 0;
    reasons[0] = '\0';
    STAGE_OPEN(&st, NULL, slow);
    assert_int_equal(chela_session_queue(st.session,
                                         &(struct chela_queue_opts)CHELA_QUEUE_OPTS(
                                             .mode = CHELA_QUEUE_INTERRUPT),
                                         NULL),
                     0);
    send_to(&st, "a");
    for (int i = 0; i < 20; i++)
        ch_loop_tick(st.rt->loop);
    send_to(&st, "b");
    settle(&st);
    check_said(&st, "a|b|");
    assert_string_equal(reasons, "cancelled task_completed ");
    stage_close(&st);
}

/* A run that is cancelled gives back all messages that it accepted, however many. */
static void test_all_come_back(void **state) {
    static const struct fake_reply slow[] = {{.body = A_BEGIN, .hang = true},
                                             {.body = A_SAY("all")}};
    static const enum chela_queue_mode modes[] = {CHELA_QUEUE_STEER, CHELA_QUEUE_FOLLOW_UP};
    CH_BUF_AUTO want = {0};
    struct stage st;
    (void)state;
    STAGE_OPEN(&st, NULL, slow);
    send_to(&st, "a");
    for (int i = 0; i < 20; i++)
        ch_loop_tick(st.rt->loop);
    ch_buf_add_str(&want, "a|");
    for (size_t m = 0; m < CH_LEN(modes); m++) {
        struct chela_queue_opts opts = CHELA_QUEUE_OPTS(.mode = modes[m]);
        assert_int_equal(chela_session_queue(st.session, &opts, NULL), 0);
        for (int i = 0; i < CH_LIMIT_QUEUE; i++) {
            assert_int_equal(send_to(&st, m ? "later" : "soon"), 0);
            ch_buf_addf(&want, "%s%s", m || i ? "\n\n" : "", m ? "later" : "soon");
        }
    }
    ch_buf_addc(&want, '|');
    chela_cancel(st.session->run, "enough");
    settle(&st);
    check_said(&st, ch_buf_str(&want));
    stage_close(&st);
}

static void test_overflow(void **state) {
    struct stage st;
    (void)state;
    queue(&st, &(struct chela_queue_opts)CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_COLLECT, .cap = 2));
    send_to(&st, "a");
    send_to(&st, "b");
    assert_int_equal(send_to(&st, "c"), CHELA_ELIMIT);
    settle(&st);
    check_said(&st, "a\n\nb|");
    stage_close(&st);

    queue(&st, &(struct chela_queue_opts)CHELA_QUEUE_OPTS(
                   .mode = CHELA_QUEUE_COLLECT, .cap = 2, .overflow = CHELA_OVERFLOW_DROP_OLDEST));
    send_to(&st, "a");
    send_to(&st, "b");
    assert_int_equal(send_to(&st, "c"), 0);
    settle(&st);
    check_said(&st, "[1 earlier message was dropped: too many came at once]\n\nb\n\nc|");
    stage_close(&st);
}

static int send_mb(struct stage *st, char c, size_t mb) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_run);
    CH_AUTOFREE char *text = ch_alloc(mb * CH_MB);
    memset(text, c, mb * CH_MB);
    return chela_session_send(st->session, text, mb * CH_MB, &opts, NULL);
}

/* The sizes of what users said, and its last letters. */
static void check_sizes(const struct stage *st, const char *want) {
    CH_BUF_AUTO got = {0};
    const struct ch_transcript *t = &st->session->transcript;
    for (size_t i = 0; i < t->n; i++) {
        struct ch_sv text = t->msgs[i]->blocks[0].text;
        if (t->msgs[i]->kind == CH_MSG_USER)
            ch_buf_addf(&got, "%zu%c ", text.n / CH_MB, text.p[text.n - 1]);
    }
    assert_string_equal(ch_buf_str(&got), want);
}

/* What is too much for one run is for the next. */
static void test_too_large_to_join(void **state) {
    struct stage st;
    (void)state;
    queue(&st, &(struct chela_queue_opts)CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_COLLECT));
    assert_int_equal(send_mb(&st, 'a', 7), 0);
    assert_int_equal(send_mb(&st, 'b', 7), 0);
    assert_int_equal(send_mb(&st, 'c', 16), 0);
    settle(&st);
    check_sizes(&st, "14b 16c ");
    assert_int_equal(ends, 2);
    stage_close(&st);
}

static void test_overflow_by_bytes(void **state) {
    struct stage st;
    (void)state;
    for (int drops = 0; drops < 2; drops++) {
        queue(&st, &(struct chela_queue_opts)CHELA_QUEUE_OPTS(
                       .mode = CHELA_QUEUE_COLLECT,
                       .overflow = drops ? CHELA_OVERFLOW_DROP_OLDEST : CHELA_OVERFLOW_REFUSE));
        for (int i = 0; i < 8; i++)
            assert_int_equal(send_mb(&st, 'a', 15), 0);
        assert_int_equal(send_mb(&st, 'b', 15), drops ? 0 : CHELA_ELIMIT);
        assert_int_equal(send_to(&st, "c"), 0);
        assert_int_equal(ch_input_queue_waiting(st.session), 9);
        stage_close(&st);
    }
}

/* The request tells about these messages, in this order, each in its message. */
static void check_about(const struct stage *st, size_t request, const char *ids) {
    assert_true(request < st->model.nrequests);
    const char *at = ch_buf_str(&st->model.requests[request]);
    struct ch_sv rest = ch_sv_str(ids);
    while (rest.n) {
        struct ch_sv id = ch_sv_split(&rest, ' ');
        CH_BUF_AUTO want = {0};
        ch_buf_addf(&want, "\\\"message_id\\\":\\\"%.*s\\\"", CH_SV_FMT(id));
        assert_non_null(at = strstr(at, "<trusted_metadata>"));
        const char *close = strstr(at, "</trusted_metadata>"), *named = strstr(at, want.p);
        assert_true(named && named < close);
        at = close;
    }
    assert_null(strstr(at, "<trusted_metadata>"));
}

/* However a message gets into a conversation, what is known of it comes too. */
static void test_metadata_of_the_newest(void **state) {
    static const struct {
        enum chela_queue_mode mode;
        const char *about[3]; /* the first requests */
    } rows[] = {{CHELA_QUEUE_STEER, {"om_1 om_2 om_3"}},
                {CHELA_QUEUE_FOLLOW_UP, {"om_1", "om_1 om_2", "om_1 om_2 om_3"}},
                {CHELA_QUEUE_COLLECT, {"om_1 om_2 om_3"}}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct stage st;
        queue(&st, &(struct chela_queue_opts)CHELA_QUEUE_OPTS(.mode = rows[i].mode));
        send_as(&st, "om_1", "a");
        send_as(&st, "om_2", "b");
        send_as(&st, "om_3", "c");
        settle(&st);
        for (size_t k = 0; k < 3 && rows[i].about[k]; k++)
            check_about(&st, k, rows[i].about[k]);
        stage_close(&st);
    }
}

/* What waited when the process died waits again, and is said once. */
static void test_what_waits_is_kept(void **state) {
    struct stage st;
    chela_store *store = NULL;
    (void)state;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    for (int life = 0; life < 2; life++) {
        queue(&st, &(struct chela_queue_opts)CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_COLLECT));
        assert_int_equal(chela_runtime_store(st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
        chela_session_close(st.session);
        assert_int_equal(chela_session_new(st.agent, "k", &st.session, NULL), 0);
        assert_int_equal(chela_session_queue(st.session,
                                             &(struct chela_queue_opts)CHELA_QUEUE_OPTS(
                                                 .mode = CHELA_QUEUE_COLLECT),
                                             NULL),
                         0);
        assert_int_equal(chela_session_wait(st.session, NULL), 0);
        if (life == 0) {
            send_as(&st, "om_1", "first");
        } else {
            send_to(&st, "second");
            settle(&st);
            check_said(&st, "[message_id: om_1] first\n\nsecond|");
            check_about(&st, 0, "om_1");
        }
        stage_close(&st);
    }
    chela_store_close(store);
}

static int stored_status(const struct chela_store_session *s, void *user) {
    snprintf(user, 16, "%s", s->status);
    return 0;
}

/* Messages that were accepted and cannot start a run end with a failed run, once: a later process
 * finds an idle session. Messages of other senders are not lost with them. */
static void test_what_cannot_start_fails(void **state) {
    struct stage st;
    chela_store *store = NULL;
    char status[16] = "";
    struct chela_queue_opts collect = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_COLLECT);
    struct chela_run_opts bad = CHELA_RUN_OPTS(.on_event = on_run, .deny = "group:none");
    (void)state;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    for (int life = 0; life < 2; life++) {
        queue(&st, &collect);
        assert_int_equal(chela_runtime_store(st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
        chela_session_close(st.session);
        assert_int_equal(chela_session_new(st.agent, "k", &st.session, NULL), 0);
        assert_int_equal(chela_session_queue(st.session, &collect, NULL), 0);
        assert_int_equal(chela_session_wait(st.session, NULL), 0);
        assert_int_equal(ch_input_queue_waiting(st.session), 0);
        if (life == 0) {
            size_t bytes = st.session->transcript.bytes;
            assert_int_equal(chela_session_send(st.session, "a", 1, &bad, NULL), 0);
            send_to(&st, "b");
            settle(&st);
            check_said(&st, "b|");
            assert_string_equal(reasons, "internal_error task_completed ");
            st.session->transcript.bytes += CH_LIMIT_HISTORY - bytes; /* as if full */
            send_to(&st, "c");
            settle(&st);
            assert_string_equal(reasons, "internal_error task_completed internal_error ");
            assert_string_equal(chela_run_error(st.session->run), "session 'k' is full");
        }
        assert_int_equal(chela_session_status(st.session), CHELA_SESSION_IDLE);
        stage_close(&st);
        assert_int_equal(chela_store_session(store, "k", stored_status, status, NULL), 0);
        assert_string_equal(status, "idle");
    }
    chela_store_close(store);
}

static void leave_early(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_MODEL_REQUEST)
        chela_run_leave(st->run);
}

static void resume_inside(const struct chela_event *ev, void *user) {
    struct stage *st = user;
    if (ev->type == CHELA_EV_RUN_START)
        assert_int_equal(chela_run_resume(st->session, NULL, NULL, NULL), CHELA_ESTATE);
    on_run(ev, NULL);
}

/* A run that waits for its session fails, because another run is unfinished. The unfinished run
 * is resumed after the end of the other one, not inside its events. */
static void test_resume_inside(void **state) {
    struct stage st;
    chela_store *store = NULL;
    (void)state;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    for (int life = 0; life < 2; life++) {
        queue(&st, &(struct chela_queue_opts)CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_STEER));
        assert_int_equal(chela_runtime_store(st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
        chela_session_close(st.session);
        assert_int_equal(chela_session_new(st.agent, "k", &st.session, NULL), 0);
        struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = resume_inside, .user = &st);
        st.on_event = leave_early;
        if (life == 0)
            stage_play(&st, "go");
        else
            assert_int_equal(chela_session_compact(st.session, NULL, &opts, NULL, NULL), 0);
        settle(&st);
        if (life == 1) {
            assert_string_equal(reasons, "store_error ");
            opts.on_event = on_run;
            assert_int_equal(chela_run_resume(st.session, &opts, NULL, NULL), 0);
            settle(&st);
            assert_string_equal(reasons, "store_error task_completed ");
        }
        stage_close(&st);
    }
    chela_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steer),     cmocka_unit_test(test_metadata_of_the_newest),
        cmocka_unit_test(test_the_agents_queue),
        cmocka_unit_test(test_follow_up),
        cmocka_unit_test(test_collect),   cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_all_come_back),
        cmocka_unit_test(test_overflow),  cmocka_unit_test(test_what_waits_is_kept),
        cmocka_unit_test(test_resume_inside),
        cmocka_unit_test(test_what_cannot_start_fails),
        cmocka_unit_test(test_too_large_to_join),
        cmocka_unit_test(test_overflow_by_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_approval.c -- calls that need consent, whole runs: paused, approved,
 * denied, resumed; bounds of one run; calls that are tried again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include "store/paused_calls.h"
#include "support/stage.h"

static bool sent(const struct stage *st, size_t request, const char *text) {
    return strstr(ch_buf_str(&st->model.requests[request]), text) != NULL;
}
static bool logged(const struct stage *st, const char *text) {
    return strstr(ch_buf_str(&st->log), text) != NULL;
}

static const struct fake_reply one_call[] = {
    {.body = A_USE("c1", "deploy", "{\\\"env\\\":\\\"prod\\\"}")},
    {.body = A_SAY("done")},
    {.body = A_SAY("next")},
};

static void start(struct stage *st, const struct chela_agent_opts *opts,
                  const struct fake_reply *replies, size_t n) {
    stage_open(st, opts, replies, n);
    stage_tool(st, "deploy", CHELA_TOOL_CONFIRM);
    stage_tool(st, "echo", 0);
    stage_start(st, "go");
}

/* Start and run until the end or the pause. */
static void play(struct stage *st, const struct chela_agent_opts *opts,
                 const struct fake_reply *replies, size_t n) {
    start(st, opts, replies, n);
    stage_finish(st);
}
#define PLAY(st, opts, replies) play(st, opts, replies, CH_LEN(replies))

static int decide(struct stage *st, enum chela_decision decision, const char *reason) {
    struct chela_error err = {0};
    return chela_session_approve(st->session, st->approval, decision, reason, &err);
}

static void resume(struct stage *st) {
    struct chela_error err = {0};
    if (chela_run_resume(st->session, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    stage_finish(st);
}

static void done(struct stage *st) {
    assert_string_equal(stage_verdict(st), "done/task_completed");
    stage_check_transcript(st);
    stage_close(st);
}

/* --- paused, decided, resumed ---------------------------------------------------- */

static void test_approve(void **state) {
    (void)state;
    struct stage st;
    char id[24];
    PLAY(&st, NULL, one_call);
    assert_string_equal(stage_verdict(&st), "paused/approval_required");
    assert_true(logged(&st, "state(ACT) approval_required(c1) state(WAITING) run_end(approval_"));
    assert_false(logged(&st, "tool_start"));
    snprintf(id, sizeof(id), "%s", st.run->id);
    uint64_t seq = st.next_seq;
    assert_int_equal(chela_run_start(st.session, "x", 1, NULL, NULL, NULL), CHELA_ESTATE);
    assert_int_equal(chela_run_resume(st.session, NULL, NULL, NULL), CHELA_ESTATE);

    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), 0);
    for (int i = 0; i < 5; i++)
        ch_loop_tick(st.rt->loop);
    assert_int_equal(st.next_seq, seq); /* nothing happens before it is resumed */
    ch_buf_clear(&st.log);
    resume(&st);
    assert_string_equal(st.run->id, id);
    assert_true(ch_sv_starts(ch_buf_sv(&st.log), "run_start state(ACT) tool_start(c1) "
                                                 "tool_result(c1) turn_end"));
    assert_int_equal(st.ends, 2);
    assert_true(sent(&st, 1, "deploy:{\\\\\\\"env\\\\\\\":\\\\\\\"prod") ||
                sent(&st, 1, "deploy:{\\\"env\\\":\\\"prod"));
    done(&st);
}

static void test_deny(void **state) {
    (void)state;
    struct stage st;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .limits = &(struct chela_limits)CHELA_LIMITS(.max_consecutive_errors = 1));
    PLAY(&st, &opts, one_call);
    assert_int_equal(decide(&st, CHELA_DENY, "not on a Friday"), 0);
    resume(&st);
    assert_true(logged(&st, "tool_result(c1!permission_denied)"));
    assert_false(logged(&st, "tool_start"));
    assert_true(sent(&st, 1, "not on a Friday"));
    done(&st); /* one error would have ended it */
}

static const struct fake_reply two_calls[] = {
    {.body = A_BEGIN A_CALL(0, "c1", "deploy", "{\\\"n\\\":1}") A_CALL(1, "c2", "echo", "{}")
         A_CALL(2, "c3", "deploy", "{\\\"n\\\":2}") A_END("tool_use")},
    {.body = A_SAY("both")},
};

struct ids {
    char of[2][64];
    size_t n;
};
static struct ids ids;

static void keep_ids(struct stage *st, const struct chela_event *ev) {
    (void)st;
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED)
        snprintf(ids.of[ids.n++], sizeof(ids.of[0]), "%.*s", (int)ev->approval.approval_id.n,
                 ev->approval.approval_id.p);
}

static void test_one_of_two(void **state) {
    (void)state;
    struct chela_error err = {0};
    struct stage st;
    ids.n = 0;
    start(&st, NULL, two_calls, CH_LEN(two_calls));
    st.on_event = keep_ids;
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/approval_required");
    /* the others run first, then both are asked about */
    assert_true(logged(&st, "tool_result(c2) approval_required(c1) approval_required(c3)"));
    assert_string_not_equal(ids.of[0], ids.of[1]);
    assert_int_equal(chela_session_approve(st.session, ids.of[1], CHELA_ALLOW_ONCE, NULL, &err), 0);
    assert_int_equal(chela_run_resume(st.session, NULL, NULL, &err), CHELA_ESTATE);
    assert_non_null(strstr(err.message, "still waits for approval"));
    assert_int_equal(chela_session_approve(st.session, ids.of[0], CHELA_DENY, "no", &err), 0);
    resume(&st);
    assert_true(logged(&st, "tool_start(c3)") && !logged(&st, "tool_start(c1)"));
    const struct ch_msg *m = st.session->transcript.msgs[2];
    assert_int_equal(m->kind, CH_MSG_RESULTS);
    assert_int_equal(m->blocks[0].flags, CH_F_ERROR | CH_F_DENIED);
    assert_int_equal(m->blocks[1].flags, 0);
    assert_int_equal(m->blocks[2].flags, 0);
    done(&st);
}

/* --- the waiting calls of a store's sessions */

static unsigned journals_read;

static int counted_records(struct chela_store_db *db, const char *key, uint64_t from,
                           chela_store_record_fn *fn, void *user, struct chela_error *err) {
    journals_read++;
    return ch_store_memory.records(db, key, from, fn, user, err);
}

static int count_call(const char *session, const struct ch_json *agent, const struct ch_json *call,
                      void *user) {
    assert_string_equal(session, "team:a");
    assert_true(ch_json_is(agent, CH_JSON_STRING) && ch_json_get(call, "summary"));
    ++*(unsigned *)user;
    return 0;
}

/* approval NULL: all. */
static unsigned waiting_calls(chela_store *store, const char *prefix, const char *approval) {
    unsigned n = 0;
    assert_int_equal(ch_paused_calls(
        store, &(struct ch_paused_search){prefix, approval, count_call, &n}, NULL), 0);
    return n;
}

/* The journal of a session is read again only after a change. */
static void test_calls_of_the_store(void **state) {
    (void)state;
    struct stage st;
    chela_store *store;
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    struct chela_store_ops ops = *store->ops;
    ops.records = counted_records;
    store->ops = &ops;
    stage_open(&st, NULL, two_calls, CH_LEN(two_calls));
    stage_tool(&st, "deploy", CHELA_TOOL_CONFIRM);
    stage_tool(&st, "echo", 0);
    assert_int_equal(chela_runtime_store(st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st.session);
    assert_int_equal(chela_session_new(st.agent, "team:a", &st.session, NULL), 0);
    ids.n = journals_read = 0;
    st.on_event = keep_ids;
    stage_start(&st, "go");
    stage_finish(&st);

    unsigned before = journals_read;
    assert_int_equal(waiting_calls(store, NULL, NULL), 2);
    assert_int_equal(waiting_calls(store, "team:", ids.of[1]), 1);
    assert_int_equal(waiting_calls(store, "other:", ids.of[1]), 0);
    assert_int_equal(waiting_calls(store, NULL, "ap_0"), 0);
    assert_int_equal(journals_read, before + 1);

    assert_int_equal(chela_session_approve(st.session, ids.of[1], CHELA_DENY, NULL, NULL), 0);
    for (int i = 0; i < 1000 && waiting_calls(store, NULL, NULL) > 1; i++) {
        ch_loop_tick(st.rt->loop); /* the decision is stored */
        usleep(1000);
    }
    assert_int_equal(waiting_calls(store, NULL, ids.of[1]), 0);
    assert_int_equal(waiting_calls(store, NULL, ids.of[0]), 1);
    assert_int_equal(journals_read, before + 2);
    assert_int_equal(chela_session_approve(st.session, ids.of[0], CHELA_DENY, NULL, NULL), 0);
    resume(&st);
    assert_int_equal(waiting_calls(store, NULL, NULL), 0);
    stage_close(&st);
    chela_store_close(store);
}

static void test_ids_cannot_be_forged(void **state) {
    (void)state;
    struct chela_error err = {0};
    struct stage st;
    char old[64];
    stage_open(&st, NULL, one_call, CH_LEN(one_call));
    stage_tool(&st, "deploy", CHELA_TOOL_CONFIRM);
    snprintf(st.approval, sizeof(st.approval), "ap_1");
    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), CHELA_ENOENT); /* no run at all */
    stage_start(&st, "go");
    stage_finish(&st);
    static const char *const forged[] = {"", "c1", "ap_", "ap_000000000000000000000000", "deploy"};
    for (size_t i = 0; i < CH_LEN(forged); i++)
        assert_int_equal(chela_session_approve(st.session, forged[i], CHELA_ALLOW_ONCE, NULL, &err),
                         CHELA_ENOENT);
    assert_int_equal(decide(&st, CHELA_UNDECIDED, NULL), CHELA_EINVAL);
    assert_int_equal(decide(&st, (enum chela_decision)9, NULL), CHELA_EINVAL);
    assert_int_equal(decide(&st, CHELA_DENY, NULL), 0);
    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), CHELA_EEXIST); /* too late */
    snprintf(old, sizeof(old), "%s", st.approval);
    resume(&st);
    assert_false(logged(&st, "tool_start"));
    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), CHELA_ENOENT); /* of a run that is over */
    assert_true(strlen(old) > 20);
    done(&st);
}

/* The id of one run says nothing about the next. */
static void test_stale_id(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "deploy", "{}")},
        {.body = A_USE("c1", "deploy", "{}")},
        {.body = A_SAY("done")},
    };
    struct chela_error err = {0};
    struct stage st;
    char old[64];
    PLAY(&st, NULL, replies);
    snprintf(old, sizeof(old), "%s", st.approval);
    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), 0);
    resume(&st);
    assert_string_equal(stage_verdict(&st), "paused/approval_required");
    assert_string_not_equal(old, st.approval);
    assert_int_equal(chela_session_approve(st.session, old, CHELA_ALLOW_ONCE, NULL, &err),
                     CHELA_ENOENT);
    assert_int_equal(decide(&st, CHELA_DENY, NULL), 0);
    resume(&st);
    done(&st);
}

static void test_cancel_while_waiting(void **state) {
    (void)state;
    struct stage st;
    PLAY(&st, NULL, two_calls);
    chela_cancel(st.run, "never mind");
    for (int i = 0; i < 10; i++)
        ch_loop_tick(st.rt->loop);
    assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
    assert_int_equal(st.ends, 2);
    assert_true(logged(&st, "tool_result(c1!cancelled)"));
    assert_false(logged(&st, "tool_start(c1)"));
    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), CHELA_ENOENT);
    stage_check_transcript(&st);
    stage_play(&st, "again");
    done(&st);
}

static void test_close_while_waiting(void **state) {
    (void)state;
    struct stage st;
    PLAY(&st, NULL, one_call);
    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), 0);
    chela_session_close(st.session);
    for (int i = 0; i < 5; i++)
        ch_loop_tick(st.rt->loop);
    assert_false(logged(&st, "tool_start"));
    stage_close(&st);
}

/* --- modes --------------------------------------------------------------------------- */

static const char *const for_prod[] = {"deploy: env=prod", NULL};
static const char *const for_test[] = {"deploy: env=test", NULL};

static void test_modes(void **state) {
    (void)state;
    static const struct {
        enum chela_approve approve;
        struct chela_approval_opts approvals;
        const char *verdict;
        bool runs;
    } cases[] = {
        {CHELA_APPROVE_AUTO, CHELA_APPROVAL_OPTS(.tools = NULL), "done/task_completed", true},
        {CHELA_APPROVE_DENY, CHELA_APPROVAL_OPTS(.tools = NULL), "done/task_completed", false},
        {CHELA_APPROVE_ASK, CHELA_APPROVAL_OPTS(.tools = NULL), "paused/approval_required", false},
        {0, CHELA_APPROVAL_OPTS(.tools = "deploy=auto"), "done/task_completed", true},
        {0, CHELA_APPROVAL_OPTS(.tools = "deploy=deny"), "done/task_completed", false},
        {CHELA_APPROVE_AUTO, CHELA_APPROVAL_OPTS(.tools = "deploy=deny"), "done/task_completed",
         false},
        {0, CHELA_APPROVAL_OPTS(.calls = for_prod), "done/task_completed", true},
        {0, CHELA_APPROVAL_OPTS(.calls = for_test), "paused/approval_required", false},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct stage st;
        struct chela_agent_opts opts =
            CHELA_AGENT_OPTS(.approve = cases[i].approve, .approvals = &cases[i].approvals);
        PLAY(&st, &opts, one_call);
        assert_string_equal(stage_verdict(&st), cases[i].verdict);
        assert_int_equal(logged(&st, "tool_start(c1)"), cases[i].runs);
        stage_close(&st);
    }
    struct chela_error err = {0};
    struct stage st;
    STAGE_OPEN(&st, NULL, one_call);
    chela_agent *agent;
    struct chela_agent_opts bad =
        CHELA_AGENT_OPTS(.model = "scripted/demo", .approve = (enum chela_approve)9);
    assert_int_equal(chela_agent_new(st.rt, &bad, &agent, &err), CHELA_EINVAL);
    assert_string_equal(err.message, "there is no approve 9");
    stage_close(&st);
}

static void test_always(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "deploy", "{\\\"a\\\":1,\\\"b\\\":2}")},
        {.body = A_USE("c2", "deploy", "{\\\"b\\\":2, \\\"a\\\":1}")},
        {.body = A_USE("c3", "deploy", "{\\\"a\\\":2,\\\"b\\\":2}")},
        {.body = A_SAY("done")},
    };
    struct stage st;
    PLAY(&st, NULL, replies);
    assert_int_equal(decide(&st, CHELA_ALLOW_ALWAYS, NULL), 0);
    resume(&st);
    assert_true(logged(&st, "tool_start(c2)")); /* the very same: not asked again */
    assert_true(logged(&st, "approval_required(c3)") && !logged(&st, "approval_required(c2)"));
    assert_int_equal(decide(&st, CHELA_DENY, NULL), 0);
    resume(&st);
    done(&st);
}

/* --- deciding at once ------------------------------------------------------------------- */

static void approve_in_event(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED)
        assert_int_equal(decide(st, (enum chela_decision)st->arg, "said so"), 0);
}

static void test_decided_in_the_event(void **state) {
    (void)state;
    for (long d = CHELA_DENY; d <= CHELA_ALLOW_ALWAYS; d++) {
        struct stage st;
        start(&st, NULL, two_calls, CH_LEN(two_calls));
        st.on_event = approve_in_event;
        st.arg = d;
        stage_finish(&st);
        assert_int_equal(st.ends, 1);
        assert_int_equal(logged(&st, "tool_start(c1)"), d != CHELA_DENY);
        assert_int_equal(logged(&st, "tool_start(c3)"), d != CHELA_DENY);
        done(&st);
    }
}

struct person {
    struct stage *st;
    enum chela_decision says;
    enum chela_flow flow;
    const char *reason;
    int64_t thinks_ms;
    unsigned asked;
};

static enum chela_flow ask_person(chela_run *run, struct chela_approval *a, void *user) {
    struct person *p = user;
    (void)run;
    p->asked++;
    p->st->now += p->thinks_ms;
    assert_true(a->name.n == 6 && memcmp(a->name.p, "deploy", 6) == 0);
    assert_true(a->summary.n > 0 && memcmp(a->summary.p, "deploy: {", 9) == 0);
    assert_true(a->can_remember);
    a->decision = p->says;
    a->reason = p->reason;
    return p->flow;
}

static void test_hook_decides(void **state) {
    (void)state;
    static const struct {
        enum chela_decision says;
        enum chela_flow flow;
        const char *verdict;
        bool runs;
    } cases[] = {
        {CHELA_ALLOW_ONCE, CHELA_GO, "done/task_completed", true},
        {CHELA_ALLOW_ALWAYS, CHELA_GO, "done/task_completed", true},
        {CHELA_DENY, CHELA_GO, "done/task_completed", false},
        {CHELA_UNDECIDED, CHELA_GO, "paused/approval_required", false},
        {CHELA_ALLOW_ONCE, CHELA_HALT, "cancelled/cancelled", false},
        {CHELA_UNDECIDED, CHELA_HALT, "cancelled/cancelled", false},
        {(enum chela_decision)99, CHELA_GO, "paused/approval_required", false},
        {(enum chela_decision)-1, CHELA_GO, "paused/approval_required", false},
        {CHELA_ALLOW_ONCE, (enum chela_flow)-1, "cancelled/cancelled", false},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct stage st;
        struct person p = {
            .st = &st, .says = cases[i].says, .flow = cases[i].flow, .reason = "because"};
        struct chela_hooks hooks = CHELA_HOOKS(.user = &p, .approve = ask_person);
        start(&st, NULL, one_call, CH_LEN(one_call));
        chela_agent_hooks(st.agent, &hooks, NULL);
        stage_finish(&st);
        assert_string_equal(stage_verdict(&st), cases[i].verdict);
        assert_int_equal(logged(&st, "tool_start(c1)"), cases[i].runs);
        assert_int_equal(p.asked, 1);
        assert_int_equal(st.ends, 1);
        if (cases[i].says == CHELA_DENY)
            assert_true(sent(&st, 1, "because"));
        stage_close(&st);
    }
}

static enum chela_flow wrong_action(chela_run *run, struct chela_before_tool *call, void *user) {
    (void)run, (void)user;
    call->action = (enum chela_tool_action)99;
    return CHELA_GO;
}

/* An action that does not exist, for example one of a later version. */
static void test_wrong_action(void **state) {
    (void)state;
    struct stage st;
    struct chela_hooks hooks = CHELA_HOOKS(.before_tool = wrong_action);
    start(&st, NULL, one_call, CH_LEN(one_call));
    chela_agent_hooks(st.agent, &hooks, NULL);
    stage_finish(&st);
    assert_false(logged(&st, "tool_start(c1)"));
    done(&st);
}

/* A person may think longer than the run may take. */
static void test_thinking_is_free(void **state) {
    (void)state;
    struct stage st;
    struct person p = {.st = &st, .says = CHELA_ALLOW_ONCE, .thinks_ms = 3600 * 1000};
    struct chela_hooks hooks = CHELA_HOOKS(.user = &p, .approve = ask_person);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .limits = &(struct chela_limits)CHELA_LIMITS(.timeout_ms = 10000));
    start(&st, &opts, one_call, CH_LEN(one_call));
    chela_agent_hooks(st.agent, &hooks, NULL);
    stage_finish(&st);
    assert_true(logged(&st, "tool_start(c1)"));
    done(&st);
}

static void hook_says_once(struct stage *st, struct person *p) {
    struct chela_hooks hooks = CHELA_HOOKS(.user = p, .approve = ask_person);
    *p = (struct person){.st = st, .says = CHELA_ALLOW_ONCE};
    chela_agent_hooks(st->agent, &hooks, NULL);
}

static void cancel_at(struct stage *st, const struct chela_event *ev) {
    if ((long)ev->seq == st->arg)
        chela_cancel(st->run, "enough");
}
static void close_at(struct stage *st, const struct chela_event *ev) {
    if ((long)ev->seq == st->arg)
        chela_session_close(st->session);
}

static void test_ending_at_every_event(void **state) {
    (void)state;
    for (long at = 0; at < 40; at++) {
        struct stage st;
        struct person p;
        start(&st, NULL, two_calls, CH_LEN(two_calls));
        hook_says_once(&st, &p);
        st.on_event = cancel_at;
        st.arg = at;
        stage_finish(&st);
        assert_int_equal(st.ends, 1);
        stage_check_transcript(&st);
        stage_close(&st);

        start(&st, NULL, two_calls, CH_LEN(two_calls));
        hook_says_once(&st, &p);
        st.on_event = close_at;
        st.arg = at;
        for (int i = 0; i < 100; i++)
            ch_loop_tick(st.rt->loop);
        assert_true((long)st.events <= at + 1);
        stage_close(&st);
    }
}

/* --- together with the host's own calls ---------------------------------------------------- */

static void test_approvals_and_answers(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN A_CALL(0, "c1", "pick", "{}") A_CALL(1, "c2", "deploy", "{}")
             A_END("tool_use")},
        {.body = A_SAY("thanks")},
    };
    struct chela_error err = {0};
    struct stage st;
    start(&st, NULL, replies, CH_LEN(replies));
    stage_tool(&st, "pick", CHELA_TOOL_CLIENT);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/approval_required");
    assert_true(logged(&st, "client_tool_required(c1) approval_required(c2)"));
    assert_int_equal(chela_session_answer(st.session, "c2", "x", 1, 0, &err), CHELA_ENOENT);
    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), 0);
    assert_int_equal(chela_run_resume(st.session, NULL, NULL, &err), CHELA_ESTATE);
    assert_int_equal(chela_session_answer(st.session, "c1", "blue", 4, 0, &err), 0);
    ch_buf_clear(&st.log);
    resume(&st);
    assert_true(ch_sv_starts(ch_buf_sv(&st.log), "run_start state(ACT) tool_result(c1) "
                                                 "tool_start(c2) tool_result(c2)"));
    assert_true(sent(&st, 1, "blue"));
    done(&st);
}

static void test_approved_then_handed_over(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "pick", "{}")},
        {.body = A_SAY("thanks")},
    };
    struct chela_error err = {0};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .approvals = &(struct chela_approval_opts)CHELA_APPROVAL_OPTS(.tools = "pick=ask"));
    struct stage st;
    start(&st, &opts, replies, CH_LEN(replies));
    stage_tool(&st, "pick", CHELA_TOOL_CLIENT);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/approval_required");
    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), 0);
    resume(&st);
    assert_string_equal(stage_verdict(&st), "paused/client_tool_required");
    assert_int_equal(chela_session_answer(st.session, "c1", "red", 3, 0, &err), 0);
    resume(&st);
    assert_int_equal(st.ends, 3);
    assert_true(sent(&st, 1, "red"));
    done(&st);
}

/* A call that runs alone keeps those after it waiting. */
static void test_order_is_kept(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_BEGIN A_CALL(0, "c1", "alone", "{}") A_CALL(1, "c2", "echo", "{}")
             A_END("tool_use")},
        {.body = A_SAY("done")},
    };
    struct stage st;
    start(&st, NULL, replies, CH_LEN(replies));
    stage_tool(&st, "alone", CHELA_TOOL_CONFIRM | CHELA_TOOL_SEQUENTIAL);
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/approval_required");
    assert_false(logged(&st, "tool_start"));
    assert_int_equal(decide(&st, CHELA_EDIT, "no JSON"), CHELA_EINVAL);
    assert_int_equal(decide(&st, CHELA_EDIT, "[1]"), CHELA_EINVAL);
    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), 0);
    resume(&st);
    assert_true(logged(&st, "tool_start(c1) tool_result(c1) tool_start(c2)"));
    done(&st);
}

static void steer(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED)
        assert_int_equal(chela_run_steer(st->run, "stop that", 9), 0);
}

static void test_steering_instead_of_an_answer(void **state) {
    (void)state;
    struct stage st;
    start(&st, NULL, one_call, CH_LEN(one_call));
    st.on_event = steer;
    stage_finish(&st);
    assert_true(logged(&st, "tool_result(c1!cancelled)") && logged(&st, "steering(stop that)"));
    assert_false(logged(&st, "tool_start"));
    done(&st);
}

static void steer_late(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_STATE && ev->state.to == CHELA_STATE_WAITING)
        assert_int_equal(chela_run_steer(st->run, "stop that", 9), 0);
}

/* The question is asked, and the pause is being stored: the message waits for the answer. */
static void test_steering_during_the_pause(void **state) {
    (void)state;
    struct stage st;
    start(&st, NULL, one_call, CH_LEN(one_call));
    st.on_event = steer_late;
    stage_finish(&st);
    assert_string_equal(stage_verdict(&st), "paused/approval_required");
    assert_int_equal(decide(&st, CHELA_ALLOW_ONCE, NULL), 0);
    resume(&st);
    assert_true(logged(&st, "tool_result(c1) ") && logged(&st, "steering(stop that)"));
    done(&st);
}

/* --- bounds ---------------------------------------------------------------------------------- */

static void tools_offered(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_MODEL_REQUEST)
        st->arg = (long)ev->request.tools;
}

static void on_event(const struct chela_event *ev, void *user) {
    tools_offered(user, ev);
}

static void run_bounded(struct stage *st, const struct chela_run_opts *given) {
    struct chela_run_opts opts = *given;
    struct chela_error err = {0};
    opts.on_event = on_event;
    opts.user = st;
    chela_run_free(CH_TAKE(st->run));
    if (chela_run_start(st->session, "go", 2, &opts, &st->run, &err) < 0)
        fail_msg("%s", err.message);
    stage_finish(st);
}

static void test_bounds_of_one_run(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "echo", "{}")}, {.body = A_SAY("no echo")},
        {.body = A_USE("c2", "echo", "{}")}, {.body = A_SAY("echo")},
        {.body = A_SAY("read only")},
    };
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    stage_tool(&st, "echo", 0);
    stage_tool(&st, "deploy", CHELA_TOOL_CONFIRM);
    run_bounded(&st, &(struct chela_run_opts)CHELA_RUN_OPTS(.deny = "echo"));
    assert_int_equal(st.arg, 1);
    assert_false(sent(&st, 0, "\"echo\"") && sent(&st, 0, "Says what it was told"));
    assert_true(sent(&st, 1, "There is no tool named"));
    run_bounded(&st, &(struct chela_run_opts)CHELA_RUN_OPTS(.on_event = NULL));
    assert_int_equal(st.arg, 2);
    assert_true(sent(&st, 3, "echo:{}"));
    run_bounded(&st, &(struct chela_run_opts)CHELA_RUN_OPTS(.permission = CHELA_PERM_READ));
    assert_int_equal(st.arg, 2); /* descriptions stay; calls are refused */

    struct chela_error err = {0};
    struct chela_run_opts bad = CHELA_RUN_OPTS(.deny = "group:nothing");
    assert_int_equal(chela_run_start(st.session, "x", 1, &bad, NULL, &err), CHELA_EINVAL);
    bad = (struct chela_run_opts)CHELA_RUN_OPTS(.approve = (enum chela_approve)9);
    assert_int_equal(chela_run_start(st.session, "x", 1, &bad, NULL, &err), CHELA_EINVAL);
    stage_close(&st);
}

static void test_run_says_how_to_approve(void **state) {
    (void)state;
    struct stage st;
    STAGE_OPEN(&st, NULL, one_call);
    stage_tool(&st, "deploy", CHELA_TOOL_CONFIRM);
    run_bounded(&st, &(struct chela_run_opts)CHELA_RUN_OPTS(.approve = CHELA_APPROVE_DENY));
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_true(sent(&st, 1, "nobody can be asked here"));
    stage_close(&st);
}

static void test_policy_of_the_agent(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("1")}, {.body = A_SAY("2")}};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.allow = "echo,group:files", .deny = "secret");
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    stage_tool(&st, "echo", 0);
    stage_tool(&st, "secret", 0);
    stage_tool(&st, "other", 0);
    st.on_event = tools_offered;
    stage_play(&st, "go");
    assert_int_equal(st.arg, 1);
    assert_false(sent(&st, 0, "secret") || sent(&st, 0, "other"));
    char *json = chela_agent_tools_json(st.agent);
    assert_null(strstr(json, "secret"));
    chela_free(json);
    json = chela_agent_call_tool(st.agent, "secret", "{}", NULL);
    assert_non_null(strstr(json, "There is no tool named"));
    chela_free(json);
    assert_int_equal(chela_agent_policy(st.agent, NULL, NULL, CHELA_PERM_ADMIN, NULL), 0);
    stage_play(&st, "again");
    assert_int_equal(st.arg, 3);
    stage_close(&st);
}

/* --- trying again --------------------------------------------------------------------------- */

struct flaky {
    struct stage *st;
    unsigned fails;  /* so many attempts fail */
    unsigned called; /* attempts */
    const char *type;
    int64_t retry_after, takes_ms;
    bool untouched; /* a failed attempt says that it took no effect */
    int64_t at[8]; /* when */
    char keys[8][128];
};

static int flaky(chela_call *call, void *user) {
    struct flaky *f = user;
    unsigned n = f->called++;
    f->at[n % 8] = f->st->now;
    snprintf(f->keys[n % 8], sizeof(f->keys[0]), "%s", chela_call_key(call));
    f->st->now += f->takes_ms;
    chela_result_printf(call, "attempt %u", n + 1);
    if (n >= f->fails)
        return 0;
    if (f->retry_after)
        chela_result_retry_after(call, f->retry_after);
    if (f->untouched)
        chela_result_no_effect(call);
    return chela_result_error(call, f->type, "not now");
}

static void play_flaky(struct stage *st, struct flaky *f, enum chela_effect effect, int retries) {
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "flaky", "{}")},
                                                {.body = A_SAY("done")}};
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "flaky", .fn = flaky, .user = f, .effect = effect,
                        .flags = CHELA_TOOL_ON_LOOP, .max_retries = retries);
    STAGE_OPEN(st, NULL, replies);
    f->st = st;
    assert_int_equal(chela_agent_add_tool(st->agent, &tool, NULL), 0);
    stage_play(st, "go");
    assert_string_equal(stage_verdict(st), "done/task_completed");
}

static void test_retry(void **state) {
    (void)state;
    static const struct {
        const char *name, *type;
        enum chela_effect effect;
        int retries;
        unsigned fails, called;
        bool ok;
    } cases[] = {
        {"read", "network", CHELA_EFFECT_READ, 0, 1, 2, true},
        {"read twice", "unavailable", CHELA_EFFECT_READ, 0, 2, 3, true},
        {"read too often", "timeout", CHELA_EFFECT_READ, 0, 9, 3, false},
        {"keyed", "rate_limited", CHELA_EFFECT_KEYED, 0, 1, 2, true},
        {"once", "network", CHELA_EFFECT_ONCE, 0, 1, 1, false},
        {"not transient", "invalid_arguments", CHELA_EFFECT_READ, 0, 1, 1, false},
        {"told not to", "network", CHELA_EFFECT_READ, -1, 1, 1, false},
        {"told to", "network", CHELA_EFFECT_READ, 4, 4, 5, true},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct flaky f = {.fails = cases[i].fails, .type = cases[i].type};
        struct stage st;
        play_flaky(&st, &f, cases[i].effect, cases[i].retries);
        if (f.called != cases[i].called)
            fail_msg("%s: %u attempts", cases[i].name, f.called);
        assert_int_equal(logged(&st, "tool_result(c1)"), cases[i].ok);
        /* one start, one result, and a line for each new attempt */
        assert_int_equal(
            strstr(strstr(ch_buf_str(&st.log), "tool_start") + 1, "tool_start") != NULL, false);
        assert_int_equal(logged(&st, "tool_progress"), f.called > 1);
        for (unsigned n = 1; n < f.called; n++) {
            int64_t wait = f.at[n] - f.at[n - 1], most = 500 << (n - 1);
            assert_true(wait >= most * 3 / 4 && wait <= most);
            assert_string_equal(f.keys[n], f.keys[0]);
        }
        stage_close(&st);
    }
}

static void test_retry_after(void **state) {
    (void)state;
    struct flaky f = {.fails = 1, .type = "rate_limited", .retry_after = 7000};
    struct stage st;
    play_flaky(&st, &f, CHELA_EFFECT_READ, 0);
    assert_int_equal(f.at[1] - f.at[0], 7000);
    stage_close(&st);

    f = (struct flaky){.fails = 1, .type = "rate_limited", .retry_after = 40000};
    play_flaky(&st, &f, CHELA_EFFECT_READ, 0); /* longer than the call may take */
    assert_int_equal(f.called, 1);
    stage_close(&st);

    f = (struct flaky){.fails = 9, .type = "network", .takes_ms = 9000};
    play_flaky(&st, &f, CHELA_EFFECT_READ, 5); /* a fourth attempt does not fit into its 30 s */
    assert_int_equal(f.called, 3);
    stage_close(&st);

    f = (struct flaky){.fails = 9, .type = "network", .takes_ms = 14900};
    play_flaky(&st, &f, CHELA_EFFECT_READ, 5); /* nor does a second one */
    assert_int_equal(f.called, 1);
    stage_close(&st);
}

/* A policy: delays of its own, no time limit but its deadline, and `once` calls if their failure
 * says that nothing was done. */
static void test_retry_policy(void **state) {
    (void)state;
    static const struct {
        const char *name, *type;
        enum chela_effect effect;
        int retries;
        int64_t deadline_ms, retry_after;
        unsigned fails, called;
        bool untouched;
    } cases[] = {
        {"read", "network", CHELA_EFFECT_READ, 3, 0, 0, 2, 3, false},
        {"too often", "network", CHELA_EFFECT_READ, 3, 0, 0, 9, 4, false},
        {"keyed", "unavailable", CHELA_EFFECT_KEYED, 3, 0, 0, 2, 3, false},
        {"once", "unavailable", CHELA_EFFECT_ONCE, 3, 0, 0, 2, 1, false},
        {"once, nothing done", "unavailable", CHELA_EFFECT_ONCE, 3, 0, 0, 2, 3, true},
        {"nothing done for good", "not_found", CHELA_EFFECT_ONCE, 3, 0, 0, 2, 1, true},
        {"deadline", "network", CHELA_EFFECT_READ, 5, 85000, 0, 9, 2, false},
        {"as told", "rate_limited", CHELA_EFFECT_READ, 3, 0, 3600000, 1, 2, false},
        {"told too late", "rate_limited", CHELA_EFFECT_READ, 3, 200000, 3600000, 1, 1, false},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        static const struct fake_reply replies[] = {{.body = A_USE("c1", "flaky", "{}")},
                                                    {.body = A_SAY("done")}};
        struct flaky f = {.fails = cases[i].fails,
                          .type = cases[i].type,
                          .untouched = cases[i].untouched,
                          .retry_after = cases[i].retry_after};
        struct chela_tool_opts tool = CHELA_TOOL_OPTS(
            .name = "flaky", .fn = flaky, .user = &f, .effect = cases[i].effect,
            .flags = CHELA_TOOL_ON_LOOP, .max_retries = cases[i].retries,
            .retry_backoff_ms = 40000, .retry_max_backoff_ms = 100000,
            .retry_deadline_ms = cases[i].deadline_ms);
        struct stage st;
        STAGE_OPEN(&st, NULL, replies);
        f.st = &st;
        assert_int_equal(chela_agent_add_tool(st.agent, &tool, NULL), 0);
        stage_play(&st, "go");
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        if (f.called != cases[i].called)
            fail_msg("%s: %u attempts", cases[i].name, f.called);
        char *first = strstr(ch_buf_str(&st.log), "tool_start");
        assert_null(strstr(first + 1, "tool_start"));
        for (unsigned n = 1; n < f.called; n++) {
            int64_t wait = f.at[n] - f.at[n - 1], most = n == 1 ? 40000 : n == 2 ? 80000 : 100000;
            if (cases[i].retry_after)
                assert_int_equal(wait, cases[i].retry_after);
            else
                assert_true(wait >= most * 3 / 4 && wait <= most + 1);
            assert_string_equal(f.keys[n], f.keys[0]);
        }
        stage_close(&st);
    }
}

static void test_retry_options(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("done")}};
    struct chela_tool_opts tools[] = {
        CHELA_TOOL_OPTS(.name = "a", .fn = flaky, .retry_backoff_ms = -1),
        CHELA_TOOL_OPTS(.name = "a", .fn = flaky, .retry_backoff_ms = INT64_MAX),
        CHELA_TOOL_OPTS(.name = "a", .fn = flaky, .retry_max_backoff_ms = -1),
        CHELA_TOOL_OPTS(.name = "a", .fn = flaky, .retry_deadline_ms = INT64_MIN),
        CHELA_TOOL_OPTS(.name = "a", .fn = flaky, .max_retries = 1000),
    };
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    for (size_t i = 0; i < CH_LEN(tools); i++) {
        struct chela_error err = {0};
        assert_int_equal(chela_agent_add_tool(st.agent, &tools[i], &err), CHELA_EINVAL);
        assert_non_null(strstr(err.message, "retry"));
    }
    stage_play(&st, "go");
    stage_close(&st);
}

/* Without a store that somebody watches, a wait passes in this process. */
static void test_wait_until(void **state) {
    (void)state;
    static const char *const settings[] = {"wait.enabled=true", NULL};
    static const struct chela_toolset_opts set = CHELA_TOOLSET_OPTS(.settings = settings);
    static const struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.toolset = &set, .tools = "wait_until");
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "wait_until", "{\\\"seconds\\\":7200}")}, {.body = A_SAY("done")}};
    struct stage st;
    STAGE_OPEN(&st, &opts, replies);
    int64_t from = st.now;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    assert_true(st.now - from >= 7200000);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "The wait is over"));
    stage_close(&st);
}

static void cancel_on_progress(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TOOL_PROGRESS)
        chela_cancel(st->run, "enough");
}

static void test_cancel_between_attempts(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "flaky", "{}")}};
    struct flaky f = {.fails = 9, .type = "network"};
    struct stage st;
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "flaky", .fn = flaky, .user = &f, .effect = CHELA_EFFECT_READ,
                        .flags = CHELA_TOOL_ON_LOOP);
    STAGE_OPEN(&st, NULL, replies);
    f.st = &st;
    assert_int_equal(chela_agent_add_tool(st.agent, &tool, NULL), 0);
    st.on_event = cancel_on_progress;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "cancelled/cancelled");
    assert_int_equal(f.called, 1);
    stage_close(&st);
}

/* What is risky runs in the sandbox; a function of this process cannot. */
static void test_risky_functions_are_refused(void **state) {
    (void)state;
    static const char *const argv[] = {"true", NULL};
    struct chela_tool_opts fn = CHELA_TOOL_OPTS(.name = "eval", .description = "Evaluate.",
                                                .flags = CHELA_TOOL_RISKY | CHELA_TOOL_CLIENT);
    struct chela_tool_opts risky = fn;
    struct chela_command_opts program = CHELA_COMMAND_OPTS(.tool = &risky, .argv = argv);
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "eval", "{}")},
                                                {.body = A_SAY("not done")}};
    static const struct chela_agent_opts nobody = CHELA_AGENT_OPTS(.approve = CHELA_APPROVE_DENY);
    struct chela_error err = {0};
    struct stage st;
    STAGE_OPEN(&st, &nobody, replies);
    assert_int_equal(chela_agent_add_tool(st.agent, &fn, &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "tool eval: "));
    assert_non_null(strstr(err.message, "CHELA_TOOL_CONFIRM"));
    risky.flags = CHELA_TOOL_RISKY;
    assert_int_equal(chela_agent_add_command(st.agent, &program, &err), 0);
    stage_play(&st, "go"); /* it needs a yes, as exec does */
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "permission_denied"));
    stage_close(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_risky_functions_are_refused),
        cmocka_unit_test(test_approve),
        cmocka_unit_test(test_deny),
        cmocka_unit_test(test_one_of_two),
        cmocka_unit_test(test_calls_of_the_store),
        cmocka_unit_test(test_ids_cannot_be_forged),
        cmocka_unit_test(test_stale_id),
        cmocka_unit_test(test_cancel_while_waiting),
        cmocka_unit_test(test_close_while_waiting),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_always),
        cmocka_unit_test(test_decided_in_the_event),
        cmocka_unit_test(test_hook_decides),
        cmocka_unit_test(test_wrong_action),
        cmocka_unit_test(test_thinking_is_free),
        cmocka_unit_test(test_ending_at_every_event),
        cmocka_unit_test(test_approvals_and_answers),
        cmocka_unit_test(test_approved_then_handed_over),
        cmocka_unit_test(test_order_is_kept),
        cmocka_unit_test(test_steering_instead_of_an_answer),
        cmocka_unit_test(test_steering_during_the_pause),
        cmocka_unit_test(test_bounds_of_one_run),
        cmocka_unit_test(test_run_says_how_to_approve),
        cmocka_unit_test(test_policy_of_the_agent),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_retry_policy),
        cmocka_unit_test(test_retry_options),
        cmocka_unit_test(test_wait_until),
        cmocka_unit_test(test_cancel_between_attempts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

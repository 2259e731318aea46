/* test_policies.c -- one agent, several people: each run has the bounds of who
 * wrote its input, whatever waits, joins, or is resumed. */
#include <setjmp.h>
#include "agent/handle/run_origin.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/mem.h"
#include "chela/store.h"
#include "support/stage.h"

static const char *const owner[] = {"u_owner", NULL};
static const struct chela_policy chat = CHELA_POLICY(.id = "chat", .channel = "chat",
                                                     .deny = "shred"),
                                 strangers = CHELA_POLICY(.id = "strangers", .channel = "chat",
                                                          .except = owner, .deny = "delete",
                                                          .approve = CHELA_APPROVE_DENY);
static const struct chela_policy *const policies[] = {&chat, &strangers, NULL};
static const struct chela_agent_opts bounded =
    CHELA_AGENT_OPTS(
        .approve = CHELA_APPROVE_AUTO,
        .approvals = &(struct chela_approval_opts)CHELA_APPROVAL_OPTS(.policies = policies));

static void open_stage(struct stage *st, const struct fake_reply *replies, size_t n) {
    stage_open(st, &bounded, replies, n);
    stage_tool(st, "look", 0);
    stage_tool(st, "delete", 0);
    stage_tool(st, "shred", 0);
}

static struct chela_run_opts by(const char *sender) {
    return (struct chela_run_opts)CHELA_RUN_OPTS(.channel = "chat", .sender = sender);
}

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

/* Which of the tools a request describes. */
static const char *described(const struct stage *st, size_t request) {
    const char *body = ch_buf_str(&st->model.requests[request]);
    assert_non_null(strstr(body, "\"name\":\"look\""));
    bool del = strstr(body, "\"name\":\"delete\"") != NULL;
    bool shred = strstr(body, "\"name\":\"shred\"") != NULL;
    return shred ? "all" : del ? "owner" : "stranger";
}

static void play(struct stage *st, const struct chela_run_opts *opts) {
    assert_int_equal(chela_run_start(st->session, "go", 2, opts, NULL, NULL), 0);
    settle(st);
}

/* A sender with fewer rights changes no description, since the service's cache and its bound
 * reasoning begin with them; calls are refused (test_calls). One with more adds tools. */
static void test_by_sender(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_SAY("1")}, {.body = A_SAY("2")}, {.body = A_SAY("3")}, {.body = A_SAY("4")}};
    struct stage st;
    open_stage(&st, replies, CH_LEN(replies));
    struct chela_run_opts mine = by("u_owner"), theirs = by("u_x"), unknown = by(NULL);
    play(&st, &theirs);
    play(&st, &mine);
    play(&st, &unknown);
    play(&st, NULL);
    assert_string_equal(described(&st, 0), "stranger");
    assert_string_equal(described(&st, 1), "owner");
    assert_string_equal(described(&st, 2), "owner");
    assert_string_equal(described(&st, 3), "all");
    stage_close(&st);
}

/* A tool that is not allowed is one that does not exist, also when an earlier
 * run of the session was told of it. */
static void test_calls(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "delete", "{}")},
                                                {.body = A_SAY("done")},
                                                {.body = A_USE("c2", "delete", "{}")},
                                                {.body = A_SAY("cannot")}};
    struct stage st;
    open_stage(&st, replies, CH_LEN(replies));
    struct chela_run_opts mine = by("u_owner"), theirs = by("u_x");
    play(&st, &mine);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "delete:{}"));
    play(&st, &theirs);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[3]), "There is no tool named"));
    stage_check_transcript(&st);
    stage_close(&st);
}

/* The channel of the session counts where the run names none. */
static int deliver(chela_call *call, const struct chela_message *m, void *user) {
    (void)m, (void)user;
    chela_result_printf(call, "ok");
    return 0;
}

static void test_channel_of_the_session(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_SAY("1")}, {.body = A_SAY("2")}};
    struct chela_run_opts mine = CHELA_RUN_OPTS(.sender = "u_owner");
    const struct chela_channel c = CHELA_CHANNEL(.name = "chat", .send = deliver);
    struct stage st;
    open_stage(&st, replies, CH_LEN(replies));
    assert_int_equal(chela_session_channel(st.session, &c, NULL), 0);
    play(&st, NULL);
    play(&st, &mine);
    assert_string_equal(described(&st, 0), "stranger");
    assert_string_equal(described(&st, 1), "owner");
    stage_close(&st);
}

/* What has to be asked about is not made for strangers, though the agent lets
 * everything run. */
static void test_consent(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {{.body = A_USE("c1", "pay", "{}")},
                                                {.body = A_SAY("paid")},
                                                {.body = A_USE("c2", "pay", "{}")},
                                                {.body = A_SAY("not paid")}};
    struct stage st;
    open_stage(&st, replies, CH_LEN(replies));
    stage_tool(&st, "pay", CHELA_TOOL_CONFIRM);
    struct chela_run_opts mine = by("u_owner"), theirs = by("u_x");
    play(&st, &mine);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[1]), "pay:{}"));
    play(&st, &theirs);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[3]), "permission_denied"));
    stage_close(&st);
}

/* Nor because somebody else allowed it always. */
static void keep_id(const struct chela_event *ev, void *user) {
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED)
        snprintf(((struct stage *)user)->approval, 64, "%.*s", (int)ev->approval.approval_id.n,
                 ev->approval.approval_id.p);
}

static void test_always_is_for_who_may(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "pay", "{}")}, {.body = A_SAY("paid")},
        {.body = A_USE("c2", "pay", "{}")}, {.body = A_SAY("paid again")},
        {.body = A_USE("c3", "pay", "{}")}, {.body = A_SAY("not paid")}};
    struct chela_agent_opts asks = CHELA_AGENT_OPTS(
        .approvals = &(struct chela_approval_opts)CHELA_APPROVAL_OPTS(.policies = policies));
    struct stage st;
    STAGE_OPEN(&st, &asks, replies);
    stage_tool(&st, "pay", CHELA_TOOL_CONFIRM);
    struct chela_run_opts mine = by("u_owner"), theirs = by("u_x");
    mine.on_event = keep_id;
    mine.user = &st;
    play(&st, &mine);
    assert_int_equal(
        chela_session_approve(st.session, st.approval, CHELA_ALLOW_ALWAYS, NULL, NULL), 0);
    assert_int_equal(chela_run_resume(st.session, NULL, NULL, NULL), 0);
    settle(&st);
    play(&st, &mine);
    assert_int_equal(chela_session_status(st.session), CHELA_SESSION_IDLE);
    assert_int_equal(st.model.nrequests, 4); /* it was not asked about again */
    play(&st, &theirs);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[5]), "permission_denied"));
    stage_close(&st);
}

/* --- messages that wait ---------------------------------------------------------- */

static int send_by(struct stage *st, const char *sender, const char *text) {
    struct chela_run_opts opts = by(sender);
    return chela_session_send(st->session, text, strlen(text), &opts, NULL);
}

static const struct fake_reply four[] = {
    {.body = A_SAY("1")}, {.body = A_SAY("2")}, {.body = A_SAY("3")}, {.body = A_SAY("4")}};

/* A stranger does not steer the owner's run; another stranger joins theirs. */
static void test_no_steering_across(void **state) {
    (void)state;
    struct stage st;
    open_stage(&st, four, CH_LEN(four));
    const struct chela_queue_opts q = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_STEER);
    assert_int_equal(chela_session_queue(st.session, &q, NULL), 0);
    assert_int_equal(send_by(&st, "u_owner", "mine"), 0);
    assert_int_equal(send_by(&st, "u_x", "delete it all"), 0);
    settle(&st);
    assert_int_equal(st.model.nrequests, 2);
    assert_null(strstr(ch_buf_str(&st.model.requests[0]), "delete it all"));
    assert_int_equal(send_by(&st, "u_x", "one"), 0);
    assert_int_equal(send_by(&st, "u_y", "two"), 0);
    settle(&st);
    assert_string_equal(ch_run_origin_principal(st.session->run)->sender, "u_x");
    assert_non_null(strstr(ch_buf_str(&st.model.requests[2]), "two"));
    stage_close(&st);
}

/* What is collected is one run only for those who have the same bounds. */
static void test_collected(void **state) {
    (void)state;
    struct stage st;
    open_stage(&st, four, CH_LEN(four));
    const struct chela_queue_opts q = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_COLLECT);
    assert_int_equal(chela_session_queue(st.session, &q, NULL), 0);
    assert_int_equal(send_by(&st, "u_x", "a"), 0);
    assert_int_equal(send_by(&st, "u_y", "b"), 0);
    assert_int_equal(send_by(&st, "u_owner", "c"), 0);
    settle(&st);
    assert_int_equal(st.model.nrequests, 2);
    assert_non_null(strstr(ch_buf_str(&st.model.requests[0]), "a\\n\\nb"));
    assert_string_equal(described(&st, 0), "stranger");
    assert_string_equal(described(&st, 1), "owner");
    stage_close(&st);
}

/* --- another life ------------------------------------------------------------------ */

static void reopen(struct stage *st, chela_store *store) {
    assert_int_equal(chela_runtime_store(st->rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(st->session);
    assert_int_equal(chela_session_new(st->agent, "k", &st->session, NULL), 0);
    assert_int_equal(chela_session_wait(st->session, NULL), 0);
}

/* Whoever resumes a run, it has the bounds that it began with. */
static void test_resumed(void **state) {
    (void)state;
    static const struct fake_reply before[] = {{.body = A_USE("c1", "outside", "{}")}};
    static const struct fake_reply after[] = {{.body = A_SAY("ok")}, {.body = A_SAY("ok")}};
    chela_store *store = NULL;
    struct stage st;
    struct chela_run_opts theirs = by("u_x");
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    open_stage(&st, before, CH_LEN(before));
    stage_tool(&st, "outside", CHELA_TOOL_CLIENT);
    reopen(&st, store);
    play(&st, &theirs);
    assert_int_equal(chela_session_status(st.session), CHELA_SESSION_PAUSED);
    stage_close(&st);

    open_stage(&st, after, CH_LEN(after));
    stage_tool(&st, "outside", CHELA_TOOL_CLIENT);
    reopen(&st, store);
    assert_int_equal(chela_session_answer(st.session, "c1", "yes", 3, 0, NULL), 0);
    assert_int_equal(chela_run_resume(st.session, NULL, NULL, NULL), 0);
    settle(&st);
    assert_string_equal(described(&st, 0), "stranger");
    stage_close(&st);
    chela_store_close(store);
}

/* And so has a message that still waited. */
static void test_recalled(void **state) {
    (void)state;
    chela_store *store = NULL;
    struct stage st;
    const struct chela_queue_opts q = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_COLLECT);
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    for (int life = 0; life < 2; life++) {
        open_stage(&st, four, CH_LEN(four));
        reopen(&st, store);
        assert_int_equal(chela_session_queue(st.session, &q, NULL), 0);
        assert_int_equal(send_by(&st, life ? "u_owner" : "u_x", "go"), 0);
        if (life) {
            settle(&st);
            assert_int_equal(st.model.nrequests, 2);
            assert_string_equal(described(&st, 0), "stranger");
            assert_string_equal(described(&st, 1), "owner");
        }
        stage_close(&st);
    }
    chela_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_sender),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_channel_of_the_session),
        cmocka_unit_test(test_consent),
        cmocka_unit_test(test_always_is_for_who_may),
        cmocka_unit_test(test_no_steering_across),
        cmocka_unit_test(test_collected),
        cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_recalled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_heartbeat.c -- turns of a companion that another process goes on with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chela/heartbeat.h"
#include "chela/mailbox.h"
#include "chela/store.h"
#include "support/stage.h"

#define SAY_MORE                \
    A_USE("c1", "send_message", \
          "{\\\"content\\\":\\\"one moment\\\",\\\"request_heartbeat\\\":true}")
#define LOOK A_USE("c2", "stay_silent", "{\\\"request_heartbeat\\\":true}")
#define SILENCE A_USE("c3", "stay_silent", "{}")
#define FAILS {.status = 400, .body = "{\"error\":{\"message\":\"no such model\"}}"}

struct chat {
    struct stage st;
    struct ch_buf log;
    enum chela_event_type dies_at; /* the process dies at this event, */
    unsigned left;                 /* once so many of them came; 0: it does not */
};

static int on_send(chela_call *call, const struct chela_message *m, void *user) {
    (void)m;
    (void)user;
    chela_result_printf(call, "sent");
    return 0;
}

static void on_mail(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    struct chat *c = user;
    ch_buf_add_str(&c->log, "mailed;");
    assert_int_equal(chela_outbox_receipt(rt, m->key, CHELA_RECEIPT_SENT, "", 0, NULL), 0);
}

static void on_turn(const struct chela_event *ev, void *user) {
    struct chat *c = user;
    if (ev->type == CHELA_EV_RUN_END)
        ch_buf_addf(&c->log, "%s%s;", chela_reason_name(ev->end.reason),
                    ev->end.silent ? ", silent" : "");
    if (ev->type == c->dies_at && c->left && --c->left == 0)
        chela_run_leave(c->st.run);
}

static void open_life(struct chat *c, chela_store *store, const struct fake_reply *replies,
                      size_t n) {
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.mode = CHELA_MODE_HEARTBEAT);
    struct chela_channel channel = CHELA_CHANNEL(.name = "wire", .send = on_send);
    *c = (struct chat){0};
    stage_open(&c->st, &opts, replies, n);
    assert_int_equal(chela_runtime_store(c->st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    chela_session_close(c->st.session);
    assert_int_equal(chela_session_new(c->st.agent, "a", &c->st.session, NULL), 0);
    assert_int_equal(chela_session_wait(c->st.session, NULL), 0);
    assert_int_equal(chela_session_channel(c->st.session, &channel, NULL), 0);
    assert_int_equal(chela_outbox_channel(c->st.rt, "wire", on_mail, c, NULL), 0);
}

static void close_life(struct chat *c) {
    for (int i = 0; i < 200; i++) /* what is mailed */
        ch_loop_tick(c->st.rt->loop);
    stage_close(&c->st);
}

static const struct {
    const char *name;
    enum chela_urge_reason reason;
    enum chela_event_type dies_at; /* the first process, */
    unsigned times;                /* at this event for the n-th time */
    struct fake_reply replies[2];  /* to the first process */
    struct fake_reply last;        /* to the second */
    const char *log;               /* of the second */
} cases[] = {
    {"words in the last beat", CHELA_URGE_MENTION, CHELA_EV_TOOL_RESULT, 1, {{.body = SAY_MORE}},
     FAILS, "model_error;"},
    {"words in an earlier beat", CHELA_URGE_MENTION, CHELA_EV_TOOL_RESULT, 2,
     {{.body = SAY_MORE}, {.body = LOOK}}, FAILS, "model_error;"},
    {"words, and then silence", CHELA_URGE_MENTION, CHELA_EV_TOOL_RESULT, 1, {{.body = SAY_MORE}},
     {.body = SILENCE}, "task_completed;"},
    {"no words", CHELA_URGE_MENTION, CHELA_EV_TOOL_RESULT, 1, {{.body = LOOK}},
     {.body = SILENCE}, "task_completed, silent;"},
    {"asked, and no words", CHELA_URGE_MENTION, CHELA_EV_MODEL_REQUEST, 1, {{0}}, FAILS,
     "model_error;mailed;"},
    {"nobody asked", CHELA_URGE_WILLING, CHELA_EV_MODEL_REQUEST, 1, {{0}}, FAILS,
     "model_error;"},
};

/* Who addressed the companion, and whether it spoke, is known to the process that goes on. */
static void test_a_turn_goes_on(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        static const char line[] = "[10:02] Ann: hello";
        struct chela_urge urge = {.reply = true, .reason = cases[i].reason};
        struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_turn, .urge = &urge);
        chela_store *store = NULL;
        struct chat c;
        assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
        open_life(&c, store, cases[i].replies, CH_LEN(cases[i].replies));
        c.dies_at = cases[i].dies_at;
        c.left = cases[i].times;
        opts.user = &c;
        opts.answer_to = "them";
        assert_int_equal(
            chela_run_start(c.st.session, line, sizeof(line) - 1, &opts, &c.st.run, NULL), 0);
        stage_finish(&c.st);
        assert_string_equal(stage_verdict(&c.st), "paused/interrupted");
        close_life(&c);
        ch_buf_release(&c.log);

        open_life(&c, store, &cases[i].last, 1);
        opts = (struct chela_run_opts)CHELA_RUN_OPTS(.on_event = on_turn, .user = &c);
        assert_int_equal(chela_run_resume(c.st.session, &opts, &c.st.run, NULL), 0);
        stage_finish(&c.st);
        close_life(&c);
        if (strcmp(ch_buf_str(&c.log), cases[i].log) != 0)
            fail_msg("%s: %s", cases[i].name, ch_buf_str(&c.log));
        ch_buf_release(&c.log);
        chela_store_close(store);
    }
}

/* --- two actions in one reply, of which the second fails */

#define BOTH                                                                         \
    A_BEGIN A_CALL(0, "c1", "send_message", "{\\\"content\\\":\\\"one moment\\\"}") \
    A_CALL(1, "c2", "react", "{\\\"emoji\\\":\\\"x\\\"}") A_END("tool_use")

static int on_react(chela_call *call, const struct chela_message *m, void *user) {
    (void)m;
    ch_buf_add_str(&((struct chat *)user)->log, "react;");
    return chela_result_error(call, "invalid_arguments", "no such emoji");
}

static int on_both_send(chela_call *call, const struct chela_message *m, void *user) {
    ch_buf_add_str(&((struct chat *)user)->log, "send;");
    return on_send(call, m, user);
}

static void speak_and_react(struct chat *c) {
    struct chela_channel channel =
        CHELA_CHANNEL(.name = "wire", .send = on_both_send, .react = on_react, .user = c);
    assert_int_equal(chela_session_channel(c->st.session, &channel, NULL), 0);
}

/* Plays the turn, in one process or in two; the body of the last request is in `last`. */
static void play_both(enum chela_event_type dies_at, unsigned times, struct ch_buf *log,
                      struct ch_buf *last) {
    static const char line[] = "[10:02] Ann: hello";
    static const struct fake_reply replies[] = {{.body = BOTH}, {.body = SILENCE}};
    struct chela_urge urge = {.reply = true, .reason = CHELA_URGE_MENTION};
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = on_turn, .urge = &urge);
    chela_store *store = NULL;
    struct chat c;

    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    open_life(&c, store, replies, CH_LEN(replies));
    speak_and_react(&c);
    c.dies_at = dies_at;
    c.left = times;
    opts.user = &c;
    assert_int_equal(chela_run_start(c.st.session, line, sizeof(line) - 1, &opts, &c.st.run, NULL),
                     0);
    stage_finish(&c.st);
    if (times) {
        assert_string_equal(stage_verdict(&c.st), "paused/interrupted");
        close_life(&c);
        ch_buf_add_sv(log, ch_buf_sv(&c.log));
        ch_buf_release(&c.log);
        open_life(&c, store, &replies[1], 1);
        speak_and_react(&c);
        opts = (struct chela_run_opts)CHELA_RUN_OPTS(.on_event = on_turn, .user = &c);
        assert_int_equal(chela_run_resume(c.st.session, &opts, &c.st.run, NULL), 0);
        stage_finish(&c.st);
    }
    assert_true(c.st.model.nrequests > 0);
    ch_buf_add_sv(last, ch_buf_sv(&c.st.model.requests[c.st.model.nrequests - 1]));
    close_life(&c);
    ch_buf_add_sv(log, ch_buf_sv(&c.log));
    ch_buf_release(&c.log);
    chela_store_close(store);
}

/* The process that goes on knows of each action whether it was done, and does none twice. */
static void test_outcomes_of_actions_last(void **state) {
    static const struct {
        enum chela_event_type dies_at;
        unsigned times;
    } deaths[] = {
        {CHELA_EV_TOOL_RESULT, 1}, {CHELA_EV_TOOL_RESULT, 2}, {CHELA_EV_MODEL_REQUEST, 2}};
    CH_BUF_AUTO log = {0}, request = {0};

    (void)state;
    play_both(CHELA_EV_RUN_END, 0, &log, &request);
    assert_string_equal(ch_buf_str(&log), "send;react;task_completed;");
    assert_non_null(strstr(ch_buf_str(&request), "no such emoji"));
    for (size_t i = 0; i < CH_LEN(deaths); i++) {
        CH_BUF_AUTO again = {0}, body = {0};
        play_both(deaths[i].dies_at, deaths[i].times, &again, &body);
        if (strcmp(ch_buf_str(&body), ch_buf_str(&request)) != 0)
            fail_msg("death %zu: %s\n---\n%s", i, ch_buf_str(&body), ch_buf_str(&request));
        assert_string_equal(ch_buf_str(&again), "send;react;interrupted;task_completed;");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_turn_goes_on),
        cmocka_unit_test(test_outcomes_of_actions_last),
    };
    return cmocka_run_group_tests_name("heartbeat", tests, NULL, NULL);
}

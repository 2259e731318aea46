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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_turn_goes_on),
    };
    return cmocka_run_group_tests_name("heartbeat", tests, NULL, NULL);
}

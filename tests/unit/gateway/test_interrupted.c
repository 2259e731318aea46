/* test_interrupted.c -- the interrupted run of a chat's session: it is resumed while a client
 * watches the session, and with the mode of approval that it began with. A decision in the chat
 * is acknowledged while the session is being opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/api/runtime.h"
#include "agent/handle/agent.h"
#include "agent/handle/session.h"
#include "gateway/chat/approval_decision.h"
#include "gateway/chat/chat_dispatch.h"
#include "gateway/chat/chat_service.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "gateway/server/gateway.h"
#include "store/store.h"

#define KEY "pigeon:loft"

static struct world {
    chela_store *store;
    chela_runtime *rt;
    chela_agent *agent;
    chela_gateway *gw;
    struct ch_chat_service *chat;
    struct ch_channel *channel;
    char rules[64];    /* file of the scripted model */
    int64_t passed;    /* time, in ms */
    bool quick;        /* the tool `wait` ends */
    struct ch_buf log; /* answers to decisions */
} w;

static int pigeon_open(const struct chela_channel_host *host, const struct chela_channel_opts *o,
                       void **out, struct chela_error *err) {
    (void)host;
    (void)o;
    (void)err;
    *out = NULL;
    return 0;
}

static void pigeon_close(void *c) {
    (void)c;
}

static const struct chela_channel_ops pigeon = {
    .name = "pigeon", .open = pigeon_open, .close = pigeon_close};

static int64_t clock_now(void *user) {
    (void)user;
    return INT64_C(1700000000) * 1000 + w.passed;
}

static const struct ch_clock still = {clock_now, clock_now, NULL};

/* All that can happen without time passing. */
static void settle(void) {
    bool never = false;
    assert_int_equal(ch_loop_run(w.rt->loop, &never), CHELA_ESTATE);
}

static void finish(chela_call *call, void *user) {
    (void)user;
    chela_call_finish(call);
}

static int wait_long(chela_call *call, void *user) {
    (void)user;
    if (w.quick) {
        chela_result_printf(call, "done");
        return 0;
    }
    chela_call_defer(call);
    chela_call_on_cancel(call, finish, NULL);
    return 0;
}

static int act(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "acted");
    return 0;
}

static void add_tool(const char *name, chela_tool_fn *fn, unsigned flags) {
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = name, .description = "A tool.", .schema = "{\"type\":\"object\"}",
                        .fn = fn, .permission = CHELA_PERM_READ, .effect = CHELA_EFFECT_READ,
                        .flags = CHELA_TOOL_ON_LOOP | flags);
    assert_int_equal(chela_agent_add_tool(w.agent, &tool, NULL), 0);
}

static void make_agent(void) {
    static const char text[] = "rules:\n"
                               "  - { when: { after: none }, call: { tool: wait, args: {} } }\n"
                               "  - { when: { after: wait }, call: { tool: act, args: {} } }\n"
                               "  - { say: \"it said: {{result}}\" }\n";
    char model[96];
    snprintf(w.rules, sizeof(w.rules), "/tmp/rulesXXXXXX.yaml");
    int fd = mkstemps(w.rules, 5);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    snprintf(model, sizeof(model), "scripted/%s", w.rules);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = "crab", .model = model, .tools = "");
    assert_int_equal(chela_agent_new(w.rt, &opts, &w.agent, NULL), 0);
    add_tool("wait", wait_long, 0);
    add_tool("act", act, CHELA_TOOL_CONFIRM);
}

static int setup(void **state) {
    (void)state;
    w = (struct world){0};
    assert_int_equal(chela_store_open("memory:", NULL, &w.store, NULL), 0);
    assert_int_equal(ch_runtime_open(NULL, &still, &w.rt, NULL), 0);
    assert_int_equal(chela_runtime_store(w.rt, w.store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    make_agent();
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
        .agents = (chela_agent *const[]){w.agent, NULL}, .store = w.store);
    assert_int_equal(ch_gateway_open_headless(w.rt, &o, &w.gw, NULL), 0);
    w.gw->headless = false; /* but it has no address */
    w.chat = ch_chat_service_new(w.gw, ch_chat_dispatch_event);
    w.chat->agent = ch_strdup("");
    struct chela_channel_opts opts = CHELA_CHANNEL_OPTS(.name = "pigeon");
    assert_int_equal(ch_channel_open(&pigeon, &(struct ch_channel_gateway){.rt = w.rt}, &opts,
                                     &w.channel, NULL), 0);
    w.chat->channel = w.channel;
    ch_list_add(&w.gw->chats, &w.chat->link);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    w.gw->headless = true;
    chela_gateway_close(w.gw);
    chela_agent_close(w.agent);
    chela_runtime_close(w.rt);
    chela_store_close(w.store);
    ch_buf_release(&w.log);
    unlink(w.rules);
    return 0;
}

static struct ch_lane *use_lane(void) {
    struct ch_lane_opts o = {.agent = w.agent, .key = KEY};
    struct ch_lane *l = NULL;
    assert_int_equal(ch_lane_use(w.gw, &o, &l, NULL), 0);
    settle();
    assert_true(l->ready);
    return l;
}

/* A lane whose run was interrupted in the tool `wait`, which ends at once from now on. */
static struct ch_lane *interrupt(enum chela_approve approve) {
    struct chela_run_opts opts = CHELA_RUN_OPTS(.approve = approve);
    struct ch_block text = {.type = CH_BLOCK_TEXT, .text = CH_SV("begin")};
    struct ch_lane *l = use_lane();
    assert_int_equal(ch_lane_begin(l, ch_msg_new(CH_MSG_USER, &text, 1, 1), &opts, NULL), 0);
    settle();
    assert_true(l->running);
    ch_lane_close(l);
    settle();
    w.quick = true;
    l = use_lane();
    assert_true(ch_lane_was_interrupted(l));
    return l;
}

static void on_event(struct ch_lane_watcher *watcher, const struct chela_event *ev) {
    (void)watcher;
    (void)ev;
}

static void test_watched_chat(void **state) {
    struct ch_lane_watcher watcher = {.event = on_event};
    (void)state;
    struct ch_lane *l = interrupt(CHELA_APPROVE_DENY);
    ch_lane_watch(l, &watcher);
    l->session->inherited = true; /* as if another process had left it */
    for (int i = 0; i < 10; i++) {
        w.passed += 2000;
        settle();
    }
    l = ch_lane_find(w.gw, CH_SV(KEY));
    assert_non_null(l);
    assert_int_equal(chela_session_status(l->session), CHELA_SESSION_IDLE);
    ch_lane_unwatch(&watcher);
}

/* A run that may not ask does not ask when it is resumed. */
static void test_mode_of_approval(void **state) {
    static const struct {
        enum chela_approve began;
        enum chela_session_status then;
    } cases[] = {{CHELA_APPROVE_ASK, CHELA_SESSION_PAUSED},
                 {CHELA_APPROVE_AUTO, CHELA_SESSION_PAUSED},
                 {CHELA_APPROVE_DENY, CHELA_SESSION_IDLE}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        w.quick = false;
        struct ch_lane *l = interrupt(cases[i].began);
        assert_int_equal(ch_lane_resume(l, CHELA_APPROVE_ASK, NULL), 0);
        settle();
        assert_int_equal(chela_session_status(l->session), cases[i].then);
        ch_lane_close(l);
        settle();
        assert_int_equal(chela_store_delete(w.store, KEY, NULL), 0);
    }
}

static void on_decided(struct chela_text answer, void *tag) {
    (void)tag;
    ch_buf_add(&w.log, answer.p, answer.n);
}

/* The store has the decision: the person need not wait until the session is open. */
static void test_press_while_opening(void **state) {
    struct chela_channel_decision d = {
        .session = KEY, .approval = "a1", .word = "deny", .by = "ann"};
    (void)state;
    struct ch_lane *l = use_lane();
    l->ready = false;
    ch_approval_decision_apply_in_words(w.chat, &d, NULL, CHELA_LANGUAGE_EN, on_decided, NULL);
    settle();
    assert_int_equal(w.log.n, 0); /* the session may say soon that no such call waits */
    w.passed += 1500;
    settle();
    assert_string_equal(ch_buf_str(&w.log), "Denied: a1");
    l->ready = true;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_watched_chat, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mode_of_approval, setup, teardown),
        cmocka_unit_test_setup_teardown(test_press_while_opening, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

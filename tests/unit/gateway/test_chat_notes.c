/* test_chat_notes.c -- notes of a channel: who is reminded of which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/api/runtime.h"
#include "agent/handle/agent.h"
#include "agent/journal/journal.h"
#include "gateway/chat/chat_dispatch.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_notes.h"
#include "gateway/chat/chat_overrides.h"
#include "gateway/chat/chat_recovery.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"
#include "gateway/server/gateway.h"
#include "store/store.h"

static struct world {
    chela_store *store;
    chela_runtime *rt;
    chela_gateway *gw;
    struct ch_chat_service *chat;
    struct ch_channel *channel;
    struct ch_buf log; /* "id=data;" for a note, "." for all of them */
    int64_t passed;    /* time, in ms */
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

static void pigeon_remind(void *c, const char *id, struct chela_text data) {
    (void)c;
    ch_buf_addf(&w.log, "%s=%.*s;", id, (int)data.n, data.p);
}

static void pigeon_reminded(void *c) {
    (void)c;
    ch_buf_add_str(&w.log, ".");
}

static const struct chela_channel_ops pigeon = {.name = "pigeon",
                                                .open = pigeon_open,
                                                .close = pigeon_close,
                                                .remind = pigeon_remind,
                                                .reminded = pigeon_reminded};

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

static int setup(void **state) {
    struct chela_error err = {0};
    struct chela_agent_opts a = CHELA_AGENT_OPTS(.id = "crab", .model = "scripted/demo");
    chela_agent *agent;
    (void)state;
    w = (struct world){0};
    assert_int_equal(chela_store_open("memory:", NULL, &w.store, &err), 0);
    assert_int_equal(ch_runtime_open(NULL, &still, &w.rt, &err), 0);
    assert_int_equal(chela_runtime_store(w.rt, w.store, CHELA_DURABILITY_DEFAULT, &err), 0);
    if (chela_agent_new(w.rt, &a, &agent, &err) < 0)
        fail_msg("%s", err.message);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
        .agents = (chela_agent *const[]){agent, NULL}, .store = w.store);
    assert_int_equal(ch_gateway_open_headless(w.rt, &o, &w.gw, &err), 0);
    w.chat = ch_chat_service_new(w.gw, ch_chat_dispatch_event);
    w.chat->agent = ch_strdup("");
    struct chela_channel_opts opts = CHELA_CHANNEL_OPTS(.name = "pigeon");
    assert_int_equal(
        ch_channel_open(&pigeon, &(struct ch_channel_gateway){.rt = w.rt}, &opts, &w.channel, &err),
        0);
    w.chat->channel = w.channel;
    ch_list_add(&w.gw->chats, &w.chat->link);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    chela_gateway_close(w.gw);
    chela_runtime_close(w.rt);
    chela_store_close(w.store);
    ch_buf_release(&w.log);
    return 0;
}

static void expect(const char *log) {
    assert_string_equal(ch_buf_str(&w.log), log);
    ch_buf_clear(&w.log);
}

static void note(const char *id, struct ch_sv data) {
    ch_chat_notes_put(id, data, NULL, NULL, w.chat);
}

static void test_all_of_them(void **state) {
    (void)state;
    note("m1", CH_SV("one"));
    settle();
    ch_chat_recovery_start(w.gw);
    settle();
    expect("m1=one;.");
    note("m1", ch_sv(NULL, 0));
    settle();
    ch_chat_recovery_start(w.gw);
    settle();
    expect(".");
}

/* What was read before a note was forgotten is old. */
static void test_forgotten_meanwhile(void **state) {
    (void)state;
    note("m1", CH_SV("one"));
    settle();
    ch_chat_notes_begin_read(w.chat);
    note("m1", ch_sv(NULL, 0));
    ch_chat_notes_pass_on(w.chat, "pigeon:m1", CH_SV("one"));
    ch_chat_notes_pass_on(w.chat, "pigeon:m2", CH_SV("two"));
    expect("m2=two;");
    ch_chat_notes_begin_read(w.chat); /* the store may not have been told yet */
    ch_chat_notes_pass_on(w.chat, "pigeon:m1", CH_SV("one"));
    settle();
    ch_chat_notes_pass_on(w.chat, "pigeon:m1", CH_SV("one"));
    expect("");
    ch_chat_notes_begin_read(w.chat); /* another process has one of this name */
    ch_chat_notes_pass_on(w.chat, "pigeon:m1", CH_SV("other"));
    expect("m1=other;");
}

/* The gateway goes while the store is being told. */
static void test_closed_meanwhile(void **state) {
    (void)state;
    note("m1", CH_SV("one"));
    note("m1", ch_sv(NULL, 0));
    note("m2", CH_SV("two"));
}

/* The store has no answer yet for a choice, and a read that began later has ended. */
static void test_chosen_before_a_read(void **state) {
    struct ch_agent_override chosen = {0};
    (void)state;
    struct ch_chat_event *e = ch_chat_event_new(w.chat);
    e->in.session = "pigeon:loft";
    ch_chat_overrides_reasoning_command(e, CH_SV("high"));
    w.passed = 10;
    ch_chat_overrides_begin_read(w.chat);
    ch_chat_overrides_restore(w.chat, "pigeon:loft", CH_SV("{\"reasoning\":\"low\"}"));
    ch_chat_overrides_end_read(w.chat);
    ch_chat_overrides_begin_read(w.chat); /* without this choice */
    ch_chat_overrides_end_read(w.chat);
    ch_chat_overrides_apply(w.chat, "pigeon:loft", &chosen);
    assert_int_equal(chosen.reasoning, CHELA_REASONING_HIGH);
}

/* --- two choices at once */

static const struct ch_journal_ops *journal_ops; /* the ops of the store */
typedef void answer_fn(int rc, const struct chela_error *err, void *user);
static struct held_change {
    answer_fn *done;
    void *user;
} held[2];
static size_t nheld;

/* Holds the answers to the changes of overrides. */
static void hold_change(struct ch_journal *j, const struct chela_store_change *c,
                        enum ch_sync sync, answer_fn *done, void *user) {
    if (ch_chat_overrides_session_of_note(c->id))
        held[nheld++] = (struct held_change){done, user};
    else
        journal_ops->change(j, c, sync, done, user);
}

static struct ch_chat_event *command(const char *id) {
    struct ch_chat_event *e = ch_chat_event_new(w.chat);
    e->in.id = id;
    e->in.session = "pigeon:loft";
    e->in.to = "loft";
    return e;
}

/* The store has answered the first choice, but not the second. */
static void test_two_choices(void **state) {
    struct ch_agent_override chosen = {0};
    (void)state;
    journal_ops = w.rt->journal->ops;
    struct ch_journal_ops ops = *journal_ops;
    ops.change = hold_change;
    w.rt->journal->ops = &ops;
    nheld = 0;
    ch_chat_overrides_model_command(command("pigeon:1"), CH_SV("scripted/demo"));
    ch_chat_overrides_reasoning_command(command("pigeon:2"), CH_SV("high"));
    assert_int_equal(nheld, 2);
    held[0].done(0, NULL, held[0].user);
    w.passed = 10;
    ch_chat_overrides_begin_read(w.chat);
    ch_chat_overrides_restore(w.chat, "pigeon:loft",
                              CH_SV("{\"model\":\"scripted/demo\",\"reasoning\":\"default\"}"));
    ch_chat_overrides_end_read(w.chat);
    ch_chat_overrides_apply(w.chat, "pigeon:loft", &chosen);
    assert_int_equal(chosen.reasoning, CHELA_REASONING_HIGH);
    held[1].done(0, NULL, held[1].user);
    w.passed = 20; /* from now on the store knows better */
    ch_chat_overrides_begin_read(w.chat);
    ch_chat_overrides_restore(w.chat, "pigeon:loft", CH_SV("{\"reasoning\":\"low\"}"));
    ch_chat_overrides_apply(w.chat, "pigeon:loft", &chosen);
    assert_int_equal(chosen.reasoning, CHELA_REASONING_LOW);
    w.rt->journal->ops = journal_ops;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_of_them, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forgotten_meanwhile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_closed_meanwhile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_chosen_before_a_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_choices, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

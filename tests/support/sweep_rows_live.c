/* sweep_rows_live.c -- functions that work on a runtime, an agent, a session, a run or a
 * call: those that can destroy an object that the calling code still uses. */
#include <string.h>

#include "support/sweep.h"

/* --- runtime ------------------------------------------------------------------- */

static void do_runtime_new(struct sweep *cx) {
    chela_runtime *rt = NULL;
    (void)cx;
    SWEEP_EXPECT(chela_runtime_new(NULL, &rt, NULL) == 0);
    chela_runtime_close(rt);
}

/* A callback cannot close its runtime: nothing happens. */
static void do_runtime_close(struct sweep *cx) {
    chela_runtime_close(cx->rt);
}

/* If no run is in progress any more, there is nothing to do. */
static void do_runtime_run(struct sweep *cx) {
    int rc = chela_runtime_run(cx->rt);
    SWEEP_EXPECT(cx->mode->hosted ? rc == CHELA_ESTATE : rc == 0 || rc == CHELA_EBUSY);
}

static void do_runtime_poll(struct sweep *cx) {
    chela_runtime_poll(cx->rt);
}

static void do_runtime_provider(struct sweep *cx) {
    struct chela_provider_opts opts =
        CHELA_PROVIDER_OPTS(.name = "mine", .api = "openai", .base_url = "http://127.0.0.1:9/v1");
    SWEEP_EXPECT(chela_runtime_provider(cx->rt, &opts, NULL) == 0);
}

static void do_runtime_price(struct sweep *cx) {
    struct chela_price price = CHELA_PRICE(.input = 1, .output = 2);
    SWEEP_EXPECT(chela_runtime_price(cx->rt, "scripted", "demo", &price, NULL) == 0);
}

static void do_runtime_context_window(struct sweep *cx) {
    SWEEP_EXPECT(chela_runtime_context_window(cx->rt, "scripted", "demo", 9000, NULL) == 0);
}

static void do_runtime_model_quirks(struct sweep *cx) {
    SWEEP_EXPECT(chela_runtime_model_quirks(cx->rt, "scripted", "demo", "reasons", NULL) == 0);
}

static void do_agent_context_window(struct sweep *cx) {
    SWEEP_EXPECT(chela_agent_context_window(cx->agent) >= 0);
}

static void do_runtime_skills(struct sweep *cx) {
    SWEEP_EXPECT(chela_runtime_skills(cx->rt, "/nonexistent/skills", NULL) == 0);
}

static void do_default_model(struct sweep *cx) {
    SWEEP_EXPECT(chela_default_model(cx->rt, NULL) != NULL);
}

/* A session that was opened without a store stays without one. */
static void do_runtime_store(struct sweep *cx) {
    chela_store *store = NULL;
    SWEEP_EXPECT(chela_store_open("memory:", NULL, &store, NULL) == 0);
    int rc = chela_runtime_store(cx->rt, store, CHELA_DURABILITY_DEFAULT, NULL);
    SWEEP_EXPECT(rc == CHELA_EEXIST || (rc == 0 && !cx->store));
    chela_store_close(store);
}

/* --- agent ---------------------------------------------------------------------- */

static int answers(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "an answer");
    return 0;
}

static void do_agent_new(struct sweep *cx) {
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = "another", .model = "scripted/demo");
    chela_agent *agent = NULL;
    int rc = chela_agent_new(cx->rt, &opts, &agent, NULL);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EEXIST);
}

static void do_agent_delegate(struct sweep *cx) {
    struct chela_delegate_opts opts = CHELA_DELEGATE_OPTS(.name = "clerk");
    int rc = chela_agent_delegate(cx->agent, cx->other, &opts, NULL);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EEXIST);
}

static void do_agent_handoff(struct sweep *cx) {
    int rc = chela_agent_handoff(cx->agent, cx->other, NULL);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EEXIST);
}

static void do_agent_tool(struct sweep *cx) {
    int rc = chela_agent_tool(cx->agent, "more", "More.", NULL, answers, NULL);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EEXIST);
}

static void do_agent_add_tool(struct sweep *cx) {
    struct chela_tool_opts opts =
        CHELA_TOOL_OPTS(.name = "more", .description = "More.", .fn = answers);
    int rc = chela_agent_add_tool(cx->agent, &opts, NULL);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EEXIST);
    rc = chela_agent_add_tool(cx->other, &opts, NULL);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EEXIST);
}

static void do_agent_add_command(struct sweep *cx) {
    static const char *const argv[] = {"true", NULL};
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(.name = "more", .description = "More.");
    struct chela_command_opts opts = CHELA_COMMAND_OPTS(.tool = &tool, .argv = argv);
    int rc = chela_agent_add_command(cx->agent, &opts, NULL);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EEXIST);
}

static void do_agent_remove_tool(struct sweep *cx) {
    static const char *const names[] = {"stamp", "later", "threaded", "other", "handoff"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        chela_agent_remove_tool(cx->agent, names[i], NULL);
        chela_agent_remove_tool(cx->other, names[i], NULL);
    }
}

static void do_agent_policy(struct sweep *cx) {
    SWEEP_EXPECT(chela_agent_policy(cx->agent, "", "stamp", CHELA_PERM_READ, NULL) == 0);
    SWEEP_EXPECT(chela_agent_policy(cx->other, "", "stamp", CHELA_PERM_READ, NULL) == 0);
}

static void do_agent_hooks(struct sweep *cx) {
    struct chela_hooks none = CHELA_HOOKS(.user = NULL);
    SWEEP_EXPECT(chela_agent_hooks(cx->agent, &none, NULL) == 0);
    SWEEP_EXPECT(chela_agent_hooks(cx->other, &none, NULL) == 0);
}

static void do_agent_tools_json(struct sweep *cx) {
    chela_free(chela_agent_tools_json(cx->agent));
}

static void do_agent_tools_for_json(struct sweep *cx) {
    chela_free(chela_agent_tools_for_json(cx->agent, "feishu", "ou_1"));
}

static void do_agent_policies_json(struct sweep *cx) {
    chela_free(chela_agent_policies_json(cx->agent, "feishu", "ou_1"));
}

static void do_agent_memo(struct sweep *cx) {
    SWEEP_EXPECT(chela_agent_memo(cx->agent, "{\"a\":1}", NULL) == 0);
    SWEEP_EXPECT(chela_agent_memo(cx->agent, "[]", NULL) == CHELA_EINVAL);
    SWEEP_EXPECT(chela_agent_memo(cx->agent, NULL, NULL) == 0);
}

static void do_agent_rules_json(struct sweep *cx) {
    chela_free(chela_agent_rules_json(cx->agent));
}

static void do_agent_skills_json(struct sweep *cx) {
    chela_free(chela_agent_skills_json(cx->agent));
}

static void do_agent_expand(struct sweep *cx) {
    chela_free(chela_agent_expand(cx->agent, "hello", 5, NULL));
}

static void do_agent_call_tool(struct sweep *cx) {
    struct chela_error err = {0};
    char *out = chela_agent_call_tool(cx->agent, "stamp", "{\"n\":1}", &err);
    SWEEP_EXPECT(!out);
    SWEEP_REFUSED(err.code);
    chela_free(out);
}

static void do_ask(struct sweep *cx) {
    struct chela_error err = {0};
    char *out = chela_ask(cx->agent, "what now?", &err);
    SWEEP_EXPECT(!out);
    SWEEP_REFUSED(err.code);
    chela_free(out);
}

/* --- session ----------------------------------------------------------------------- */

static void do_session_new(struct sweep *cx) {
    chela_session *s = NULL;
    SWEEP_EXPECT(chela_session_new(cx->agent, NULL, &s, NULL) == 0);
}

static void do_session_close(struct sweep *cx) {
    cx->closed = true;
    chela_session_close(cx->session);
    cx->session = NULL;
}

/* The key is free again, and the session is read from its store. */
static void reopen(struct sweep *cx) {
    char key[64];
    strncpy(key, chela_session_key(cx->session), sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    do_session_close(cx);
    int rc = chela_session_new(cx->agent, key, &cx->session, NULL);
    SWEEP_EXPECT(rc == 0);
    if (rc < 0)
        cx->session = NULL;
}

static void close_other(struct sweep *cx) {
    chela_session *s = NULL;
    SWEEP_EXPECT(chela_session_new(cx->other, NULL, &s, NULL) == 0);
    SWEEP_EXPECT(chela_run_start(s, "hello", 5, sweep_run_opts(cx), NULL, NULL) == 0);
    chela_session_close(s);
}

static void do_agent_close(struct sweep *cx) {
    chela_session *s = NULL;
    chela_agent_close(cx->agent);
    SWEEP_EXPECT(chela_session_new(cx->agent, NULL, &s, NULL) == CHELA_ESTATE);
}

static void close_other_agent(struct sweep *cx) {
    chela_agent_close(cx->other);
}

static void close_all(struct sweep *cx) {
    chela_agent_close(cx->agent);
    chela_agent_close(cx->other);
    do_session_close(cx);
}

static void do_agent_last_error(struct sweep *cx) {
    SWEEP_EXPECT(chela_agent_last_error(cx->agent) != NULL);
}

static void was_ready(chela_session *s, const struct chela_error *err, void *user) {
    (void)s;
    (void)err;
    (void)user;
}

static void do_session_on_ready(struct sweep *cx) {
    chela_session_on_ready(cx->session, was_ready, NULL);
}

static void do_session_wait(struct sweep *cx) {
    struct chela_error err = {0};
    int rc = chela_session_wait(cx->session, &err);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EBUSY || rc == CHELA_ESTATE);
    chela_session *s = NULL;
    SWEEP_EXPECT(chela_session_new(cx->agent, NULL, &s, NULL) == 0);
    rc = chela_session_wait(s, &err);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EBUSY || rc == CHELA_ESTATE);
}

static void do_session_status(struct sweep *cx) {
    SWEEP_EXPECT(chela_session_status(cx->session) <= CHELA_SESSION_PARKED);
}

static void do_session_key(struct sweep *cx) {
    SWEEP_EXPECT(chela_session_key(cx->session) != NULL);
}

static void do_session_last_text(struct sweep *cx) {
    chela_free(chela_session_last_text(cx->session));
}

static void do_session_messages_json(struct sweep *cx) {
    chela_free(chela_session_messages_json(cx->session));
    chela_free(chela_session_recent_json(cx->session, 1));
}

static void do_session_compact(struct sweep *cx) {
    struct chela_error err = {0};
    chela_run *run = NULL;
    if (chela_session_compact(cx->session, NULL, sweep_run_opts(cx), &run, &err) == 0)
        chela_run_free(run);
}

static void compact_without_handle(struct sweep *cx) {
    chela_session_compact(cx->session, "prices", NULL, NULL, NULL);
}

static void woken(chela_session *s, void *user) {
    (void)s;
    (void)user;
}

static void do_session_on_wake(struct sweep *cx) {
    chela_session_on_wake(cx->session, woken, NULL);
}

static void queue(struct sweep *cx, enum chela_queue_mode mode) {
    struct chela_queue_opts opts = CHELA_QUEUE_OPTS(.mode = mode, .debounce_ms = 1);
    chela_session_queue(cx->session, &opts, NULL);
}

static void do_session_queue(struct sweep *cx) {
    queue(cx, CHELA_QUEUE_COLLECT);
}

static void do_session_send(struct sweep *cx) {
    chela_session_send(cx->session, "one more thing", 14, sweep_run_opts(cx), NULL);
}

static void send_follow_up(struct sweep *cx) {
    queue(cx, CHELA_QUEUE_FOLLOW_UP);
    do_session_send(cx);
}

static void send_collect(struct sweep *cx) {
    queue(cx, CHELA_QUEUE_COLLECT);
    do_session_send(cx);
}

static void send_interrupt(struct sweep *cx) {
    queue(cx, CHELA_QUEUE_INTERRUPT);
    do_session_send(cx);
}

static void decide(struct sweep *cx, enum chela_decision decision, const char *reason) {
    SWEEP_EXPECT(chela_session_approve(cx->session, "ap_x", decision, reason, NULL) ==
                 CHELA_ENOENT);
    for (unsigned i = 0; i < cx->napprovals; i++)
        chela_session_approve(cx->session, cx->approvals[i], decision, reason, NULL);
}

static void do_session_approve(struct sweep *cx) {
    decide(cx, CHELA_ALLOW_ONCE, NULL);
}

static void deny(struct sweep *cx) {
    decide(cx, CHELA_DENY, "not today");
}

static void edit(struct sweep *cx) {
    decide(cx, CHELA_EDIT, "{\"n\":7}");
}

static void take_over_approval(struct sweep *cx) {
    decide(cx, CHELA_TAKE_OVER, "leave it to me");
}

static void do_session_answer(struct sweep *cx) {
    SWEEP_EXPECT(chela_session_answer(cx->session, "call_x", "yes", 3, 0, NULL) == CHELA_ENOENT);
    for (unsigned i = 0; i < cx->ncalls; i++)
        chela_session_answer(cx->session, cx->calls[i], "yes", 3, 0, NULL);
}

static int send_message(chela_call *call, const struct chela_message *m, void *user) {
    (void)m;
    (void)user;
    chela_result_printf(call, "sent");
    return 0;
}

static void do_session_channel(struct sweep *cx) {
    struct chela_channel channel = CHELA_CHANNEL(.name = "page", .send = send_message);
    int rc = chela_session_channel(cx->session, &channel, NULL);
    SWEEP_EXPECT(rc == 0 || rc == CHELA_EBUSY);
}

/* --- run -------------------------------------------------------------------------------- */

static void start(struct sweep *cx, chela_session *s, bool handle) {
    struct chela_error err = {0};
    chela_run *run = NULL;
    if (chela_run_start(s, "go on", 5, sweep_run_opts(cx), handle ? &run : NULL, &err) == 0)
        chela_run_free(run);
}

static void do_run_start(struct sweep *cx) {
    start(cx, cx->session, true);
}

static void start_without_handle(struct sweep *cx) {
    start(cx, cx->session, false);
}

static void start_elsewhere(struct sweep *cx) {
    chela_session *s = NULL;
    SWEEP_EXPECT(chela_session_new(cx->other, NULL, &s, NULL) == 0);
    start(cx, s, false);
}

static void do_session_on_task(struct sweep *cx) {
    chela_session_on_task(cx->session, NULL, NULL);
}

static void do_session_tasks(struct sweep *cx) {
    char *json = chela_session_tasks_json(cx->session);
    SWEEP_EXPECT(json && json[0] == '[');
    chela_free(json);
    SWEEP_EXPECT(!chela_session_task_text(cx->session, "none", NULL));
    SWEEP_EXPECT(chela_session_task_cancel(cx->session, "none", NULL) == CHELA_ENOENT);
}

static void do_run_wake(struct sweep *cx) {
    struct chela_error err = {0};
    chela_run *run = NULL;
    if (chela_run_wake(cx->session, sweep_run_opts(cx), &run, &err) == 0)
        chela_run_free(run);
}

static void do_run_steer(struct sweep *cx) {
    chela_run_steer(sweep_run(cx), "look there", 10);
}

static void do_run_follow_up(struct sweep *cx) {
    chela_run_follow_up(sweep_run(cx), "then this", 9);
}

static void do_cancel(struct sweep *cx) {
    chela_cancel(sweep_run(cx), "enough");
}

static void cancel_run(struct sweep *cx) {
    chela_cancel(cx->run, "enough");
}

static void do_run_leave(struct sweep *cx) {
    chela_run_leave(sweep_run(cx));
}

static void leave_run(struct sweep *cx) {
    chela_run_leave(cx->run);
}

static void do_run_free(struct sweep *cx) {
    chela_run_free(cx->run);
    cx->run = NULL;
}

static void free_and_cancel(struct sweep *cx) {
    chela_cancel(cx->run, NULL);
    do_run_free(cx);
}

static void free_and_close(struct sweep *cx) {
    do_run_free(cx);
    do_session_close(cx);
}

static void do_run_take_over(struct sweep *cx) {
    chela_run_take_over(sweep_run(cx), "leave it to me", 14);
}

static void take_over_run(struct sweep *cx) {
    chela_run_take_over(cx->run, "leave it to me", 14);
}

static void do_run_resume(struct sweep *cx) {
    struct chela_error err = {0};
    chela_run *run = NULL;
    decide(cx, CHELA_ALLOW_ONCE, NULL);
    do_session_answer(cx);
    if (chela_run_resume(cx->session, sweep_run_opts(cx), &run, &err) == 0)
        chela_run_free(run);
}

static void resume_without_handle(struct sweep *cx) {
    decide(cx, CHELA_ALLOW_ONCE, NULL);
    do_session_answer(cx);
    chela_run_resume(cx->session, NULL, NULL, NULL);
}

/* Waiting for a run that has ended returns at once. */
static void do_run_wait(struct sweep *cx) {
    bool over = chela_run_status(cx->run) != CHELA_STATUS_RUNNING;
    int rc = chela_run_wait(cx->run);
    SWEEP_EXPECT(rc == CHELA_EBUSY || rc == CHELA_ESTATE || (over && rc == 0));
}

static void do_run_status(struct sweep *cx) {
    chela_run_status(sweep_run(cx));
}

static void do_run_reason(struct sweep *cx) {
    chela_run_reason(sweep_run(cx));
}

static void do_run_text(struct sweep *cx) {
    chela_run_text(sweep_run(cx));
}

static void do_run_error(struct sweep *cx) {
    chela_run_error(sweep_run(cx));
}

static void do_event_json(struct sweep *cx) {
    char *json = chela_event_json(cx->event);
    SWEEP_EXPECT(json != NULL);
    chela_free(json);
}

/* --- call --------------------------------------------------------------------------------- */

static void do_call_id(struct sweep *cx) {
    SWEEP_EXPECT(chela_call_id(cx->call) != NULL);
}

static void do_call_name(struct sweep *cx) {
    SWEEP_EXPECT(chela_call_name(cx->call) != NULL);
}

static void do_call_arguments(struct sweep *cx) {
    SWEEP_EXPECT(chela_call_arguments(cx->call) != NULL);
}

static void do_call_key(struct sweep *cx) {
    SWEEP_EXPECT(chela_call_key(cx->call) != NULL);
}

static void do_call_workspace(struct sweep *cx) {
    SWEEP_EXPECT(chela_call_workspace(cx->call) != NULL);
}

static void do_call_cancelled(struct sweep *cx) {
    (void)chela_call_cancelled(cx->call);
}

static void do_call_progress(struct sweep *cx) {
    chela_call_progress(cx->call, "still at work");
}

static void do_call_uses(struct sweep *cx) {
    chela_call_uses(cx->call, "files/src", CHELA_USE_ALONE);
}

static void cancelled(chela_call *call, void *user) {
    (void)user;
    chela_call_finish(call);
}

/* Only the call that the tool `later` left open can be finished. */
static void do_call_finish(struct sweep *cx) {
    chela_call *call = atomic_exchange(&cx->owner->open_call, NULL);
    if (!call)
        return;
    chela_result_printf(call, "now");
    chela_call_finish(call);
}

static void do_call_on_cancel(struct sweep *cx) {
    if (cx->call == atomic_load(&cx->owner->open_call) && !cx->on_thread)
        chela_call_on_cancel(cx->call, NULL, NULL);
}

/* Defers and finishes a call at once. */
static void do_call_defer(struct sweep *cx) {
    if (!cx->can_defer)
        return;
    chela_call_defer(cx->call);
    chela_call_on_cancel(cx->call, cancelled, NULL);
    chela_call_on_cancel(cx->call, NULL, NULL);
    chela_call_finish(cx->call);
}

static void do_result_text(struct sweep *cx) {
    chela_result_text(cx->call, "more", 4);
}

static void do_result_printf(struct sweep *cx) {
    chela_result_printf(cx->call, "%d", 42);
}

static void do_result_media(struct sweep *cx) {
    chela_result_media(cx->call, "image/png", "\x89PNG\r\n\x1a\n", 8);
}

static void do_result_details(struct sweep *cx) {
    chela_result_details(cx->call, "{\"a\":1}");
}

static void do_result_error(struct sweep *cx) {
    SWEEP_EXPECT(chela_result_error(cx->call, "unavailable", "not now") == 0);
}

static void do_result_retry_after(struct sweep *cx) {
    chela_result_error(cx->call, "rate_limited", "not now");
    chela_result_retry_after(cx->call, 1);
}

static void do_result_no_effect(struct sweep *cx) {
    chela_result_no_effect(cx->call);
}

static void do_arg_int(struct sweep *cx) {
    int64_t n;
    chela_arg_int(cx->call, "n", &n);
    chela_arg_int(cx->call, "missing", &n);
}

static void do_arg_double(struct sweep *cx) {
    double n;
    chela_arg_double(cx->call, "n", &n);
    chela_arg_double(cx->call, "missing", &n);
}

static void do_arg_bool(struct sweep *cx) {
    bool b;
    chela_arg_bool(cx->call, "n", &b);
}

static void do_arg_string(struct sweep *cx) {
    const char *s;
    chela_arg_string(cx->call, "n", &s);
}

static void do_arg_int_opt(struct sweep *cx) {
    int64_t n = 0;
    chela_arg_int_opt(cx->call, "n", &n);
}

static void do_arg_double_opt(struct sweep *cx) {
    double n = 0;
    chela_arg_double_opt(cx->call, "n", &n);
}

static void do_arg_bool_opt(struct sweep *cx) {
    bool b = false;
    chela_arg_bool_opt(cx->call, "missing", &b);
}

static void do_arg_string_opt(struct sweep *cx) {
    const char *s = NULL;
    chela_arg_string_opt(cx->call, "missing", &s);
}

static void do_arg_json(struct sweep *cx) {
    chela_arg_json(cx->call, "n");
    chela_arg_json(cx->call, "missing");
}

/* --- mailbox -------------------------------------------------------------------------------- */

static void accepted(int rc, const struct chela_error *err, void *user) {
    (void)rc;
    (void)err;
    (void)user;
}

static void do_inbox_accept(struct sweep *cx) {
    struct chela_inbox_event event =
        CHELA_INBOX_EVENT(.id = "page:1", .session = "s0", .data = "{}", .n = 2);
    SWEEP_EXPECT(chela_inbox_accept(cx->rt, &event, accepted, NULL, NULL) ==
                 (cx->store ? 0 : CHELA_ESTATE));
}

static void do_inbox_settle(struct sweep *cx) {
    chela_inbox_settle(cx->rt, "page:1", NULL);
}

static void send_out(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    (void)user;
    chela_outbox_receipt(rt, m->key, CHELA_RECEIPT_SENT, NULL, 0, NULL);
}

static void do_outbox_channel(struct sweep *cx) {
    chela_outbox_channel(cx->rt, "page", send_out, NULL, NULL);
}

static void do_outbox_put(struct sweep *cx) {
    struct chela_outbound m = CHELA_OUTBOUND(.key = "k1", .session = "s0", .channel = "page",
                                             .text = "hello");
    do_outbox_channel(cx);
    int rc = chela_outbox_put(cx->rt, &m, accepted, NULL, NULL);
    SWEEP_EXPECT(rc == CHELA_ESTATE || (cx->store && (rc == 0 || rc == CHELA_EEXIST)));
}

static void do_outbox_receipt(struct sweep *cx) {
    SWEEP_EXPECT(chela_outbox_receipt(cx->rt, "k9", CHELA_RECEIPT_SENT, NULL, 0, NULL) < 0);
}

/* The receipt arrives before the sending function has returned. */
static void receive(struct sweep *cx, enum chela_receipt what) {
    if (cx->outbound)
        SWEEP_EXPECT(chela_outbox_receipt(cx->rt, cx->outbound->key, what, "m2", 1, NULL) == 0);
}

static void receive_sent(struct sweep *cx) {
    receive(cx, CHELA_RECEIPT_SENT);
}

static void receive_uncertain(struct sweep *cx) {
    receive(cx, CHELA_RECEIPT_UNCERTAIN);
}

static void receive_refused(struct sweep *cx) {
    receive(cx, CHELA_RECEIPT_REFUSED);
}

static void do_outbox_recall(struct sweep *cx) {
    struct chela_store_item item = {.id = "k2", .key = "s0", .state = "intent",
                                    .data = "{\"channel\":\"page\",\"text\":\"a\"}", .n = 29,
                                    .receipt = ""};
    do_outbox_channel(cx); /* a waiting message keeps the runtime busy */
    chela_outbox_recall(cx->rt, &item, NULL);
}

static void do_outbox_waiting(struct sweep *cx) {
    (void)chela_outbox_waiting(cx->rt);
}

static int see_undo_turn(const struct chela_undo_turn *t, void *user) {
    (void)t, (void)user;
    return 0;
}

static void see_undo_item(const struct chela_undo_item *item, void *user) {
    (void)item, (void)user;
}

static void do_undo(struct sweep *cx) {
    char dir[300];
    chela_undo *undo;
    if (!cx->agent)
        return;
    snprintf(dir, sizeof(dir), "%s/undo-%u", cx->dir, cx->serial);
    SWEEP_EXPECT(chela_undo_open(cx->agent, dir, &undo, NULL) == 0);
    if (chela_undo_begin(undo, "k", 0, "text", NULL) == 0) {
        SWEEP_EXPECT(chela_undo_fork(undo, "k", "l", 0, NULL) == 0);
        SWEEP_EXPECT(chela_undo_list(undo, "k", see_undo_turn, NULL, NULL) == 0);
        chela_undo_end(undo);
        SWEEP_EXPECT(chela_undo_restore(undo, "k", 0, 1, see_undo_item, NULL, NULL) ==
                     CHELA_ENOENT);
    }
    chela_undo_close(undo);
}

#define IN_CALL SWEEP_IN_CALL
#define SHARED SWEEP_SHARED
#define ROUND SWEEP_ROUND
static const struct sweep_row rows[] = {
    {"chela_runtime_new", do_runtime_new, SHARED, NULL},
    {"chela_runtime_close", do_runtime_close, ROUND, NULL},
    {"chela_runtime_run", do_runtime_run, ROUND, NULL},
    {"chela_runtime_poll", do_runtime_poll, ROUND, NULL},
    {"chela_runtime_provider", do_runtime_provider, SHARED, NULL},
    {"chela_runtime_price", do_runtime_price, SHARED, NULL},
    {"chela_runtime_context_window", do_runtime_context_window, SHARED, NULL},
    {"chela_runtime_model_quirks", do_runtime_model_quirks, SHARED, NULL},
    {"chela_runtime_skills", do_runtime_skills, SHARED, NULL},
    {"chela_default_model", do_default_model, SHARED, NULL},
    {"chela_runtime_store", do_runtime_store, ROUND, NULL},
    {"chela_agent_new", do_agent_new, ROUND, NULL},
    {"chela_agent_delegate", do_agent_delegate, ROUND, NULL},
    {"chela_agent_handoff", do_agent_handoff, ROUND, NULL},
    {"chela_agent_tool", do_agent_tool, ROUND, NULL},
    {"chela_agent_add_tool", do_agent_add_tool, ROUND, NULL},
    {"chela_agent_add_command", do_agent_add_command, ROUND, NULL},
    {"chela_agent_remove_tool", do_agent_remove_tool, 0, NULL},
    {"chela_agent_policy", do_agent_policy, 0, NULL},
    {"chela_agent_hooks", do_agent_hooks, ROUND, NULL},
    {"chela_undo_open", do_undo, ROUND, NULL},
    {"chela_undo_begin", do_undo, ROUND, NULL},
    {"chela_undo_end", do_undo, ROUND, NULL},
    {"chela_undo_list", do_undo, ROUND, NULL},
    {"chela_undo_fork", do_undo, ROUND, NULL},
    {"chela_undo_restore", do_undo, ROUND, NULL},
    {"chela_undo_close", do_undo, ROUND, NULL},
    {"chela_agent_tools_json", do_agent_tools_json, SHARED, NULL},
    {"chela_agent_tools_for_json", do_agent_tools_for_json, SHARED, NULL},
    {"chela_agent_policies_json", do_agent_policies_json, SHARED, NULL},
    {"chela_agent_memo", do_agent_memo, SHARED, NULL},
    {"chela_agent_rules_json", do_agent_rules_json, SHARED, NULL},
    {"chela_agent_context_window", do_agent_context_window, SHARED, NULL},
    {"chela_agent_skills_json", do_agent_skills_json, SHARED, NULL},
    {"chela_agent_expand", do_agent_expand, SHARED, NULL},
    {"chela_agent_call_tool", do_agent_call_tool, ROUND, NULL},
    {"chela_ask", do_ask, 0, NULL},
    {"chela_session_new", do_session_new, ROUND, NULL},
    {"chela_agent_close", do_agent_close, 0, NULL},
    {"chela_agent_close", close_other_agent, 0, "another agent"},
    {"chela_agent_close", close_all, 0, "both, and the session"},
    {"chela_agent_last_error", do_agent_last_error, SHARED, NULL},
    {"chela_session_close", do_session_close, 0, NULL},
    {"chela_session_close", reopen, 0, "and opened again"},
    {"chela_session_close", close_other, ROUND, "another session"},
    {"chela_session_on_ready", do_session_on_ready, ROUND, NULL},
    {"chela_session_wait", do_session_wait, ROUND, NULL},
    {"chela_session_status", do_session_status, SHARED, NULL},
    {"chela_session_key", do_session_key, SHARED, NULL},
    {"chela_session_last_text", do_session_last_text, SHARED, NULL},
    {"chela_session_messages_json", do_session_messages_json, SHARED, NULL},
    {"chela_session_recent_json", do_session_messages_json, SHARED, NULL},
    {"chela_session_compact", do_session_compact, 0, NULL},
    {"chela_session_compact", compact_without_handle, 0, "no handle"},
    {"chela_session_on_wake", do_session_on_wake, ROUND, NULL},
    {"chela_session_queue", do_session_queue, 0, NULL},
    {"chela_session_send", do_session_send, 0, "steer"},
    {"chela_session_send", send_follow_up, 0, "follow up"},
    {"chela_session_send", send_collect, 0, "collect"},
    {"chela_session_send", send_interrupt, 0, "interrupt"},
    {"chela_session_approve", do_session_approve, 0, "allow"},
    {"chela_session_approve", deny, SWEEP_ASKED, "deny"},
    {"chela_session_approve", edit, SWEEP_ASKED, "edit"},
    {"chela_session_approve", take_over_approval, SWEEP_ASKED, "take over"},
    {"chela_session_answer", do_session_answer, 0, NULL},
    {"chela_session_channel", do_session_channel, 0, NULL},
    {"chela_run_start", do_run_start, 0, NULL},
    {"chela_run_start", start_without_handle, 0, "no handle"},
    {"chela_run_start", start_elsewhere, ROUND, "another session"},
    {"chela_session_on_task", do_session_on_task, ROUND, NULL},
    {"chela_session_tasks_json", do_session_tasks, SWEEP_SHARED, NULL},
    {"chela_session_task_text", do_session_tasks, SWEEP_SHARED, NULL},
    {"chela_session_task_cancel", do_session_tasks, SWEEP_SHARED, NULL},
    {"chela_run_wake", do_run_wake, 0, NULL},
    {"chela_run_steer", do_run_steer, 0, NULL},
    {"chela_run_follow_up", do_run_follow_up, 0, NULL},
    {"chela_cancel", do_cancel, SWEEP_ANY_THREAD, NULL},
    {"chela_cancel", cancel_run, 0, "the case's run"},
    {"chela_run_leave", do_run_leave, SWEEP_ANY_THREAD, NULL},
    {"chela_run_leave", leave_run, 0, "the case's run"},
    {"chela_run_free", do_run_free, 0, NULL},
    {"chela_run_free", free_and_cancel, 0, "and cancelled"},
    {"chela_run_free", free_and_close, 0, "and closed"},
    {"chela_run_take_over", do_run_take_over, 0, NULL},
    {"chela_run_take_over", take_over_run, 0, "the case's run"},
    {"chela_run_resume", do_run_resume, 0, NULL},
    {"chela_run_resume", resume_without_handle, SWEEP_ASKED, "no handle"},
    {"chela_run_wait", do_run_wait, ROUND, NULL},
    {"chela_run_status", do_run_status, SHARED, NULL},
    {"chela_run_reason", do_run_reason, SHARED, NULL},
    {"chela_run_text", do_run_text, SHARED, NULL},
    {"chela_run_error", do_run_error, SHARED, NULL},
    {"chela_event_json", do_event_json, SHARED | SWEEP_IN_EVENT, NULL},
    {"chela_call_id", do_call_id, IN_CALL | SHARED, NULL},
    {"chela_call_name", do_call_name, IN_CALL | SHARED, NULL},
    {"chela_call_arguments", do_call_arguments, IN_CALL | SHARED, NULL},
    {"chela_call_key", do_call_key, IN_CALL | SHARED, NULL},
    {"chela_call_workspace", do_call_workspace, IN_CALL | SHARED, NULL},
    {"chela_call_cancelled", do_call_cancelled, IN_CALL | SHARED, NULL},
    {"chela_call_progress", do_call_progress, IN_CALL | SHARED, NULL},
    {"chela_call_uses", do_call_uses, IN_CALL | ROUND, NULL},
    {"chela_call_finish", do_call_finish, IN_CALL, NULL},
    {"chela_call_on_cancel", do_call_on_cancel, IN_CALL | ROUND, NULL},
    {"chela_call_defer", do_call_defer, IN_CALL, NULL},
    {"chela_result_text", do_result_text, IN_CALL | ROUND, NULL},
    {"chela_result_printf", do_result_printf, IN_CALL | ROUND, NULL},
    {"chela_result_media", do_result_media, IN_CALL | ROUND, NULL},
    {"chela_result_details", do_result_details, IN_CALL | ROUND, NULL},
    {"chela_result_error", do_result_error, IN_CALL, NULL},
    {"chela_result_retry_after", do_result_retry_after, IN_CALL, NULL},
    {"chela_result_no_effect", do_result_no_effect, IN_CALL, NULL},
    {"chela_arg_int", do_arg_int, IN_CALL | ROUND, NULL},
    {"chela_arg_double", do_arg_double, IN_CALL | ROUND, NULL},
    {"chela_arg_bool", do_arg_bool, IN_CALL | ROUND, NULL},
    {"chela_arg_string", do_arg_string, IN_CALL | ROUND, NULL},
    {"chela_arg_int_opt", do_arg_int_opt, IN_CALL | SHARED, NULL},
    {"chela_arg_double_opt", do_arg_double_opt, IN_CALL | SHARED, NULL},
    {"chela_arg_bool_opt", do_arg_bool_opt, IN_CALL | SHARED, NULL},
    {"chela_arg_string_opt", do_arg_string_opt, IN_CALL | SHARED, NULL},
    {"chela_arg_json", do_arg_json, IN_CALL | SHARED, NULL},
    {"chela_inbox_accept", do_inbox_accept, ROUND, NULL},
    {"chela_inbox_settle", do_inbox_settle, ROUND, NULL},
    {"chela_outbox_channel", do_outbox_channel, ROUND, NULL},
    {"chela_outbox_put", do_outbox_put, ROUND, NULL},
    {"chela_outbox_receipt", do_outbox_receipt, ROUND, NULL},
    {"chela_outbox_receipt", receive_sent, SWEEP_SENDING, "sent"},
    {"chela_outbox_receipt", receive_uncertain, SWEEP_SENDING, "uncertain"},
    {"chela_outbox_receipt", receive_refused, SWEEP_SENDING, "refused"},
    {"chela_outbox_recall", do_outbox_recall, ROUND, NULL},
    {"chela_outbox_waiting", do_outbox_waiting, SHARED, NULL},
};
const struct sweep_rows sweep_rows_live = {rows, sizeof(rows) / sizeof(rows[0])};

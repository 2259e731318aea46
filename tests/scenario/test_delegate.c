/* test_delegate.c -- runs below a run, as a host of the library sees them: agents
 * that call agents, and steps of a plan that are runs of their own. Whatever the
 * host does in a callback, and whatever is under way when it leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include <chela.h>

static const char delegating[] =
    "rules:\n"
    "  - { when: { system: lead, user: twice, after: none }, call: [{ tool: clerk, args: { task: "
    "work } }, { tool: clerk, args: { task: work } }] }\n"
    "  - { when: { system: lead, user: stall, after: none }, call: { tool: clerk, args: { task: "
    "stall } } }\n"
    "  - { when: { system: lead, user: shorten, after: none }, call: { tool: clerk, args: { task: "
    "shorten } } }\n"
    "  - { when: { user: \"^shorten\" }, say: half, stop: max_tokens }\n"
    "  - { when: { system: lead, user: beside, after: none }, call: { tool: aide, args: { task: "
    "work, background: true } } }\n"
    "  - { when: { system: lead, after: none }, call: { tool: clerk, args: { task: work } } }\n"
    "  - { when: { system: lead }, say: \"heard {{result}}\" }\n"
    "  - { when: { user: stall }, stall_after: 0, say: never }\n"
    "  - { when: { after: none }, call: { tool: stamp, args: { n: 1 } } }\n"
    "  - { say: \"did {{result}}\" }\n";

#define STEP(id, task)                                                                          \
    "{\"step_id\":" #id ",\"description\":\"d\",\"tool_name\":\"react_step\",\"tool_input\":"    \
    "{\"task\":\"" task "\"},\"depends_on\":[]}"
#define PLAN(steps)                                                                             \
    "say: '{\"analysis\":\"a\",\"action\":\"plan\",\"plan\":[" steps "],\"estimated_steps\":1,"   \
    "\"can_parallelize\":[]}' }\n"
#define FINE "{\"score\":5,\"reason\":\"r\"}"

static const char planning[] =
    "rules:\n"
    "  - { when: { system: You are a planner, user: twice }, " PLAN(STEP(1, "work") ","
                                                                      STEP(2, "work"))
    "  - { when: { system: You are a planner, user: stall }, " PLAN(STEP(1, "stall"))
    "  - { when: { system: You are a planner }, " PLAN(STEP(1, "work"))
    "  - { when: { system: You judge }, say: '{\"evaluation\":{\"completeness\":" FINE
    ",\"correctness\":" FINE ",\"format\":" FINE
    "},\"overall_pass\":true,\"action\":\"accept\"}' }\n"
    "  - { when: { user: plan was carried out }, say: \"heard {{result.react_step}}\" }\n"
    "  - { when: { user: stall }, stall_after: 0, say: never }\n"
    "  - { when: { after: none }, call: { tool: stamp, args: { n: 1 } } }\n"
    "  - { say: \"did {{result}}\" }\n";

struct office {
    chela_runtime *rt;
    chela_agent *lead, *clerk;
    chela_session *session;
    chela_run *run;
    char path[40], model[64];
    char approval[64], asked[64]; /* what was asked for last: its id, its call's */
    unsigned childs, asks, stamps, hooked;
    bool approve_at_once, close_at_child, cancelled;
    enum chela_event_type cancel_at_child; /* event of a child; 0: none */
    bool ended; /* the last event was RUN_END */
    chela_run *child; /* borrowed: that paused */
};

static int stamp(chela_call *call, void *user) {
    struct office *o = user;
    o->stamps++;
    chela_result_printf(call, "stamp %u", o->stamps);
    return 0;
}

static void copy(char out[64], struct chela_str s) {
    snprintf(out, 64, "%.*s", (int)s.n, s.p);
}

static void on_event(const struct chela_event *ev, void *user) {
    struct office *o = user;
    if (ev->type == CHELA_EV_CHILD && o->ended)
        fail_msg("%s of a child after RUN_END", chela_event_name(ev->child.event->type));
    o->ended = ev->type == CHELA_EV_RUN_END;
    if (ev->type == CHELA_EV_CHILD) {
        o->childs++;
        enum chela_event_type type = ev->child.event->type;
        if (o->cancelled && type == CHELA_EV_TEXT_DELTA)
            fail_msg("a delta of a child after the cancel");
        if (type == CHELA_EV_TURN_START && o->close_at_child)
            chela_session_close(o->session);
        else if (o->cancel_at_child && type == o->cancel_at_child && !o->cancelled) {
            chela_cancel(o->run, "enough");
            o->cancelled = true;
        }
    }
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED) {
        o->asks++;
        copy(o->approval, ev->approval.approval_id);
        if (o->approve_at_once)
            assert_int_equal(chela_session_approve(o->session, o->approval, CHELA_ALLOW_ONCE, NULL,
                                                   NULL),
                             0);
    }
    if (ev->type == CHELA_EV_CLIENT_TOOL_REQUIRED)
        copy(o->asked, ev->call.id);
}

/* how: the rules; plans are the lead's own work. */
static void open_office(struct office *o, unsigned flags, const char *how) {
    struct chela_error err = {0};
    bool plans = how == planning;
    memset(o, 0, sizeof(*o));
    snprintf(o->path, sizeof(o->path), "/tmp/chela-test-XXXXXX");
    int fd = mkstemp(o->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, how, strlen(how)), (ssize_t)strlen(how));
    close(fd);
    snprintf(o->model, sizeof(o->model), "scripted/%s", o->path);
    struct chela_agent_opts lead =
        CHELA_AGENT_OPTS(.id = "lead", .model = o->model, .system = "lead",
                         .approve = CHELA_APPROVE_ASK,
                         .mode = plans ? CHELA_MODE_PLAN : CHELA_MODE_DEFAULT);
    struct chela_agent_opts clerk =
        CHELA_AGENT_OPTS(.id = "clerk", .model = o->model, .system = "clerk",
                         .approve = CHELA_APPROVE_ASK);
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "stamp", .description = "Stamps.",
                        .schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
                                  "\"integer\"}},\"required\":[\"n\"]}",
                        .fn = flags & CHELA_TOOL_CLIENT ? NULL : stamp, .user = o,
                        .flags = flags | (flags & CHELA_TOOL_CLIENT ? 0 : CHELA_TOOL_ON_LOOP));
    if (chela_runtime_new(NULL, &o->rt, &err) < 0 ||
        chela_agent_new(o->rt, &lead, &o->lead, &err) < 0 ||
        chela_agent_new(o->rt, &clerk, &o->clerk, &err) < 0 ||
        chela_agent_add_tool(plans ? o->lead : o->clerk, &tool, &err) < 0 ||
        (!plans && chela_agent_delegate(o->lead, o->clerk, NULL, &err) < 0) ||
        chela_session_new(o->lead, NULL, &o->session, &err) < 0)
        fail_msg("%s", err.message);
}

static void close_office(struct office *o) {
    chela_run_free(o->run);
    chela_runtime_close(o->rt);
    unlink(o->path);
}

static void start(struct office *o, const char *text) {
    struct chela_error err = {0};
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = on_event, .user = o);
    if (chela_run_start(o->session, text, strlen(text), &how, &o->run, &err) < 0)
        fail_msg("%s", err.message);
}

static void play(struct office *o, const char *text, const char *verdict) {
    start(o, text);
    chela_run_wait(o->run);
    assert_string_equal(chela_reason_name(chela_run_reason(o->run)), verdict);
}

static void go_on(struct office *o, const char *verdict) {
    struct chela_error err = {0};
    chela_run *again;
    if (chela_run_resume(o->session, NULL, &again, &err) < 0)
        fail_msg("%s", err.message);
    chela_run_wait(again);
    assert_string_equal(chela_reason_name(chela_run_reason(again)), verdict);
    chela_run_free(again);
}

static void test_results(void **state) {
    struct office o;
    open_office(&o, 0, *state);
    play(&o, "twice", "task_completed");
    assert_int_equal(o.stamps, 2);
    assert_true(o.childs > 10);
    assert_non_null(strstr(chela_run_text(o.run), "heard did stamp"));
    close_office(&o);
}

/* A caller knows that an answer is not complete. */
static void test_cut_answer(void **state) {
    struct office o;
    (void)state;
    open_office(&o, 0, delegating);
    play(&o, "please shorten it", "task_completed");
    assert_non_null(strstr(chela_run_text(o.run), "half\n\nThe answer was cut"));
    close_office(&o);
}

static void test_not_offered(void **state) {
    struct office o;
    struct chela_error err = {0};
    chela_runtime *other;
    chela_agent *stranger;
    (void)state;
    open_office(&o, 0, delegating);
    assert_int_equal(chela_agent_delegate(o.lead, o.clerk, NULL, &err), CHELA_EEXIST);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = o.model);
    assert_int_equal(chela_runtime_new(NULL, &other, &err), 0);
    assert_int_equal(chela_agent_new(other, &opts, &stranger, &err), 0);
    assert_int_equal(chela_agent_delegate(o.lead, stranger, NULL, &err), CHELA_EINVAL);
    assert_int_equal(chela_agent_handoff(o.lead, stranger, &err), CHELA_EINVAL);
    chela_runtime_close(other);
    /* the second permission changes nothing */
    assert_int_equal(chela_agent_handoff(o.lead, o.clerk, &err), 0);
    assert_int_equal(chela_agent_handoff(o.lead, o.clerk, &err), 0);
    char *tools = chela_agent_tools_json(o.lead);
    assert_non_null(strstr(tools, "{\"enum\":[\"clerk\"]}"));
    chela_free(tools);
    close_office(&o);
}

/* Consent is asked for in the session that people see, and given there. */
static void test_consent(void **state) {
    static const enum chela_decision all[] = {CHELA_DENY, CHELA_ALLOW_ONCE, CHELA_ANSWER,
                                              CHELA_TAKE_OVER};
    struct office o;
    struct chela_error err = {0};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        open_office(&o, CHELA_TOOL_CONFIRM, *state);
        play(&o, "once", "approval_required");
        assert_int_equal(o.asks, 1);
        assert_int_equal(chela_run_resume(o.session, NULL, NULL, &err), CHELA_ESTATE);
        assert_int_equal(chela_session_approve(o.session, "ap_x", all[i], "w", &err),
                         CHELA_ENOENT);
        assert_int_equal(chela_session_approve(o.session, o.approval, all[i], "words", &err), 0);
        assert_int_equal(chela_session_approve(o.session, o.approval, all[i], "words", &err),
                         CHELA_EEXIST);
        go_on(&o, "task_completed");
        assert_int_equal(o.stamps, all[i] == CHELA_ALLOW_ONCE);
        close_office(&o);
    }
}

static void test_consent_at_once(void **state) {
    struct office o;
    open_office(&o, CHELA_TOOL_CONFIRM, *state);
    o.approve_at_once = true;
    play(&o, "twice", "task_completed");
    assert_int_equal(o.asks, 2);
    assert_int_equal(o.stamps, 2);
    close_office(&o);
}

static enum chela_flow leave_open(chela_run *run, struct chela_approval *a, void *user) {
    struct office *o = user;
    (void)run;
    (void)a;
    o->hooked++;
    return CHELA_GO;
}

/* Who hears of all questions is asked each of them once. */
static void test_hook(void **state) {
    struct office o;
    struct chela_error err = {0};
    struct chela_hooks hooks = CHELA_HOOKS(.approve = leave_open, .user = &o);
    open_office(&o, CHELA_TOOL_CONFIRM, *state);
    chela_agent_hooks(o.lead, &hooks, NULL);
    play(&o, "once", "approval_required");
    assert_int_equal(o.hooked, 1);
    assert_int_equal(chela_session_approve(o.session, o.approval, CHELA_DENY, NULL, &err), 0);
    go_on(&o, "task_completed");
    assert_int_equal(o.hooked, 1);
    close_office(&o);
}

static void test_edit(void **state) {
    struct office o;
    struct chela_error err = {0};
    open_office(&o, CHELA_TOOL_CONFIRM, *state);
    play(&o, "once", "approval_required");
    assert_int_equal(chela_session_approve(o.session, o.approval, CHELA_EDIT, "{\"n\":\"x\"}",
                                           &err),
                     CHELA_EINVAL);
    assert_int_equal(chela_session_approve(o.session, o.approval, CHELA_EDIT, NULL, &err),
                     CHELA_EINVAL);
    assert_int_equal(chela_session_approve(o.session, o.approval, CHELA_EDIT, "{\"n\":2}", &err),
                     0);
    go_on(&o, "task_completed");
    assert_int_equal(o.stamps, 1);
    close_office(&o);
}

static void test_client_tool(void **state) {
    struct office o;
    struct chela_error err = {0};
    open_office(&o, CHELA_TOOL_CLIENT, *state);
    play(&o, "once", "client_tool_required");
    assert_int_equal(chela_session_answer(o.session, "none", "x", 1, 0, &err), CHELA_ENOENT);
    assert_int_equal(chela_session_answer(o.session, o.asked, "by hand", 7, 0, &err), 0);
    go_on(&o, "task_completed");
    close_office(&o);
}

static void test_cancel(void **state) {
    struct office o;
    open_office(&o, 0, *state);
    o.cancel_at_child = CHELA_EV_TURN_START;
    play(&o, "stall", "cancelled");
    close_office(&o);
    open_office(&o, 0, *state);
    o.cancel_at_child = CHELA_EV_TEXT_DELTA;
    play(&o, "once", "cancelled");
    close_office(&o);
    open_office(&o, 0, *state);
    o.cancel_at_child = CHELA_EV_TOOL_START; /* the call does not run */
    play(&o, "once", "cancelled");
    assert_int_equal(o.stamps, 0);
    close_office(&o);
    open_office(&o, CHELA_TOOL_CONFIRM, *state); /* while it waits */
    play(&o, "once", "approval_required");
    chela_cancel(o.run, NULL);
    chela_runtime_run(o.rt);
    assert_int_equal(chela_run_reason(o.run), CHELA_REASON_CANCELLED);
    close_office(&o);
}

static void cancel_child(chela_run *child) {
    chela_cancel(child, "enough");
}

static void take_over_child(chela_run *child) {
    assert_int_equal(chela_run_take_over(child, "by hand", 7), 0);
}

static void on_run_end(chela_run *run, const struct chela_event *end, void *user) {
    struct office *o = user;
    if (end->end.status == CHELA_STATUS_PAUSED)
        o->child = run;
}

/* A child is interrupted while its parent is paused. The child says nothing until the parent
 * is resumed, which needs no decision about the child's call any more. */
static void test_child_of_paused_parent(void **state) {
    (void)state;
    static void (*const ways[])(chela_run *) = {cancel_child, take_over_child};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct office o;
        struct chela_hooks hooks = CHELA_HOOKS(.run_end = on_run_end, .user = &o);
        open_office(&o, CHELA_TOOL_CONFIRM, delegating);
        chela_agent_hooks(o.clerk, &hooks, NULL);
        play(&o, "once", "approval_required");
        ways[i](o.child);
        for (int turns = 0; turns < 10; turns++)
            chela_runtime_poll(o.rt);
        assert_int_equal(chela_session_status(o.session), CHELA_SESSION_PAUSED);
        go_on(&o, "task_completed");
        assert_int_equal(o.stamps, 0);
        close_office(&o);
    }
}

static void test_leaving(void **state) {
    struct office o;
    open_office(&o, 0, *state); /* the host closes the session in a callback */
    o.close_at_child = true;
    start(&o, "twice");
    chela_runtime_run(o.rt);
    close_office(&o);
    open_office(&o, 0, *state); /* ...or everything, while a child works */
    start(&o, "stall");
    for (int i = 0; i < 1000 && o.childs < 3; i++)
        chela_runtime_poll(o.rt);
    close_office(&o);
    open_office(&o, CHELA_TOOL_CONFIRM, *state); /* ...or waits */
    play(&o, "twice", "approval_required");
    close_office(&o);
}

static void test_take_over(void **state) {
    struct office o;
    open_office(&o, 0, *state);
    start(&o, "stall");
    for (int i = 0; i < 1000 && o.childs < 3; i++)
        chela_runtime_poll(o.rt);
    assert_int_equal(chela_run_take_over(o.run, "", 0), CHELA_EINVAL);
    assert_int_equal(chela_run_take_over(o.run, "mine", 4), 0);
    chela_run_wait(o.run);
    assert_string_equal(chela_run_text(o.run), "mine");
    assert_int_equal(chela_run_reason(o.run), CHELA_REASON_COMPLETED);
    assert_int_equal(chela_run_take_over(o.run, "mine", 4), CHELA_ESTATE);
    close_office(&o);
}

#define BOTH_WAYS(test)                                                                         \
    cmocka_unit_test_prestate(test, (void *)delegating),                                        \
        cmocka_unit_test_prestate(test, (void *)planning)

static void on_task(const struct chela_event *ev, void *user) {
    struct office *o = user;
    if (ev->child.event->type == CHELA_EV_APPROVAL_REQUIRED)
        copy(o->approval, ev->child.event->approval.approval_id);
}

/* A decision that an agent in the background cannot use is refused with the reason. */
static void test_consent_beside(void **state) {
    struct office o;
    struct chela_error err = {0};
    const struct chela_delegate_opts how = CHELA_DELEGATE_OPTS(.name = "aide", .background = 1);
    (void)state;
    open_office(&o, CHELA_TOOL_CONFIRM, delegating);
    assert_int_equal(chela_agent_delegate(o.lead, o.clerk, &how, NULL), 0);
    chela_session_on_task(o.session, on_task, &o);
    assert_int_equal(chela_run_start(o.session, "beside", 6, NULL, &o.run, NULL), 0);
    assert_int_equal(chela_runtime_run(o.rt), 0);
    assert_true(o.approval[0]);
    assert_int_equal(chela_session_approve(o.session, o.approval, CHELA_EDIT, "no JSON", &err),
                     CHELA_EINVAL);
    assert_null(strstr(err.message, "no call waits"));
    assert_int_equal(o.stamps, 0);
    assert_int_equal(chela_session_approve(o.session, "ap_none", CHELA_ALLOW_ONCE, NULL, &err),
                     CHELA_ENOENT);
    assert_int_equal(chela_session_approve(o.session, o.approval, CHELA_ALLOW_ONCE, NULL, &err),
                     0);
    assert_int_equal(chela_runtime_run(o.rt), 0);
    assert_int_equal(o.stamps, 1);
    close_office(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BOTH_WAYS(test_results),   cmocka_unit_test(test_not_offered), BOTH_WAYS(test_consent),
        cmocka_unit_test(test_cut_answer),
        BOTH_WAYS(test_consent_at_once), BOTH_WAYS(test_hook),     BOTH_WAYS(test_edit),
        BOTH_WAYS(test_client_tool),     BOTH_WAYS(test_cancel),   BOTH_WAYS(test_leaving),
        BOTH_WAYS(test_take_over),       cmocka_unit_test(test_child_of_paused_parent),
        cmocka_unit_test(test_consent_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_lifetime.c -- what a host may do, and when: every function that ends, feeds
 * or replaces a run, called at every step of one and from inside its callbacks. The
 * tests pass if the memory checker stays silent and every run comes to its end. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include <chela.h>
#include <chela/store.h>
#include <chela/telemetry.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const char delegating[] =
    "rules:\n"
    "  - { when: { system: lead, user: plain }, say: \"some words and some more of them\" }\n"
    "  - { when: { system: lead, user: own, after: none }, call: { tool: stamp, args: { n: 1 } } "
    "}\n"
    "  - { when: { system: lead, after: none }, call: [{ tool: clerk, args: { task: work } }, "
    "{ tool: clerk, args: { task: work } }] }\n"
    "  - { when: { system: lead }, say: \"heard {{result}}\" }\n"
    "  - { when: { after: none }, call: { tool: stamp, args: { n: 1 } } }\n"
    "  - { say: \"did {{result}}\" }\n";

#define STEP(id, task)                                                                          \
    "{\"step_id\":" #id ",\"description\":\"d\",\"tool_name\":\"react_step\",\"tool_input\":"    \
    "{\"task\":\"" task "\"},\"depends_on\":[]}"
#define FINE "{\"score\":5,\"reason\":\"r\"}"

static const char planning[] =
    "rules:\n"
    "  - { when: { user: plain }, say: \"some words and some more of them\" }\n"
    "  - { when: { system: You are a planner }, say: '{\"analysis\":\"a\",\"action\":\"plan\","
    "\"plan\":[" STEP(1, "work") "," STEP(2, "work") "],\"estimated_steps\":1,"
    "\"can_parallelize\":[]}' }\n"
    "  - { when: { system: You judge }, say: '{\"evaluation\":{\"completeness\":" FINE
    ",\"correctness\":" FINE ",\"format\":" FINE
    "},\"overall_pass\":true,\"action\":\"accept\"}' }\n"
    "  - { when: { user: plan was carried out }, say: \"heard {{result.react_step}}\" }\n"
    "  - { when: { after: none }, call: { tool: stamp, args: { n: 1 } } }\n"
    "  - { say: \"did {{result}}\" }\n";

/* --- what a host does ------------------------------------------------------------- */

struct office;
typedef void act_fn(struct office *o);

struct office {
    chela_runtime *rt;
    chela_store *store;
    chela_agent *lead, *clerk;
    chela_session *session;
    chela_run *run, *first; /* first: borrowed */
    chela_session *other;
    chela_mcp_server *server;
    chela_gateway *gateway;
    char path[40], model[64];
    char approvals[4][64];
    unsigned asks, events, ends;
    unsigned act_at; /* number of the event at which `act` is called, from 1; 0: never */
    act_fn *act;
    bool acted, closed, taken;
};

static int stamp(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "stamped");
    return 0;
}

static void on_event(const struct chela_event *ev, void *user) {
    struct office *o = user;
    o->events++;
    o->ends += ev->type == CHELA_EV_RUN_END;
    if (ev->type == CHELA_EV_APPROVAL_REQUIRED && o->asks < LEN(o->approvals))
        snprintf(o->approvals[o->asks++], sizeof(o->approvals[0]), "%.*s",
                 (int)ev->approval.approval_id.n, ev->approval.approval_id.p);
    if (o->events != o->act_at)
        return;
    o->acted = true;
    o->act(o);
}

static void act_cancel(struct office *o) {
    chela_cancel(o->run, "enough");
}
static void act_leave(struct office *o) {
    chela_run_leave(o->run);
}
static void act_steer(struct office *o) {
    chela_run_steer(o->run, "plain", 5);
}
static void act_follow_up(struct office *o) {
    chela_run_follow_up(o->run, "plain", 5);
}
static void act_send(struct office *o) {
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = on_event, .user = o);
    chela_session_send(o->session, "plain", 5, &how, NULL);
}
static void act_take_over(struct office *o) {
    o->taken = chela_run_take_over(o->run, "mine", 4) == 0;
}
static void act_close(struct office *o) {
    chela_session_close(o->session);
    o->closed = true;
}
static void act_start(struct office *o) {
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = on_event, .user = o);
    chela_run_start(o->session, "plain", 5, &how, NULL, NULL);
}
static void act_interrupt(struct office *o) {
    struct chela_queue_opts q = CHELA_QUEUE_OPTS(.mode = CHELA_QUEUE_INTERRUPT);
    chela_session_queue(o->session, &q, NULL);
    act_send(o);
}
static void act_approve(struct office *o) {
    for (unsigned i = 0; i < o->asks; i++)
        chela_session_approve(o->session, o->approvals[i], CHELA_ALLOW_ONCE, NULL, NULL);
}
static void act_hand_over(struct office *o) {
    for (unsigned i = 0; i < o->asks; i++)
        chela_session_approve(o->session, o->approvals[i], CHELA_TAKE_OVER, "mine", NULL);
}
static void act_resume(struct office *o) {
    act_approve(o);
    chela_run_resume(o->session, NULL, NULL, NULL);
}

static act_fn *const acts[] = {act_cancel,    act_leave,     act_steer,     act_follow_up,
                               act_send,      act_take_over, act_close,     act_start,
                               act_interrupt, act_approve,   act_hand_over, act_resume};

/* --- the office ------------------------------------------------------------------- */

struct variant {
    const char *rules;
    bool stored;
    unsigned flags;  /* of the tool */
    unsigned stride; /* events from one at which the host acts to the next */
};

static void open_office(struct office *o, const struct variant *v) {
    struct chela_error err = {0};
    bool plans = v->rules == planning;
    memset(o, 0, sizeof(*o));
    snprintf(o->path, sizeof(o->path), "/tmp/chela-test-XXXXXX");
    int fd = mkstemp(o->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, v->rules, strlen(v->rules)), (ssize_t)strlen(v->rules));
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
                        .fn = stamp, .flags = v->flags | CHELA_TOOL_ON_LOOP);
    if (chela_runtime_new(NULL, &o->rt, &err) < 0 ||
        (v->stored && (chela_store_open("memory:", NULL, &o->store, &err) < 0 ||
                       chela_runtime_store(o->rt, o->store, CHELA_DURABILITY_DEFAULT, &err) < 0)) ||
        chela_agent_new(o->rt, &lead, &o->lead, &err) < 0 ||
        chela_agent_new(o->rt, &clerk, &o->clerk, &err) < 0 ||
        chela_agent_add_tool(o->lead, &tool, &err) < 0 ||
        chela_agent_add_tool(o->clerk, &tool, &err) < 0 ||
        (!plans && chela_agent_delegate(o->lead, o->clerk, NULL, &err) < 0) ||
        chela_session_new(o->lead, "s", &o->session, &err) < 0)
        fail_msg("%s", err.message);
}

static void close_office(struct office *o) {
    chela_run_free(o->run);
    chela_runtime_close(o->rt);
    chela_store_close(o->store);
    unlink(o->path);
}

static void start(struct office *o, const char *text) {
    struct chela_error err = {0};
    struct chela_run_opts how = CHELA_RUN_OPTS(.on_event = on_event, .user = o);
    if (chela_run_start(o->session, text, strlen(text), &how, &o->run, &err) < 0)
        fail_msg("%s", err.message);
}

static void give_back(struct office *o) {
    chela_run_free(o->run);
    o->run = NULL;
}

static void turn(struct office *o, unsigned n) {
    while (n-- > 0)
        chela_runtime_poll(o->rt);
}

static const struct variant variants[] = {{delegating, false, CHELA_TOOL_CONFIRM, 1},
                                          {delegating, true, CHELA_TOOL_CONFIRM, 2},
                                          {planning, false, CHELA_TOOL_CONFIRM, 5},
                                          {planning, true, CHELA_TOOL_CONFIRM, 7}};

/* --- a child and its parent ------------------------------------------------------- */

/* A child that waited for consent goes on, and `turns` iterations later the host
 * acts on its parent. Then the host waits, or closes everything at once. */
static void act_after_resume(const struct variant *v, act_fn *act, unsigned turns, bool waits) {
    struct office o;
    struct chela_error err = {0};
    open_office(&o, v);
    start(&o, "once");
    chela_run_wait(o.run);
    assert_int_equal(chela_run_reason(o.run), CHELA_REASON_APPROVAL);
    act_approve(&o);
    if (chela_run_resume(o.session, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    turn(&o, turns);
    act(&o);
    if (waits)
        chela_runtime_run(o.rt);
    else
        turn(&o, turns % 3);
    close_office(&o);
}

static void test_act_after_resume(void **state) {
    const struct variant *v = *state;
    for (size_t i = 0; i < LEN(acts); i++)
        for (unsigned turns = 0; turns < 10; turns += 1 + v->stride / 3)
            act_after_resume(v, acts[i], turns, turns % 2);
}

/* --- inside a callback ------------------------------------------------------------- */

/* The run that `text` causes, with `act` inside its event number `at`. False: the
 * run has fewer events. */
static bool act_inside(const struct variant *v, const char *text, act_fn *act, unsigned at,
                       bool handle) {
    struct office o;
    open_office(&o, v);
    o.act = act;
    o.act_at = at;
    start(&o, text);
    if (!handle)
        give_back(&o);
    chela_runtime_run(o.rt);
    if (!o.closed && o.ends == 0)
        fail_msg("no RUN_END after event %u", at);
    if (o.taken) { /* whoever was told that the run is theirs has the last word */
        assert_int_equal(chela_run_reason(o.run), CHELA_REASON_COMPLETED);
        assert_string_equal(chela_run_text(o.run), "mine");
    }
    bool acted = o.acted;
    close_office(&o);
    return acted;
}

static void test_act_inside(void **state) {
    const struct variant *v = *state;
    static const char *const texts[] = {"plain", "own", "once"};
    for (size_t i = 0; i < LEN(acts); i++)
        for (size_t t = 0; t < LEN(texts); t++)
            for (unsigned at = 1 + i % v->stride;
                 act_inside(v, texts[t], acts[i], at, true); at += v->stride)
                ;
}

/* Nobody holds the run but its session, which begins the next one inside RUN_END. */
static void test_next_inside_end(void **state) {
    const struct variant *v = *state;
    static act_fn *const next[] = {act_start, act_send, act_close};
    for (size_t i = 0; i < LEN(next); i++)
        for (unsigned at = 1; act_inside(v, "plain", next[i], at, false); at++)
            ;
}

static void on_run_end(chela_run *run, const struct chela_event *ev, void *user) {
    struct office *o = user;
    (void)ev;
    if (run != o->first)
        return; /* a role's, or the next one */
    o->first = NULL;
    o->act(o);
}

/* The same inside a hook: the run that has ended still tells of its end. */
static void test_next_inside_hook(void **state) {
    static act_fn *const next[] = {act_start, act_send, act_close};
    for (size_t i = 0; i < LEN(next); i++) {
        struct office o;
        open_office(&o, *state);
        struct chela_hooks hooks = CHELA_HOOKS(.run_end = on_run_end, .user = &o);
        chela_agent_hooks(o.lead, &hooks, NULL);
        o.act = next[i];
        start(&o, "plain");
        o.first = o.run;
        give_back(&o);
        chela_runtime_run(o.rt);
        assert_int_equal(o.ends, o.closed ? 0 : 2);
        close_office(&o);
    }
}

/* --- a key that is opened again ---------------------------------------------------- */

/* The same key, closed and opened `times` times before the loop turns. */
static void reopen(const struct variant *v, unsigned times, unsigned turns) {
    struct office o;
    struct chela_error err = {0};
    open_office(&o, v);
    turn(&o, turns);
    for (unsigned i = 0; i < times; i++) {
        chela_session_close(o.session);
        assert_int_equal(chela_session_new(o.lead, "s", &o.session, &err), 0);
    }
    if (chela_session_wait(o.session, &err) < 0)
        fail_msg("%u times, %u turns: %s", times, turns, err.message);
    start(&o, "plain");
    chela_run_wait(o.run);
    assert_int_equal(chela_run_reason(o.run), CHELA_REASON_COMPLETED);
    close_office(&o);
}

static void test_reopen(void **state) {
    for (unsigned times = 1; times <= 3; times++)
        for (unsigned turns = 0; turns <= 4; turns++)
            reopen(*state, times, turns);
}

/* A server that accepts connections and never answers; url (64 bytes) gets its address. */
static int open_silent_server(const char *path, char *url) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(server, 8), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&at, &n), 0);
    snprintf(url, 64, "http://127.0.0.1:%d%s", ntohs(at.sin_port), path);
    return server;
}

/* The agent is closed while a local server is asked for the size of its context. */
static void test_closed_while_a_server_is_asked(void **state) {
    char url[64];
    int server = open_silent_server("/v1", url);
    chela_runtime *rt;
    chela_agent *agent;
    chela_session *session;
    struct chela_error err = {0};
    (void)state;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "ollama/m", .base_url = url);
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), 0);
    assert_int_equal(chela_session_new(agent, NULL, &session, &err), 0);
    assert_int_equal(chela_run_start(session, "hi", 2, NULL, NULL, &err), 0);
    for (int i = 0; i < 20; i++)
        chela_runtime_poll(rt);
    chela_session_close(session);
    chela_agent_close(agent);
    for (int i = 0; i < 20; i++)
        chela_runtime_poll(rt);
    chela_runtime_close(rt);
    close(server);
}

static void act_end_telemetry(struct office *o) {
    chela_telemetry_start(o->rt, NULL, NULL);
}
static void act_flush(struct office *o) {
    chela_telemetry_flush(o->rt, 0);
}

/* Flushes the spans of a run, and in the meantime acts in an event of the next run. */
static size_t act_while_flushing(act_fn *act, int64_t timeout_ms) {
    char url[64];
    int server = open_silent_server("", url);
    struct office o;
    open_office(&o, &variants[0]);
    struct chela_telemetry_opts to = CHELA_TELEMETRY_OPTS(.endpoint = url);
    assert_int_equal(chela_telemetry_start(o.rt, &to, NULL), 0);
    start(&o, "plain");
    chela_run_wait(o.run);
    give_back(&o);
    o.act = act;
    o.act_at = o.events + 2;
    start(&o, "plain");
    size_t left = chela_telemetry_flush(o.rt, timeout_ms);
    assert_true(o.acted);
    close_office(&o);
    close(server);
    return left;
}

/* The flush ends when telemetry ends, and does not wait for its time. */
static void test_act_while_flushing(void **state) {
    (void)state;
    assert_int_equal(act_while_flushing(act_end_telemetry, 600000), 0);
    assert_true(act_while_flushing(act_flush, 50) > 0);
}

static void close_other(chela_session *s, const struct chela_error *err, void *user) {
    struct office *o = user;
    (void)s, (void)err;
    chela_session_close(o->other);
}
static void act_close_server(struct office *o) {
    chela_mcp_server_close(o->server);
}
static void act_close_gateway(struct office *o) {
    chela_gateway_close(o->gateway);
}

/* An office with a run whose second event calls `act`. */
static void open_acting_office(struct office *o, act_fn *act) {
    open_office(o, &variants[1]);
    o->act = act;
    o->act_at = 2;
    start(o, "plain");
}

/* A function that waits for an object returns when a callback closes the object. */
static void test_closed_while_waiting(void **state) {
    struct office o;
    (void)state;
    open_office(&o, &variants[1]);
    chela_session_on_ready(o.session, close_other, &o);
    assert_int_equal(chela_session_new(o.lead, "other", &o.other, NULL), 0);
    assert_int_equal(chela_session_wait(o.other, NULL), CHELA_ECANCELED);
    close_office(&o);

    struct chela_mcp_server_opts server = CHELA_MCP_SERVER_OPTS(.name = "n", .version = "1");
    open_acting_office(&o, act_close_server);
    assert_int_equal(chela_mcp_server_new(o.rt, &server, &o.server, NULL), 0);
    assert_int_equal(chela_mcp_server_run(o.server), 0);
    assert_true(o.acted);
    close_office(&o);

    open_acting_office(&o, act_close_gateway);
    chela_agent *const agents[] = {o.lead, NULL};
    struct chela_gateway_opts gateway =
        CHELA_GATEWAY_OPTS(.listen = "127.0.0.1:0", .token = "0123456789abcdef0123456789abcdef",
                           .agents = agents, .store = o.store);
    assert_int_equal(chela_gateway_new(o.rt, &gateway, &o.gateway, NULL), 0);
    assert_int_equal(chela_gateway_run(o.gateway), 0);
    assert_true(o.acted);
    close_office(&o);
}

#define DELEGATING(test)                                                                        \
    cmocka_unit_test_prestate(test, (void *)&variants[0]),                                      \
        cmocka_unit_test_prestate(test, (void *)&variants[1])
#define ALL_WAYS(test)                                                                          \
    DELEGATING(test),                                                                           \
        cmocka_unit_test_prestate(test, (void *)&variants[2]),                                  \
        cmocka_unit_test_prestate(test, (void *)&variants[3])

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_closed_while_a_server_is_asked),
                                       cmocka_unit_test(test_act_while_flushing),
                                       cmocka_unit_test(test_closed_while_waiting),
                                       DELEGATING(test_reopen), ALL_WAYS(test_act_inside),
                                       ALL_WAYS(test_next_inside_end),
                                       DELEGATING(test_next_inside_hook),
                                       ALL_WAYS(test_act_after_resume)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

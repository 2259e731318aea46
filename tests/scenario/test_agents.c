/* test_agents.c -- the life of an agent: closing one that is in use, and what
 * is told about tools that could not be added. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "agent/handle/lookup.h"
#include "chela/gateway.h"
#include "chela/models.h"
#include "support/stage.h"

static const struct fake_reply reply[] = {{.body = A_SAY("hello")}, {.body = A_SAY("again")}};

static size_t agents(const chela_runtime *rt) {
    size_t n = 0;
    for (CH_LIST_EACH(i, &rt->agents))
        n++;
    return n;
}

static void turn(chela_runtime *rt) {
    for (int i = 0; i < 3; i++)
        chela_runtime_poll(rt);
}

static void test_close(void **state) {
    (void)state;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = "other", .model = "scripted/demo");
    chela_agent *other;
    struct stage st;
    STAGE_OPEN(&st, NULL, reply);
    assert_int_equal(chela_agent_new(st.rt, &opts, &other, NULL), 0);
    assert_int_equal(agents(st.rt), 2);
    chela_agent_close(NULL);
    chela_agent_close(other);
    turn(st.rt);
    assert_int_equal(agents(st.rt), 1);
    stage_close(&st);
}

/* It is freed with the last of its sessions, and takes no new one. */
static void test_close_with_sessions(void **state) {
    (void)state;
    struct chela_error err = {0};
    chela_session *late = NULL;
    struct stage st;
    STAGE_OPEN(&st, NULL, reply);
    chela_agent_close(st.agent);
    chela_agent_close(st.agent);
    turn(st.rt);
    assert_int_equal(agents(st.rt), 1);
    assert_int_equal(chela_session_new(st.agent, "late", &late, &err), CHELA_ESTATE);
    assert_non_null(strstr(err.message, "agent main is closed"));
    assert_null(chela_ask(st.agent, "hello?", &err));
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    chela_session_close(st.session);
    turn(st.rt);
    assert_int_equal(agents(st.rt), 0);
    stage_close(&st);
}

static void close_agent(struct stage *st, const struct chela_event *ev) {
    if (ev->type == (enum chela_event_type)st->arg)
        chela_agent_close(st->agent);
}

static void close_both(struct stage *st, const struct chela_event *ev) {
    if (ev->type == (enum chela_event_type)st->arg) {
        chela_agent_close(st->agent);
        chela_session_close(st->session);
    }
}

static void test_close_in_events(void **state) {
    (void)state;
    static const enum chela_event_type types[] = {CHELA_EV_RUN_START, CHELA_EV_TEXT_DELTA,
                                                  CHELA_EV_TURN_END, CHELA_EV_RUN_END};
    for (size_t i = 0; i < CH_LEN(types); i++) {
        struct stage st;
        STAGE_OPEN(&st, NULL, reply);
        st.on_event = close_agent;
        st.arg = types[i];
        stage_play(&st, "go");
        assert_string_equal(stage_verdict(&st), "done/task_completed");
        chela_session_close(st.session);
        turn(st.rt);
        assert_int_equal(agents(st.rt), 0);
        stage_close(&st);
    }
    for (size_t i = 0; i < CH_LEN(types); i++) {
        struct stage st;
        STAGE_OPEN(&st, NULL, reply);
        st.on_event = close_both;
        st.arg = types[i];
        stage_start(&st, "go");
        for (int k = 0; k < 50; k++)
            chela_runtime_poll(st.rt);
        assert_int_equal(agents(st.rt), 0);
        stage_close(&st);
    }
}

static int close_itself(chela_call *call, void *user) {
    chela_agent_close(*(chela_agent **)user);
    chela_result_printf(call, "closed");
    return 0;
}

static void test_close_in_a_tool(void **state) {
    (void)state;
    chela_runtime *rt;
    chela_agent *agent;
    struct chela_error err = {0};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo");
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), 0);
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "end", .description = "End.", .fn = close_itself, .user = &agent,
                        .flags = CHELA_TOOL_ON_LOOP);
    assert_int_equal(chela_agent_add_tool(agent, &tool, &err), 0);
    char *result = chela_agent_call_tool(agent, "end", "{}", &err);
    assert_non_null(result);
    assert_non_null(strstr(result, "closed"));
    chela_free(result);
    turn(rt);
    assert_int_equal(agents(rt), 0);
    chela_runtime_close(rt);
}

static int greet(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "hi");
    return 0;
}

static enum chela_flow close_before(chela_run *run, struct chela_before_tool *call, void *user) {
    (void)run, (void)call;
    chela_agent_close(*(chela_agent **)user);
    return CHELA_GO;
}

/* The agent of a run that is closed in the middle of chela_ask. */
static void test_close_in_ask(void **state) {
    (void)state;
    chela_runtime *rt;
    chela_agent *agent;
    struct chela_error err = {0};
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = "calculate");
    struct chela_hooks hooks = CHELA_HOOKS(.user = &agent, .before_tool = close_before);
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), 0);
    assert_int_equal(chela_agent_hooks(agent, &hooks, &err), 0);
    assert_null(chela_ask(agent, "what is 17 * 23", &err));
    assert_int_equal(err.code, CHELA_ECANCELED);
    assert_non_null(strstr(err.message, "closed"));
    turn(rt);
    assert_int_equal(agents(rt), 0);
    chela_runtime_close(rt);
}

static void test_close_after_ask(void **state) {
    (void)state;
    chela_runtime *rt;
    chela_agent *agent;
    struct chela_error err = {0};
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = "calculate");
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), 0);
    char *answer = chela_ask(agent, "what is 17 * 23", &err);
    assert_non_null(answer);
    chela_free(answer);
    chela_agent_close(agent); /* its own session goes with it */
    turn(rt);
    assert_int_equal(agents(rt), 0);
    chela_runtime_close(rt);
}

/* A gateway keeps those that it serves. */
static void test_close_behind_a_gateway(void **state) {
    (void)state;
    chela_runtime *rt;
    chela_agent *both[3] = {0};
    chela_gateway *gw;
    struct chela_error err = {0};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = "a", .model = "scripted/demo");
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    assert_int_equal(chela_agent_new(rt, &opts, &both[0], &err), 0);
    opts.id = "b";
    assert_int_equal(chela_agent_new(rt, &opts, &both[1], &err), 0);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
        .listen = "127.0.0.1:0", .token = "0123456789abcdef", .agents = both);
    assert_int_equal(chela_gateway_new(rt, &o, &gw, &err), 0);
    chela_agent_close(both[0]);
    turn(rt);
    assert_int_equal(agents(rt), 2);
    o.agents = both + 1; /* the same agent as before, and one less */
    assert_int_equal(chela_gateway_reload(gw, &o, &err), 0);
    turn(rt);
    chela_gateway_close(gw);
    turn(rt);
    assert_int_equal(agents(rt), 1);
    chela_agent_close(both[1]);
    turn(rt);
    assert_int_equal(agents(rt), 0);
    chela_runtime_close(rt);
}

/* A closed agent is not called any more; another of its id is. */
static void test_delegate_to_a_closed_agent(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "other", "{\\\"task\\\":\\\"x\\\"}")},
        {.body = A_SAY("over")}};
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = "other", .model = "scripted/demo");
    chela_agent *other;
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    assert_int_equal(chela_agent_new(st.rt, &opts, &other, NULL), 0);
    assert_int_equal(chela_agent_delegate(st.agent, other, NULL, NULL), 0);
    chela_agent_close(other);
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    if (!strstr(ch_buf_str(&st.log), "tool_result(c1!"))
        fail_msg("%s", ch_buf_str(&st.log));
    stage_close(&st);
}

static void offer_handoff(struct stage *st, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TURN_START && !ch_agent_find(st->rt, "clerk")) {
        struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = "clerk", .model = "scripted/demo");
        chela_agent *clerk;
        assert_int_equal(chela_agent_new(st->rt, &opts, &clerk, NULL), 0);
        assert_int_equal(chela_agent_handoff(st->agent, clerk, NULL), 0);
    }
}

/* The tool `handoff` works for a run that began before the agent had the tool. */
static void test_handoff_offered_late(void **state) {
    (void)state;
    static const struct fake_reply replies[] = {
        {.body = A_USE("c1", "handoff", "{\\\"agent\\\":\\\"clerk\\\"}")}};
    struct stage st;
    STAGE_OPEN(&st, NULL, replies);
    st.on_event = offer_handoff;
    stage_play(&st, "go");
    assert_string_equal(stage_verdict(&st), "done/task_completed");
    if (!strstr(ch_buf_str(&st.log), " handoff "))
        fail_msg("%s", ch_buf_str(&st.log));
    stage_close(&st);
}

static void test_last_error(void **state) {
    (void)state;
    chela_runtime *rt;
    chela_agent *agent;
    struct chela_error err = {0};
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = "calculate");
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), 0);
    assert_int_equal(chela_agent_last_error(agent)->code, 0);
    assert_int_equal(chela_agent_tool(agent, "greet", "Greet.", "{\"type\":...}", greet, NULL),
                     CHELA_EINVAL);
    assert_int_equal(chela_agent_last_error(agent)->code, CHELA_EINVAL);
    assert_non_null(strstr(chela_agent_last_error(agent)->message, "tool greet: schema:"));
    assert_null(chela_ask(agent, "what is 17 * 23", &err));
    assert_string_equal(err.message, chela_agent_last_error(agent)->message);
    char *answer = chela_ask(agent, "what is 17 * 23", &err); /* it was told once */
    assert_non_null(answer);
    chela_free(answer);
    assert_int_equal(chela_agent_remove_tool(agent, "greet", &err), CHELA_ENOENT);
    assert_non_null(strstr(err.message, "greet"));
    assert_int_equal(chela_agent_tool(agent, "greet", "Greet.", NULL, greet, NULL), 0);
    assert_int_equal(chela_agent_tool(agent, "greet", "Greet.", NULL, greet, NULL), CHELA_EEXIST);
    assert_int_equal(chela_agent_tool(NULL, "greet", "Greet.", NULL, greet, NULL), CHELA_EINVAL);
    chela_runtime_close(rt);
}

/* A misspelt name must not make an agent that lacks a tool. */
static void test_unknown_tools(void **state) {
    static const struct {
        const char *tools;
        int rc;
    } cases[] = {{"", 0},         {"read, ls", 0},        {"group:files,memory_*", 0}, {"*", 0},
                 {"no_such_*", 0}, {"read,nope", CHELA_EINVAL}, {"group:nope", CHELA_EINVAL}};
    chela_runtime *rt;
    (void)state;
    assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        chela_agent *agent;
        struct chela_error err = {0};
        struct chela_agent_opts opts =
            CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = cases[i].tools);
        assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), cases[i].rc);
        assert_true(cases[i].rc == 0 || strstr(err.message, "nope'"));
    }
    chela_runtime_close(rt);
}

/* The agents and sessions of a probe end with it. */
static void test_probe(void **state) {
    static const char *const models[] = {"scripted/demo", "scripted//nowhere/rules.yaml"};
    chela_runtime *rt;
    (void)state;
    assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
    for (size_t i = 0; i < CH_LEN(models); i++) {
        struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = models[i]);
        char *report = chela_model_probe(rt, &opts, NULL);
        assert_int_equal(report != NULL, i == 0);
        chela_free(report);
        turn(rt);
        assert_int_equal(agents(rt), 0);
    }
    chela_runtime_close(rt);
}

/* An imported session goes to another agent only where hand-overs lead. */
static void test_imported_handoff(void **state) {
    static const char *const ids[] = {"clerk", "boss"};
    static const char form[] = "{\"chela_session\":1,\"key\":\"%s\",\"agent\":\"main\"}\n"
                               "{\"seq\":1,\"type\":\"state\",\"ts\":1,\"data\":"
                               "{\"run\":\"r\",\"status\":\"idle\",\"agent\":\"%s\"}}\n";
    struct stage st;
    chela_agent *others[2];
    chela_store *store = NULL;
    (void)state;
    stage_open(&st, NULL, NULL, 0);
    assert_int_equal(chela_store_open("memory:", NULL, &store, NULL), 0);
    assert_int_equal(chela_runtime_store(st.rt, store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    for (size_t i = 0; i < CH_LEN(ids); i++) {
        struct chela_agent_opts o = CHELA_AGENT_OPTS(.id = ids[i], .model = "scripted/demo");
        assert_int_equal(chela_agent_new(st.rt, &o, &others[i], NULL), 0);
    }
    assert_int_equal(chela_agent_handoff(st.agent, others[0], NULL), 0);
    for (size_t i = 0; i < CH_LEN(ids); i++) {
        CH_BUF_AUTO text = {0};
        chela_session *s;
        ch_buf_addf(&text, form, ids[i], ids[i]);
        assert_int_equal(chela_store_import(store, text.p, text.n, NULL, NULL, NULL), 0);
        assert_int_equal(chela_session_new(st.agent, ids[i], &s, NULL), 0);
        assert_int_equal(chela_session_wait(s, NULL), 0);
        assert_ptr_equal(s->agent, i == 0 ? others[0] : st.agent);
    }
    stage_close(&st);
    chela_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_close_with_sessions),
        cmocka_unit_test(test_close_in_events),
        cmocka_unit_test(test_close_in_a_tool),
        cmocka_unit_test(test_close_in_ask),
        cmocka_unit_test(test_close_after_ask),
        cmocka_unit_test(test_close_behind_a_gateway),
        cmocka_unit_test(test_delegate_to_a_closed_agent),
        cmocka_unit_test(test_handoff_offered_late),
        cmocka_unit_test(test_imported_handoff),
        cmocka_unit_test(test_last_error),
        cmocka_unit_test(test_unknown_tools),
        cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

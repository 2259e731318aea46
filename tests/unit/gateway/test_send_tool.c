/* test_send_tool.c -- an agent has the tool `sessions_send` while a gateway serves it,
 * and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/api/runtime.h"
#include "agent/handle/agent.h"
#include "base/limits.h"
#include "gateway/request/gateway_state.h"

static chela_agent *new_agent(chela_runtime *rt, const char *send_to) {
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(
        .model = "scripted/demo",
        .gateway = &(struct chela_agent_gateway_opts)CHELA_AGENT_GATEWAY_OPTS(.send_to = send_to));
    struct chela_error err = {0};
    chela_agent *agent;
    assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), 0);
    return agent;
}

static int open_gateway(chela_runtime *rt, chela_agent *agent, const char *listen,
                        chela_gateway **out) {
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
            .listen = listen, .token = "0123456789abcdef",
            .agents = (chela_agent *const[]){agent, NULL});
    struct chela_error err = {0};
    return chela_gateway_new(rt, &o, out, &err);
}

static bool has_tool(const chela_agent *agent) {
    return ch_registry_find(&agent->registry, CH_SV("sessions_send"));
}

static void test_gone_with_its_gateway(void **state) {
    (void)state;
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_gateway *gw, *other;
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    chela_agent *agent = new_agent(rt, "team-*"), *silent = new_agent(rt, NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(open_gateway(rt, agent, "127.0.0.1:0", &gw), 0);
        assert_true(has_tool(agent));
        chela_gateway_close(gw);
        assert_false(has_tool(agent));
    }
    assert_int_equal(open_gateway(rt, silent, "127.0.0.1:0", &other), 0);
    assert_true(open_gateway(rt, agent, chela_gateway_address(other), &gw) < 0);
    assert_false(has_tool(agent));
    chela_gateway_close(other);
    chela_runtime_close(rt);
}

static void test_failed_reload(void **state) {
    (void)state;
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_gateway *gw;
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    chela_agent *agent = new_agent(rt, "team-*"), *next = new_agent(rt, "team-*");
    assert_int_equal(open_gateway(rt, agent, "127.0.0.1:0", &gw), 0);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
            .token = "0123456789abcdef", .tls_cert = "no-such-file",
            .agents = (chela_agent *const[]){agent, next, NULL});
    assert_true(chela_gateway_reload(gw, &o, &err) < 0);
    assert_true(has_tool(agent));
    assert_false(has_tool(next));
    chela_gateway_close(gw);
    chela_runtime_close(rt);
}

static int64_t test_time;

static int64_t clock_now(void *user) {
    (void)user;
    return test_time;
}

static void reload(chela_gateway *gw, chela_agent *const *agents) {
    struct chela_gateway_opts o =
        CHELA_GATEWAY_OPTS(.token = "0123456789abcdef", .agents = agents);
    struct chela_error err = {0};
    assert_int_equal(chela_gateway_reload(gw, &o, &err), 0);
    test_time += CH_DEFAULT_PULSE_MS + 1;
    chela_runtime_poll(gw->rt);
}

/* An agent that is not served any more, and that its owner keeps. */
static void test_gone_after_a_reload(void **state) {
    static const struct ch_clock test_clock = {clock_now, clock_now, NULL};
    (void)state;
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_gateway *gw;
    assert_int_equal(ch_runtime_open(NULL, &test_clock, &rt, &err), 0);
    chela_agent *agent = new_agent(rt, "team-*"), *next = new_agent(rt, "team-*");
    assert_int_equal(open_gateway(rt, agent, "127.0.0.1:0", &gw), 0);
    reload(gw, (chela_agent *const[]){next, agent, NULL});
    assert_true(has_tool(agent));
    reload(gw, (chela_agent *const[]){next, NULL});
    assert_false(has_tool(agent));
    assert_true(has_tool(next));
    reload(gw, (chela_agent *const[]){agent, NULL});
    assert_true(has_tool(agent));
    assert_false(has_tool(next));
    chela_gateway_close(gw);
    assert_false(has_tool(agent));
    chela_runtime_close(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gone_with_its_gateway),
                                       cmocka_unit_test(test_failed_reload),
                                       cmocka_unit_test(test_gone_after_a_reload)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

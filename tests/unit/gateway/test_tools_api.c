/* test_tools_api.c -- POST /tools/invoke: a gateway that is closed as soon as its answer was
 * sent. */
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "chela.h"

#define TOKEN "0123456789abcdef"
#define BODY "{\"tool\":\"add\",\"args\":{}}"

static int add(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "42");
    return 0;
}

static int connect_to(const char *address) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(s, (struct sockaddr *)&at, sizeof(at)), 0);
    return s;
}

static chela_agent *make_agent(chela_runtime *rt) {
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "add", .description = "Add.", .schema = "{\"type\":\"object\"}",
                        .fn = add, .permission = CHELA_PERM_READ, .effect = CHELA_EFFECT_READ,
                        .flags = CHELA_TOOL_ON_LOOP);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = "a", .model = "scripted/demo");
    chela_agent *agent;
    assert_int_equal(chela_agent_new(rt, &opts, &agent, NULL), 0);
    assert_int_equal(chela_agent_add_tool(agent, &tool, NULL), 0);
    return agent;
}

static void test_closed_after_answer(void **state) {
    chela_runtime *rt;
    chela_gateway *gw;
    char answer[2000] = "";
    (void)state;
    assert_int_equal(chela_runtime_new(NULL, &rt, NULL), 0);
    chela_agent *agent = make_agent(rt), *agents[] = {agent, NULL};
    struct chela_gateway_opts opts =
        CHELA_GATEWAY_OPTS(.listen = "127.0.0.1:0", .token = TOKEN, .agents = agents);
    assert_int_equal(chela_gateway_new(rt, &opts, &gw, NULL), 0);
    int s = connect_to(chela_gateway_address(gw));
    dprintf(s, "POST /tools/invoke HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN
               "\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n" BODY,
            sizeof(BODY) - 1);
    struct pollfd p = {.fd = s, .events = POLLIN};
    while (poll(&p, 1, 1) == 0)
        chela_runtime_poll(rt);
    chela_gateway_close(gw);
    chela_agent_close(agent);
    for (int i = 0; i < 3; i++)
        chela_runtime_poll(rt);
    assert_true(read(s, answer, sizeof(answer) - 1) > 0);
    assert_non_null(strstr(answer, "\"content\":\"42\""));
    close(s);
    chela_runtime_close(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_closed_after_answer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

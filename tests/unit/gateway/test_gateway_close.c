/* test_gateway_close.c -- a gateway that is closed while a request waits, or just after an
 * answer. */
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
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

/* --- memory that is in use */

static atomic_long live;

static void *count_malloc(size_t n) {
    live++;
    return malloc(n);
}

static void *count_realloc(void *p, size_t n) {
    live += !p;
    return realloc(p, n);
}

static void count_free(void *p) {
    live -= p != NULL;
    free(p);
}

/* --- a gateway */

static int add(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "42");
    return 0;
}

static void finish(chela_call *call, void *user) {
    (void)user;
    chela_call_finish(call);
}

/* Ends only when it is cancelled. */
static int wait_long(chela_call *call, void *user) {
    *(int *)user += 1;
    chela_call_defer(call);
    chela_call_on_cancel(call, finish, NULL);
    return 0;
}

struct world {
    chela_runtime *rt;
    chela_store *store;
    chela_agent *agent;
    chela_gateway *gw;
    char rules[64]; /* file of the scripted model */
    int waits;      /* calls of the tool that does not end */
};

static void add_tool(struct world *w, const char *name, chela_tool_fn *fn) {
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = name, .description = "A tool.", .schema = "{\"type\":\"object\"}",
                        .fn = fn, .user = &w->waits, .permission = CHELA_PERM_READ,
                        .effect = CHELA_EFFECT_READ, .flags = CHELA_TOOL_ON_LOOP);
    assert_int_equal(chela_agent_add_tool(w->agent, &tool, NULL), 0);
}

static void world_open(struct world *w) {
    static const char text[] = "rules: [{ call: { tool: wait, args: {} } }]\n";
    char model[96];
    *w = (struct world){.rules = "/tmp/rulesXXXXXX.yaml"};
    int fd = mkstemps(w->rules, 5);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    snprintf(model, sizeof(model), "scripted/%s", w->rules);
    assert_int_equal(chela_runtime_new(NULL, &w->rt, NULL), 0);
    assert_int_equal(chela_store_open("memory:", NULL, &w->store, NULL), 0);
    assert_int_equal(chela_runtime_store(w->rt, w->store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = "a", .model = model);
    assert_int_equal(chela_agent_new(w->rt, &opts, &w->agent, NULL), 0);
    add_tool(w, "add", add);
    add_tool(w, "wait", wait_long);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
        .listen = "127.0.0.1:0", .token = TOKEN, .store = w->store,
        .agents = (chela_agent *const[]){w->agent, NULL});
    assert_int_equal(chela_gateway_new(w->rt, &o, &w->gw, NULL), 0);
}

/* polls: passes of the loop before the runtime is closed */
static void world_close(struct world *w, int polls) {
    chela_gateway_close(w->gw);
    chela_agent_close(w->agent);
    for (int i = 0; i < polls; i++)
        chela_runtime_poll(w->rt);
    chela_runtime_close(w->rt);
    chela_store_close(w->store);
    unlink(w->rules);
}

/* Sends a request; session "": none. */
static int ask(const struct world *w, const char *path, const char *session, const char *body) {
    const char *address = chela_gateway_address(w->gw);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(s, (struct sockaddr *)&at, sizeof(at)), 0);
    dprintf(s, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN
               "\r\nContent-Type: application/json\r\n%s%sContent-Length: %zu\r\n\r\n%s",
            path, session, *session ? "\r\n" : "", strlen(body), body);
    return s;
}

static void await_answer(const struct world *w, int s, const char *part) {
    char answer[2000] = "";
    struct pollfd p = {.fd = s, .events = POLLIN};
    while (poll(&p, 1, 1) == 0)
        chela_runtime_poll(w->rt);
    assert_true(read(s, answer, sizeof(answer) - 1) > 0);
    assert_non_null(strstr(answer, part));
}

/* Nothing is left, whether or not the loop ran once more. */
static void test_after_answer(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct world w;
        long before = live;
        world_open(&w);
        int s = ask(&w, "/tools/invoke", "", "{\"tool\":\"add\",\"args\":{}}");
        await_answer(&w, s, "\"content\":\"42\"");
        world_close(&w, i == 1 ? 0 : 3);
        close(s);
        if (i > 0) /* the first one leaves what the process keeps */
            assert_int_equal(live, before);
    }
}

/* The session is busy: the messages wait for their turn. */
static void test_waiting_requests(void **state) {
    static const char chat[] = "{\"model\":\"a\",\"messages\":[{\"role\":\"user\","
                               "\"content\":\"y\"}]}";
    static const char ui[] = "{\"id\":\"s\",\"messages\":[{\"id\":\"m\",\"role\":\"user\","
                             "\"parts\":[{\"type\":\"text\",\"text\":\"z\"}]}]}";
    struct world w;
    (void)state;
    world_open(&w);
    int first = ask(&w, "/api/sessions/s/messages", "", "{\"text\":\"x\"}");
    await_answer(&w, first, "202");
    while (!w.waits)
        chela_runtime_poll(w.rt);
    int second = ask(&w, "/v1/chat/completions", "X-Chela-Session: s", chat);
    int third = ask(&w, "/api/chat", "", ui);
    for (int i = 0; i < 200; i++) {
        chela_runtime_poll(w.rt);
        usleep(1000);
    }
    struct pollfd p[] = {{.fd = second, .events = POLLIN}, {.fd = third, .events = POLLIN}};
    assert_int_equal(poll(p, 2, 0), 0);
    world_close(&w, 3);
    close(first);
    close(second);
    close(third);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_after_answer),
                                       cmocka_unit_test(test_waiting_requests)};
    chela_set_allocator(
        &(struct chela_allocator){count_malloc, count_realloc, count_free, NULL});
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_locale.c -- a gateway in a host whose locale has a decimal comma and its own names of
 * days: what programs read is the same as elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "chela.h"
#include "support/comma_locale.h"

#define TOKEN "0123456789abcdef"

struct world {
    chela_store *store;
    chela_runtime *rt;
    chela_agent *agent;
    chela_gateway *gw;
};

static int begin(void **state) {
    static struct world w;
    struct chela_error err = {0};
    struct chela_price price = CHELA_PRICE(.input = 1.5, .output = 2.5);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = "");
    *state = &w;
    if (!comma_locale_enter())
        return 0; /* the tests see this */
    assert_int_equal(chela_store_open("memory:", NULL, &w.store, &err), 0);
    assert_int_equal(chela_runtime_new(NULL, &w.rt, &err), 0);
    assert_int_equal(chela_runtime_store(w.rt, w.store, CHELA_DURABILITY_DEFAULT, &err), 0);
    assert_int_equal(chela_runtime_price(w.rt, "scripted", "demo", &price, &err), 0);
    assert_int_equal(chela_agent_new(w.rt, &opts, &w.agent, &err), 0);
    struct chela_gateway_opts o =
        CHELA_GATEWAY_OPTS(.listen = "127.0.0.1:0", .token = TOKEN,
                           .agents = (chela_agent *const[]){w.agent, NULL}, .store = w.store);
    assert_int_equal(chela_gateway_new(w.rt, &o, &w.gw, &err), 0);
    char *answer = chela_ask(w.agent, "hello", &err);
    assert_non_null(answer);
    chela_free(answer);
    return 0;
}

static int end(void **state) {
    struct world *w = *state;
    chela_gateway_close(w->gw);
    chela_runtime_close(w->rt);
    chela_store_close(w->store);
    comma_locale_leave();
    return 0;
}

/* The whole answer, head and body. */
static void get(struct world *w, const char *path, struct ch_buf *out) {
    const char *port = strrchr(chela_gateway_address(w->gw), ':') + 1;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)atoi(port))};
    CH_BUF_AUTO ask = {0};
    char bytes[4096];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ssize_t n = -1;

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    ch_buf_addf(&ask, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                      "Authorization: Bearer " TOKEN "\r\n\r\n", path);
    assert_int_equal(write(fd, ask.p, ask.n), ask.n);
    for (int i = 0; i < 20000 && n != 0; i++) {
        chela_runtime_poll(w->rt);
        n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n > 0)
            ch_buf_add(out, bytes, (size_t)n);
        else if (n < 0)
            poll(NULL, 0, 1);
    }
    close(fd);
    assert_int_equal(n, 0);
}

static void expect(const char *text, const char *pattern, bool found) {
    regex_t re;
    assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB), 0);
    if ((regexec(&re, text, 0, NULL, 0) == 0) != found)
        fail_msg("%s %s", found ? "lacks" : "has", pattern);
    regfree(&re);
}

static void test_answers(void **state) {
    struct world *w = *state;
    CH_BUF_AUTO usage = {0}, metrics = {0};
    size_t n = 0;
    if (!w->gw)
        skip();

    get(w, "/api/usage", &usage);
    expect(ch_buf_str(&usage),
           "^[Dd]ate: (Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|"
           "Sep|Oct|Nov|Dec) [0-9]{4} [0-9:]{8} GMT\r$", true);
    const char *body = strstr(ch_buf_str(&usage), "\r\n\r\n") + 4;
    char *cost = chela_json_get(body, strlen(body), "/cost_usd", &n);
    assert_non_null(cost);
    expect(cost, "^0\\.[0-9]+$", true);
    chela_free(cost);

    get(w, "/metrics", &metrics);
    expect(ch_buf_str(&metrics), "^chela_[a-z_]*(\\{[^}]*\\})? [0-9]+,[0-9]", false);
    expect(ch_buf_str(&metrics), "^chela_[a-z_]*(\\{[^}]*\\})? [0-9]+\\.[0-9]", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_answers, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

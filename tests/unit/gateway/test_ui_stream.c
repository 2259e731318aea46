/* test_ui_stream.c -- two pages that are opened again at once: no run is in progress, so both
 * receive 204. The first one's stream, which is not begun, is not shown to the second one. */
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/handle/agent.h"
#include "gateway/http/ui_stream.h"
#include "gateway/request/gateway_state.h"
#include "store/store.h"

#define TOKEN "0123456789abcdef"

struct world {
    chela_store *store;
    chela_runtime *rt;
    chela_gateway *gw;
};

static void begin(struct world *w) {
    struct chela_error err = {0};
    chela_agent *agent;
    assert_int_equal(chela_store_open("memory:", NULL, &w->store, &err), 0);
    assert_int_equal(chela_runtime_new(NULL, &w->rt, &err), 0);
    assert_int_equal(chela_runtime_store(w->rt, w->store, CHELA_DURABILITY_DEFAULT, &err), 0);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = "");
    assert_int_equal(chela_agent_new(w->rt, &opts, &agent, &err), 0);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
            .listen = "127.0.0.1:0", .token = TOKEN,
            .agents = (chela_agent *const[]){agent, NULL}, .store = w->store);
    assert_int_equal(chela_gateway_new(w->rt, &o, &w->gw, &err), 0);
    w->gw->workers = 2; /* other processes may have the session */
}

static void end(struct world *w) {
    w->gw->workers = 0;
    chela_gateway_close(w->gw);
    chela_runtime_close(w->rt);
    chela_store_close(w->store);
}

static int connect_to(const chela_gateway *gw) {
    const char *port = strrchr(chela_gateway_address(gw), ':') + 1;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)atoi(port))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static void ask(int fd) {
    static const char text[] = "GET /api/chat/page/stream HTTP/1.1\r\nHost: localhost\r\n"
                               "Authorization: Bearer " TOKEN "\r\n\r\n";
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
}

static void expect_no_content(struct world *w, int fd) {
    char said[64] = "";
    ssize_t n = -1;
    for (int i = 0; i < 20000 && n < 0; i++) {
        chela_runtime_poll(w->rt);
        poll(NULL, 0, 1);
        n = recv(fd, said, 12, MSG_DONTWAIT);
    }
    assert_string_equal(said, "HTTP/1.1 204");
    close(fd);
}

static void test_two_pages(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    int one = connect_to(w.gw), two = connect_to(w.gw);
    ask(one);
    ask(two);
    expect_no_content(&w, one);
    expect_no_content(&w, two);
    end(&w);
}

static void test_not_begun(void **state) {
    (void)state;
    struct world w;
    begin(&w);
    struct ch_ui_stream *t = ch_ui_stream_new(w.gw, "page", "msg", "");
    assert_null(ch_ui_stream_find(w.gw, CH_SV("page")));
    ch_ui_stream_free(t);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_pages),
                                       cmocka_unit_test(test_not_begun)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

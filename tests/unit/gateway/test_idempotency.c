/* test_idempotency.c -- a request that is repeated with its Idempotency-Key after the store failed:
 * the store may have the message of the first request. Requests to a gateway that drains. */
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

#include "agent/journal/journal.h"
#include "base/error.h"
#include "chela.h"
#include "store/store.h"

#define TOKEN "0123456789abcdef"

/* The next acceptance of an event is committed, but the answer of the store is lost. */
static bool loses_answer;

static int losing_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                         int sync, struct chela_error *err) {
    bool accepts = false;
    for (size_t i = 0; i < n; i++)
        accepts |= changes[i].kind == CHELA_STORE_ACCEPT;
    int rc = ch_store_memory.commit(db, changes, n, sync, err);
    if (!accepts || !loses_answer)
        return rc;
    loses_answer = false;
    return ch_fail(err, CHELA_ENET, "the connection was lost");
}

struct world {
    chela_runtime *rt;
    chela_store *store;
    chela_agent *agent;
    chela_gateway *gw;
};

static void begin_gateway(struct world *w) {
    struct chela_gateway_opts o =
        CHELA_GATEWAY_OPTS(.listen = "127.0.0.1:0", .token = TOKEN, .store = w->store,
                           .agents = (chela_agent *const[]){w->agent, NULL});
    assert_int_equal(chela_gateway_new(w->rt, &o, &w->gw, NULL), 0);
}

static void begin(struct world *w) {
    static struct chela_store_ops ops;
    assert_int_equal(chela_runtime_new(NULL, &w->rt, NULL), 0);
    assert_int_equal(chela_store_open("memory:", NULL, &w->store, NULL), 0);
    ops = ch_store_memory;
    ops.commit = losing_commit;
    w->store->ops = &ops;
    assert_int_equal(chela_runtime_store(w->rt, w->store, CHELA_DURABILITY_DEFAULT, NULL), 0);
    struct chela_agent_opts opts =
        CHELA_AGENT_OPTS(.id = "a", .model = "scripted/demo", .tools = "");
    assert_int_equal(chela_agent_new(w->rt, &opts, &w->agent, NULL), 0);
    begin_gateway(w);
}

static void end(struct world *w) {
    chela_gateway_close(w->gw);
    chela_runtime_close(w->rt);
    chela_store_close(w->store);
}

static int dial(const struct world *w) {
    const char *address = chela_gateway_address(w->gw);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(s, (struct sockaddr *)&at, sizeof(at)), 0);
    return s;
}

/* Sends a request and returns the status of the answer. */
static int ask_on(const struct world *w, int s, const char *path, const char *body) {
    int status = 0;
    char answer[16] = "";
    struct pollfd p = {.fd = s, .events = POLLIN};
    dprintf(s,
            "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN
            "\r\nContent-Type: application/json\r\nX-Chela-Session: s\r\nIdempotency-Key: k\r\n"
            "Content-Length: %zu\r\n\r\n%s",
            path, strlen(body), body);
    while (poll(&p, 1, 1) == 0)
        chela_runtime_poll(w->rt);
    assert_int_equal(read(s, answer, sizeof(answer) - 1), sizeof(answer) - 1);
    assert_int_equal(sscanf(answer, "HTTP/1.1 %d", &status), 1);
    close(s);
    return status;
}

static int ask(const struct world *w, const char *path, const char *body) {
    return ask_on(w, dial(w), path, body);
}

static int count_inbound(const struct chela_store_record *r, void *user) {
    *(int *)user += r->type == CH_REC_INBOUND;
    return 0;
}

static int count_reply(const struct chela_store_record *r, void *user) {
    *(int *)user += r->type == CH_REC_MESSAGE;
    return 0;
}

static void wait_for_reply(const struct world *w) {
    int replies = 0;
    for (int i = 0; i < 20000 && !replies; i++) {
        chela_runtime_poll(w->rt);
        poll(NULL, 0, 1);
        assert_int_equal(chela_store_records(w->store, "s", 1, count_reply, &replies, NULL), 0);
    }
    assert_int_equal(replies, 1);
}

static int count_item(const struct chela_store_item *i, void *user) {
    (void)i;
    ++*(int *)user;
    return 0;
}

/* The messages that the session has taken up, once none waits. */
static int messages(const struct world *w) {
    int waiting = 1, taken = 0;
    for (int i = 0; i < 20000 && waiting; i++) {
        waiting = 0;
        chela_runtime_poll(w->rt);
        poll(NULL, 0, 1);
        assert_int_equal(ch_store_waiting(w->store, "s", 10, count_item, &waiting, NULL), 0);
    }
    assert_int_equal(waiting, 0);
    assert_int_equal(chela_store_records(w->store, "s", 1, count_inbound, &taken, NULL), 0);
    return taken;
}

static const struct {
    const char *path, *body;
} requests[] = {
    {"/api/sessions/s/messages", "{\"text\":\"hello\"}"},
    {"/v1/chat/completions",
     "{\"model\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}"},
    {"/api/chat", "{\"id\":\"s\",\"messages\":[{\"id\":\"m\",\"role\":\"user\","
                  "\"parts\":[{\"type\":\"text\",\"text\":\"hello\"}]}]}"},
};

static void test_one_message(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        struct world w;
        begin(&w);
        loses_answer = true;
        assert_int_equal(ask(&w, requests[i].path, requests[i].body) / 100, 5);
        assert_int_not_equal(ask(&w, requests[i].path, requests[i].body) / 100, 5);
        assert_int_equal(messages(&w), 1);
        end(&w);
    }
}

/* The message of the first request used a budget up: the repetition is refused, and the one after
 * it, on the next day, is no second message. */
static void test_budget(void **state) {
    struct chela_budget all = CHELA_BUDGET(.name = "all", .tokens = 1);
    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        struct world w;
        begin(&w);
        struct chela_gateway_opts o =
            CHELA_GATEWAY_OPTS(.token = TOKEN, .store = w.store,
                               .agents = (chela_agent *const[]){w.agent, NULL},
                               .budgets = (const struct chela_budget *const[]){&all, NULL});
        assert_int_equal(chela_gateway_reload(w.gw, &o, NULL), 0);
        loses_answer = true;
        assert_int_equal(ask(&w, requests[i].path, requests[i].body) / 100, 5);
        wait_for_reply(&w);
        assert_int_equal(ask(&w, requests[i].path, requests[i].body), 429);
        o.budgets = NULL;
        assert_int_equal(chela_gateway_reload(w.gw, &o, NULL), 0);
        assert_int_not_equal(ask(&w, requests[i].path, requests[i].body) / 100, 5);
        assert_int_equal(messages(&w), 1);
        end(&w);
    }
}

/* A request that waits for an answer is refused while the gateway drains, so the client may repeat
 * it; a message is accepted for the next process. */
static void test_drain(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        struct world w;
        begin(&w);
        int s = dial(&w);
        chela_gateway_stop(w.gw, 10000);
        assert_int_equal(ask_on(&w, s, requests[i].path, requests[i].body), i == 0 ? 202 : 503);
        chela_gateway_close(w.gw);
        begin_gateway(&w);
        assert_int_equal(ask(&w, requests[i].path, requests[i].body), i == 0 ? 202 : 200);
        assert_int_equal(messages(&w), 1);
        end(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_message),
                                       cmocka_unit_test(test_budget),
                                       cmocka_unit_test(test_drain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_webhooks.c -- an event that an earlier process accepted and did not
 * deliver is delivered by the next one, once. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "gateway/request/gateway_state.h"
#include "store/store.h"

static void put(chela_store *store, const char *id, const char *data) {
    struct chela_error err = {0};
    struct chela_store_change c = {.kind = CHELA_STORE_ACCEPT,
                                   .id = id,
                                   .key = "hook:deploy:1",
                                   .data = data,
                                   .n = strlen(data),
                                   .now = 1};
    assert_int_equal(ch_store_commit(store, &c, 1, true, &err), 0);
    assert_int_equal(c.rc, 0);
}

static int count(const struct chela_store_item *i, void *user) {
    (void)i;
    ++*(size_t *)user;
    return 0;
}

static size_t left_in_inbox(chela_store *store) {
    struct chela_error err = {0};
    size_t n = 0;
    assert_int_equal(store->ops->items(store->db, CHELA_STORE_INBOX, count, &n, &err), 0);
    return n;
}

/* One life of a gateway; true once the session has an answer. */
static bool live(chela_store *store) {
    struct chela_error err = {0};
    chela_runtime *rt;
    chela_agent *agent;
    chela_gateway *gw;
    bool answered = false;
    assert_int_equal(chela_runtime_new(NULL, &rt, &err), 0);
    assert_int_equal(chela_runtime_store(rt, store, CHELA_DURABILITY_DEFAULT, &err), 0);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo");
    assert_int_equal(chela_agent_new(rt, &opts, &agent, &err), 0);
    struct chela_gateway_hook hook =
        CHELA_GATEWAY_HOOK(.name = "deploy", .secret = "0123456789abcdef");
    const struct chela_gateway_hook *hooks[] = {&hook, NULL};
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
            .listen = "127.0.0.1:0", .token = "0123456789abcdef",
            .agents = (chela_agent *const[]){agent, NULL}, .store = store, .hooks = hooks);
    assert_int_equal(chela_gateway_new(rt, &o, &gw, &err), 0);
    for (int i = 0; i < 2000 && !answered; i++) {
        char *text = NULL;
        chela_runtime_poll(rt);
        poll(NULL, 0, 1);
        if (chela_store_show(store, "hook:deploy:1", &text, NULL) == 0)
            answered = strstr(text, "\"assistant\"") && strstr(text, "\"status\":\"idle\"");
        chela_free(text);
    }
    chela_gateway_close(gw);
    chela_runtime_close(rt);
    return answered;
}

static void test_recovery(void **state) {
    (void)state;
    struct chela_error err = {0};
    chela_store *store;
    char *text;
    assert_int_equal(chela_store_open("memory:", NULL, &store, &err), 0);
    put(store, "hook/deploy/1", "{\"agent\":\"\",\"text\":\"deploy: {}\"}");
    put(store, "mail/1", "{\"text\":\"of somebody else\"}");
    assert_true(live(store));
    assert_int_equal(left_in_inbox(store), 1); /* the other one is not ours */
    assert_true(live(store));
    assert_int_equal(chela_store_show(store, "hook:deploy:1", &text, &err), 0);
    const char *first = strstr(text, "\"role\":\"webhook\"");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\"role\":\"webhook\"")); /* once */
    chela_free(text);
    chela_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recovery)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

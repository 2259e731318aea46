/* test_rpc_peer.c -- calls in both directions over a pretended connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "rpc/rpc_peer.h"

static struct {
    struct ch_loop *loop;
    struct ch_rpc_peer *peer;
    struct ch_buf sent, events;
    struct ch_rpc_request *open;
    int64_t now;
    int send_rc;
    bool close_on_done;
} w;

static int64_t world_now(void *user) {
    (void)user;
    return w.now;
}
static const struct ch_clock world_clock = {world_now, world_now, NULL};

static int world_send(struct ch_sv message, int64_t id, void *tag, void *user) {
    (void)id, (void)tag, (void)user;
    if (w.send_rc < 0)
        return w.send_rc;
    ch_buf_add_sv(&w.sent, message);
    ch_buf_addc(&w.sent, '\n');
    return 0;
}

static void world_gone(struct ch_rpc_request *r) {
    ch_buf_addf(&w.events, "gone %.*s;", CH_SV_FMT(r->id.text));
}

static void world_request(struct ch_rpc_request *r, const struct ch_rpc_message *m, void *user) {
    (void)user;
    ch_buf_addf(&w.events, "request %.*s;", CH_SV_FMT(m->method));
    r->gone = world_gone;
    if (ch_sv_is(m->method, "now"))
        ch_rpc_reply(r, CH_SV("{}"));
    else
        w.open = r;
}

static void world_notification(const struct ch_rpc_message *m, void *user) {
    (void)user;
    ch_buf_addf(&w.events, "note %.*s;", CH_SV_FMT(m->method));
}

static void world_done(const struct ch_rpc_message *m, const struct chela_error *err, void *user) {
    const char *name = user;

    if (m)
        ch_buf_addf(&w.events, "%s=%s;", name, m->kind == CH_RPC_RESULT ? "result" : "error");
    else
        ch_buf_addf(&w.events, "%s!%d;", name, err->code);
    if (w.close_on_done)
        ch_rpc_peer_close(CH_TAKE(w.peer));
}

static int world_open(void **state) {
    (void)state;
    memset(&w, 0, sizeof(w));
    assert_int_equal(ch_loop_new(NULL, &world_clock, &w.loop, NULL), 0);
    w.peer = ch_rpc_peer_new(&(struct ch_rpc_peer_opts){.loop = w.loop,
                                                        .send = world_send,
                                                        .request = world_request,
                                                        .notification = world_notification,
                                                        .cancel_method = "cancelled"});
    return 0;
}

static int world_close(void **state) {
    (void)state;
    ch_rpc_peer_close(w.peer);
    ch_loop_close(w.loop, NULL, NULL);
    ch_buf_release(&w.sent);
    ch_buf_release(&w.events);
    return 0;
}

static int64_t call(const char *name, int64_t timeout_ms) {
    return ch_rpc_call(w.peer, "m", ch_sv(NULL, 0), timeout_ms, NULL, world_done, (void *)name);
}

static int receive(const char *text) {
    return ch_rpc_receive(w.peer, ch_sv_str(text), NULL);
}

static void expect_events(const char *want) {
    assert_string_equal(ch_buf_str(&w.events), want);
    ch_buf_clear(&w.events);
}

#define HEAD "{\"jsonrpc\":\"2.0\","

static void test_responses(void **state) {
    (void)state;
    assert_int_equal(call("a", 0), 1);
    assert_int_equal(ch_rpc_next_id(w.peer), 2);
    assert_int_equal(call("b", 0), 2);
    assert_string_equal(ch_buf_str(&w.sent), HEAD "\"id\":1,\"method\":\"m\"}\n" HEAD
                                                  "\"id\":2,\"method\":\"m\"}\n");
    receive(HEAD "\"id\":2,\"result\":{}}");
    receive(HEAD "\"id\":2,\"result\":{}}");     /* twice */
    receive(HEAD "\"id\":\"1\",\"result\":{}}"); /* a string */
    receive(HEAD "\"id\":77,\"result\":{}}");
    expect_events("b=result;");
    receive(HEAD "\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}}");
    expect_events("a=error;");
}

static void test_broken_responses(void **state) {
    static const char *const broken[] = {
        HEAD "\"id\":%d}",
        HEAD "\"id\":%d,\"result\":{},\"error\":{\"code\":1}}",
        HEAD "\"id\":%d,\"error\":\"no\"}",
        "{\"id\":%d,\"result\":{}}",
    };
    CH_BUF_AUTO want = {0};

    (void)state;
    ch_buf_addf(&want, "a!%d;", CHELA_EPROTO);
    for (size_t i = 0; i < CH_LEN(broken); i++) {
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&text, broken[i], (int)call("a", 0));
        ch_buf_clear(&w.sent);
        receive(ch_buf_str(&text));
        expect_events(ch_buf_str(&want));
        assert_int_equal(w.sent.n, 0); /* a response is not answered */
    }
    call("a", 0);
    receive(HEAD "\"id\":5,\"method\":7}"); /* a request of the other side */
    expect_events("");
}

static void test_time_limit(void **state) {
    int64_t id = call("a", 100);

    (void)state;
    call("b", 0);
    w.now = 90;
    ch_loop_tick(w.loop);
    ch_rpc_touch(w.peer, id);
    w.now = 150;
    ch_loop_tick(w.loop);
    expect_events("");
    w.now = 190;
    ch_buf_clear(&w.sent);
    ch_loop_tick(w.loop);
    CH_BUF_AUTO want = {0};
    ch_buf_addf(&want, "a!%d;", CHELA_ETIMEOUT);
    expect_events(ch_buf_str(&want));
    assert_string_equal(ch_buf_str(&w.sent),
                        HEAD "\"method\":\"cancelled\",\"params\":{\"requestId\":1,"
                             "\"reason\":\"timeout\"}}\n");
    receive(HEAD "\"id\":1,\"result\":{}}");
    expect_events("");
    ch_rpc_touch(w.peer, id); /* the call has ended */
    w.now = 400;
    ch_loop_tick(w.loop);
    expect_events("");
}

static void test_failures_come_later(void **state) {
    (void)state;
    w.send_rc = CHELA_ENET;
    call("a", 0);
    expect_events("");
    ch_loop_tick(w.loop);
    CH_BUF_AUTO want = {0};
    ch_buf_addf(&want, "a!%d;", CHELA_ENET);
    expect_events(ch_buf_str(&want));
    w.send_rc = 0;
    int64_t b = call("b", 0), c = call("c", 1000);
    ch_rpc_fail(w.peer, b, &(struct chela_error){.code = CHELA_EIO});
    ch_rpc_fail(w.peer, c, &(struct chela_error){.code = CHELA_EIO});
    receive(HEAD "\"id\":2,\"result\":{}}");
    expect_events("");
    ch_loop_tick(w.loop);
    ch_buf_clear(&want);
    ch_buf_addf(&want, "b!%d;c!%d;", CHELA_EIO, CHELA_EIO);
    expect_events(ch_buf_str(&want));
}

static void test_forgotten_calls_are_cancelled(void **state) {
    int64_t id = call("a", 0);

    (void)state;
    ch_buf_clear(&w.sent);
    ch_rpc_forget(w.peer, id, true);
    ch_rpc_forget(w.peer, id, true);
    receive(HEAD "\"id\":1,\"result\":{}}");
    expect_events("");
    assert_string_equal(ch_buf_str(&w.sent),
                        HEAD "\"method\":\"cancelled\",\"params\":{\"requestId\":1,"
                             "\"reason\":\"cancelled\"}}\n");
}

static void test_requests(void **state) {
    (void)state;
    receive(HEAD "\"id\":\"x\",\"method\":\"now\"}");
    receive(HEAD "\"method\":\"hello\"}");
    expect_events("request now;note hello;");
    assert_string_equal(ch_buf_str(&w.sent), HEAD "\"id\":\"x\",\"result\":{}}\n");
    ch_buf_clear(&w.sent);
    receive(HEAD "\"id\":5,\"method\":\"later\"}");
    receive(HEAD "\"id\":5,\"method\":\"now\"}"); /* the same id */
    assert_string_equal(ch_buf_str(&w.sent),
                        HEAD "\"id\":5,\"error\":{\"code\":-32600,\"message\":"
                             "\"a request with this id is open\"}}\n");
    ch_buf_clear(&w.sent);
    ch_rpc_refuse(w.open, CH_RPC_INVALID_PARAMS, "no", CH_SV("{}"));
    assert_string_equal(ch_buf_str(&w.sent),
                        HEAD "\"id\":5,\"error\":{\"code\":-32602,\"message\":\"no\","
                             "\"data\":{}}}\n");
}

static void test_cancelled_requests_get_no_answer(void **state) {
    (void)state;
    receive(HEAD "\"id\":5,\"method\":\"later\"}");
    receive(HEAD "\"method\":\"cancelled\",\"params\":{\"requestId\":\"5\"}}");
    receive(HEAD "\"method\":\"cancelled\",\"params\":{\"requestId\":{}}}");
    expect_events("request later;");
    receive(HEAD "\"method\":\"cancelled\",\"params\":{\"requestId\":5}}");
    receive(HEAD "\"method\":\"cancelled\",\"params\":{\"requestId\":5}}");
    expect_events("gone 5;");
    ch_rpc_reply(w.open, CH_SV("{}"));
    assert_int_equal(w.sent.n, 0);
}

static void test_cancelled_requests_are_answered(void **state) {
    (void)state;
    ch_rpc_peer_close(w.peer);
    w.peer = ch_rpc_peer_new(&(struct ch_rpc_peer_opts){.loop = w.loop,
                                                        .send = world_send,
                                                        .request = world_request,
                                                        .cancel_method = "cancelled",
                                                        .answers_cancelled = true});
    receive(HEAD "\"id\":5,\"method\":\"later\"}");
    receive(HEAD "\"method\":\"cancelled\",\"params\":{\"requestId\":5}}");
    ch_rpc_reply(w.open, CH_SV("{}"));
    assert_string_equal(ch_buf_str(&w.sent), HEAD "\"id\":5,\"result\":{}}\n");
}

static void test_open_requests_are_bounded(void **state) {
    struct ch_rpc_request *open[CH_LIMIT_RPC_REQUESTS];
    CH_BUF_AUTO text = {0};

    (void)state;
    for (int i = 0; i < CH_LIMIT_RPC_REQUESTS; i++) {
        ch_buf_clear(&text);
        ch_buf_addf(&text, HEAD "\"id\":%d,\"method\":\"later\"}", i);
        receive(ch_buf_str(&text));
        open[i] = w.open;
    }
    assert_int_equal(w.sent.n, 0);
    receive(HEAD "\"id\":999,\"method\":\"now\"}");
    assert_string_equal(ch_buf_str(&w.sent), HEAD "\"id\":999,\"error\":{\"code\":-32603,"
                                                  "\"message\":\"too many requests are open\"}}\n");
    ch_rpc_peer_close(CH_TAKE(w.peer)); /* requests outlive the peer */
    for (int i = 0; i < CH_LIMIT_RPC_REQUESTS; i++)
        ch_rpc_reply(open[i], CH_SV("{}"));
}

static void test_open_calls_are_bounded(void **state) {
    CH_BUF_AUTO want = {0};

    (void)state;
    ch_buf_addf(&want, "b!%d;", CHELA_ELIMIT);
    for (int i = 0; i < CH_LIMIT_RPC_CALLS; i++)
        assert_true(call("a", 0) > 0);
    ch_buf_clear(&w.sent);
    assert_true(call("b", 0) > 0);
    ch_rpc_forget(w.peer, call("c", 0), true);
    expect_events("");
    ch_loop_tick(w.loop);
    expect_events(ch_buf_str(&want));
    assert_int_equal(w.sent.n, 0); /* neither the calls, nor that one is cancelled */
}

static void test_garbage_is_answered(void **state) {
    (void)state;
    assert_int_equal(receive("garbage"), CHELA_EPARSE);
    assert_int_equal(receive("{\"id\":3}"), CHELA_EPROTO);
    assert_non_null(strstr(ch_buf_str(&w.sent), "\"id\":null,\"error\":{\"code\":-32700"));
    assert_non_null(strstr(ch_buf_str(&w.sent), "\"id\":3,\"error\":{\"code\":-32600"));
}

static void test_batches(void **state) {
    CH_BUF_AUTO long_batch = {0};

    (void)state;
    assert_int_equal(receive("[" HEAD "\"id\":1,\"method\":\"now\"}]"), CHELA_EPROTO);
    assert_non_null(strstr(ch_buf_str(&w.sent), "\"id\":null,\"error\":{\"code\":-32600"));
    ch_rpc_accept_batches(w.peer, true);
    ch_buf_clear(&w.sent);
    for (int i = 0; i <= CH_LIMIT_RPC_BATCH; i++)
        ch_buf_addf(&long_batch, "%s1", i ? "," : "[");
    ch_buf_addc(&long_batch, ']');
    assert_int_equal(receive(ch_buf_str(&long_batch)), CHELA_ELIMIT);
    assert_int_equal(receive("[]"), CHELA_EPROTO);
    assert_int_equal(receive("[" HEAD "\"method\":\"note\"}]"), 1);
    expect_events("note note;");
    ch_buf_clear(&w.sent);
    call("a", 0);
    ch_buf_clear(&w.sent);
    receive("[" HEAD "\"id\":1,\"result\":1}," HEAD "\"id\":7,\"method\":\"later\"},{\"id\":8},"
            HEAD "\"id\":9,\"method\":\"now\"}]");
    expect_events("a=result;request later;request now;");
    assert_int_equal(w.sent.n, 0);
    ch_rpc_reply(w.open, CH_SV("{}"));
    assert_string_equal(ch_buf_str(&w.sent),
                        "[" HEAD "\"id\":8,\"error\":{\"code\":-32600,\"message\":\"the "
                        "member jsonrpc is not \\\"2.0\\\"\"}}," HEAD "\"id\":9,\"result\":{}},"
                        HEAD
                        "\"id\":7,\"result\":{}}]\n");
}

static void test_cancelled_in_a_batch(void **state) {
    (void)state;
    ch_rpc_accept_batches(w.peer, true);
    receive("[" HEAD "\"id\":1,\"method\":\"later\"}," HEAD "\"id\":2,\"method\":\"now\"}]");
    receive(HEAD "\"method\":\"cancelled\",\"params\":{\"requestId\":1}}");
    assert_false(ch_rpc_is_silent(w.open));
    ch_rpc_reply(w.open, CH_SV("{}"));
    assert_string_equal(ch_buf_str(&w.sent), "[" HEAD "\"id\":2,\"result\":{}}]\n");
    receive("[" HEAD "\"id\":1,\"method\":\"later\"}]");
    receive(HEAD "\"method\":\"cancelled\",\"params\":{\"requestId\":1}}");
    assert_true(ch_rpc_is_silent(w.open));
    ch_buf_clear(&w.sent);
    ch_rpc_reply(w.open, CH_SV("{}"));
    assert_int_equal(w.sent.n, 0);
}

/* Results that are too large together become errors; the batch is complete. */
static void test_large_batch(void **state) {
    CH_BUF_AUTO result = {0};

    (void)state;
    for (size_t i = 0; i < CH_LIMIT_RPC_MESSAGE * 2 / 3; i++)
        ch_buf_addc(&result, '1');
    ch_rpc_accept_batches(w.peer, true);
    receive("[" HEAD "\"id\":1,\"method\":\"later\"}]");
    struct ch_rpc_request *alone = w.open;
    receive("[" HEAD "\"id\":2,\"method\":\"later\"}," HEAD "\"id\":3,\"method\":\"later\"}]");
    struct ch_rpc_request *third = w.open;
    ch_rpc_reply(alone, ch_buf_sv(&result));
    assert_true(w.sent.n > result.n);
    ch_buf_clear(&w.sent);
    ch_rpc_reply(CH_CONTAINER(third->link.prev, struct ch_rpc_request, link), ch_buf_sv(&result));
    ch_rpc_reply(third, ch_buf_sv(&result));
    assert_true(w.sent.n > result.n && w.sent.n < CH_LIMIT_RPC_MESSAGE);
    assert_non_null(strstr(ch_buf_str(&w.sent) + result.n, "\"id\":3,\"error\""));
}

static struct ch_rpc_request *open_batch(const char *first, const char *second) {
    CH_BUF_AUTO text = {0};

    ch_buf_addf(&text, "[" HEAD "\"id\":%s,\"method\":\"later\"}," HEAD
                "\"id\":%s,\"method\":\"later\"}]", first, second);
    receive(ch_buf_str(&text));
    return CH_CONTAINER(w.open->link.prev, struct ch_rpc_request, link);
}

/* Answers that wait for the rest of their batches have one limit for all batches. */
static void test_large_batches(void **state) {
    CH_BUF_AUTO result = {0};

    (void)state;
    for (size_t i = 0; i < CH_LIMIT_RPC_MESSAGE * 2 / 3; i++)
        ch_buf_addc(&result, '1');
    ch_rpc_accept_batches(w.peer, true);
    struct ch_rpc_request *one = open_batch("1", "2"), *two = w.open;
    struct ch_rpc_request *three = open_batch("3", "4"), *four = w.open;
    ch_rpc_reply(one, ch_buf_sv(&result));
    ch_rpc_reply(three, ch_buf_sv(&result));
    ch_rpc_reply(four, CH_SV("4"));
    assert_non_null(strstr(ch_buf_str(&w.sent), "\"id\":3,\"error\""));
    assert_non_null(strstr(ch_buf_str(&w.sent), "\"id\":4,\"result\":4"));
    ch_buf_clear(&w.sent);
    ch_rpc_reply(two, CH_SV("2"));
    assert_true(w.sent.n > result.n);
    ch_buf_clear(&w.sent);
    struct ch_rpc_request *five = open_batch("5", "6");
    ch_rpc_reply(five, ch_buf_sv(&result)); /* the first batch has made room */
    ch_rpc_reply(w.open, CH_SV("6"));
    assert_true(w.sent.n > result.n);
}

static void test_closed_in_a_callback(void **state) {
    (void)state;
    w.close_on_done = true;
    call("a", 0);
    call("b", 10);
    receive(HEAD "\"id\":1,\"result\":{}}");
    w.now = 1000;
    ch_loop_tick(w.loop);
    expect_events("a=result;");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_responses),
        TEST(test_broken_responses),
        TEST(test_time_limit),
        TEST(test_failures_come_later),
        TEST(test_forgotten_calls_are_cancelled),
        TEST(test_requests),
        TEST(test_cancelled_requests_get_no_answer),
        TEST(test_cancelled_requests_are_answered),
        TEST(test_open_requests_are_bounded),
        TEST(test_open_calls_are_bounded),
        TEST(test_garbage_is_answered),
        TEST(test_batches),
        TEST(test_cancelled_in_a_batch),
        TEST(test_large_batch),
        TEST(test_large_batches),
        TEST(test_closed_in_a_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

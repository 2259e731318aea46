/* test_exporter.c -- batches, repetitions and losses, against a transport and a clock of the
 * test; and the settings from options and variables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/mem.h"
#include "otel/exporter.h"

struct env {
    struct ch_transport transport; /* first */
    struct ch_clock clock;
    int64_t now;
    struct ch_loop *loop;
    struct ch_otel_signal_settings settings;
    struct ch_otel_exporter *exporter;
    const struct ch_http_handler *handler; /* of the request in flight; NULL: none */
    void *user;
    struct ch_buf body;
    unsigned requests, cancelled;
};

static int64_t read_time(void *user) {
    return ((struct env *)user)->now;
}

static struct ch_http_call *start(struct ch_transport *t, const struct ch_http_request *req,
                                  const struct ch_http_handler *handler, void *user) {
    struct env *e = (struct env *)t;
    assert_null(e->handler);
    assert_string_equal(req->method, "POST");
    e->handler = handler;
    e->user = user;
    e->requests++;
    ch_buf_clear(&e->body);
    for (size_t i = 0; i < req->nbody; i++)
        ch_buf_add_sv(&e->body, req->body[i]);
    return (struct ch_http_call *)e;
}

static void cancel(struct ch_transport *t, struct ch_http_call *call) {
    struct env *e = (struct env *)t;
    (void)call;
    e->handler = NULL;
    e->cancelled++;
}

static const struct ch_transport_ops ops = {"test", start, cancel};

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));
    struct ch_otel_frame frame = {CH_SV("{}"), CH_SV("{}")};
    e->transport.ops = &ops;
    e->clock = (struct ch_clock){read_time, read_time, e};
    e->now = 1000000;
    e->settings = (struct ch_otel_signal_settings){.url = "http://127.0.0.1/v1/traces",
                                                   .json = true,
                                                   .timeout_ms = 1000,
                                                   .delay_ms = 5000,
                                                   .queue = 8,
                                                   .batch = 4};
    *state = e;
    int rc = ch_loop_new(NULL, &e->clock, &e->loop, NULL);
    e->exporter =
        ch_otel_exporter_new(e->loop, &e->transport, CH_OTEL_TRACES, &e->settings, &frame);
    return rc;
}

static int tear_down(void **state) {
    struct env *e = *state;
    ch_otel_exporter_free(e->exporter);
    ch_loop_close(e->loop, NULL, NULL);
    ch_buf_release(&e->body);
    ch_free(e);
    return 0;
}

static void pass_time(struct env *e, int64_t ms) {
    e->now += ms;
    ch_loop_tick(e->loop);
}

static void add(struct env *e, const char *item) {
    ch_buf_add_str(ch_otel_exporter_begin(e->exporter), item);
    ch_otel_exporter_end(e->exporter);
}

static void answer_with(struct env *e, int status, const char *after, const char *body) {
    struct ch_header header = {CH_SV("retry-after"), ch_sv_str(after ? after : "")};
    struct ch_http_head head = {status, &header, after != NULL};
    const struct ch_http_handler *h = CH_TAKE(e->handler);
    assert_non_null(h);
    h->on_head(&head, e->user);
    h->on_data(ch_sv_str(body), e->user);
    h->on_done(NULL, e->user);
}

static void answer(struct env *e, int status) {
    answer_with(e, status, NULL, "{}");
}

static bool sent(const struct env *e, const char *text) {
    return strstr(ch_buf_str(&e->body), text) != NULL;
}

static void test_waits_for_a_batch(void **state) {
    struct env *e = *state;
    add(e, "\"a\"");
    add(e, "\"b\"");
    pass_time(e, 4999);
    assert_int_equal(e->requests, 0);
    pass_time(e, 2);
    assert_int_equal(e->requests, 1);
    assert_true(sent(e, "\"spans\":[\"a\",\"b\"]"));
    answer(e, 200);
    assert_int_equal(ch_otel_exporter_pending(e->exporter), 0);
}

static void test_full_batch_is_sent_at_once(void **state) {
    struct env *e = *state;
    for (unsigned i = 0; i < 4; i++)
        add(e, "1");
    assert_int_equal(e->requests, 1);
    add(e, "2");
    assert_int_equal(e->requests, 1); /* one at a time */
    answer(e, 200);
    assert_int_equal(e->requests, 1);
    ch_otel_exporter_flush(e->exporter, NULL, NULL);
    assert_int_equal(e->requests, 2);
    answer(e, 200);
}

static void count_drained(void *user) {
    ++*(unsigned *)user;
}

/* The end of a flush is reported once: after the last request, at once if nothing waits, and after
 * items that are lost. */
static void test_drained(void **state) {
    struct env *e = *state;
    unsigned drained = 0;
    ch_otel_exporter_flush(e->exporter, count_drained, &drained);
    assert_int_equal(drained, 1);
    for (unsigned i = 0; i < 6; i++)
        add(e, "1");
    ch_otel_exporter_flush(e->exporter, count_drained, &drained);
    answer(e, 200);
    assert_int_equal(drained, 1);
    answer(e, 200);
    assert_int_equal(drained, 2);
    add(e, "2");
    ch_otel_exporter_flush(e->exporter, count_drained, &drained);
    answer(e, 400);
    assert_int_equal(drained, 3);
    for (unsigned i = 0; i < 4; i++)
        add(e, "3"); /* a batch, which no flush asked for */
    answer(e, 200);
    assert_int_equal(drained, 3);
}

static void test_oldest_is_dropped(void **state) {
    struct env *e = *state;
    for (unsigned i = 0; i < 4; i++)
        add(e, "\"first\""); /* in flight */
    add(e, "\"old\"");
    for (unsigned i = 0; i < 8; i++)
        add(e, "\"new\"");
    assert_int_equal(ch_otel_exporter_pending(e->exporter), 4 + 8);
    answer(e, 200);
    assert_false(sent(e, "old"));
    answer(e, 200);
    answer(e, 200);
    assert_int_equal(ch_otel_exporter_pending(e->exporter), 0);
}

/* However large the items are. */
static void test_bytes_are_bounded(void **state) {
    struct env *e = *state;
    size_t size = CH_LIMIT_OTEL_BYTES / 3 - 16; /* and what separates items */
    char *big = ch_alloc(size + 1);
    memset(big, '1', size);
    e->settings.batch = 100;
    e->settings.queue = 100;
    for (unsigned i = 0; i < 20; i++)
        add(e, big);
    assert_int_equal(ch_otel_exporter_pending(e->exporter), 3);
    ch_otel_exporter_flush(e->exporter, NULL, NULL);
    assert_int_equal(ch_otel_exporter_pending(e->exporter), 3); /* a request has one of them */
    assert_true(e->body.n < CH_LIMIT_OTEL_BODY + 1024);
    ch_free(big);
}

/* The lengths of the outer messages count the items. */
static void test_protobuf(void **state) {
    struct env *e = *state;
    e->settings.json = false;
    add(e, "abc");
    add(e, "");
    ch_otel_exporter_flush(e->exporter, NULL, NULL);
    /* ResourceSpans{resource, ScopeSpans{scope, "abc", "", schema URL}} */
    static const char head[] = "\x0a\x3a\x0a\x02{}\x12\x34\x0a\x02{}\x12\x03"
                               "abc\x12\x00\x1a\x27https://";
    assert_int_equal(e->body.n, 2 + 0x3a);
    assert_memory_equal(e->body.p, head, sizeof(head) - 1);
    answer(e, 200);
}

static void test_repeats(void **state) {
    static const int statuses[] = {429, 502, 503, 504};
    struct env *e = *state;
    add(e, "\"a\"");
    ch_otel_exporter_flush(e->exporter, NULL, NULL);
    for (unsigned i = 0; i < CH_LEN(statuses); i++) {
        answer(e, statuses[i]);
        pass_time(e, 60001);
        assert_int_equal(e->requests, i + 2);
        assert_true(sent(e, "\"a\""));
    }
    answer(e, 200);
    assert_int_equal(ch_otel_exporter_pending(e->exporter), 0);
}

static void test_heeds_retry_after(void **state) {
    struct env *e = *state;
    add(e, "\"a\"");
    ch_otel_exporter_flush(e->exporter, NULL, NULL);
    answer_with(e, 429, "20", "");
    ch_otel_exporter_flush(e->exporter, NULL, NULL); /* does not shorten the wait */
    pass_time(e, 19000);
    assert_int_equal(e->requests, 1);
    pass_time(e, 1001);
    assert_int_equal(e->requests, 2);
    answer_with(e, 503, "999999999", "");
    pass_time(e, CH_LIMIT_OTEL_RETRY_MS + 1);
    assert_int_equal(e->requests, 3);
    struct chela_error err = {.code = CHELA_ENET, .message = "refused"};
    CH_TAKE(e->handler)->on_done(&err, e->user); /* the delay was that of an earlier answer */
    pass_time(e, 4 * CH_DEFAULT_OTEL_RETRY_MS + 1);
    assert_int_equal(e->requests, 4);
}

static void test_gives_up(void **state) {
    struct env *e = *state;
    add(e, "\"a\"");
    ch_otel_exporter_flush(e->exporter, NULL, NULL);
    while (e->handler) {
        answer(e, 503);
        pass_time(e, CH_LIMIT_OTEL_RETRY_MS + 1);
    }
    assert_int_equal(e->requests, CH_LIMIT_OTEL_ATTEMPTS + 1);
    assert_int_equal(ch_otel_exporter_pending(e->exporter), 0);
}

static void test_does_not_repeat_refusals(void **state) {
    static const int statuses[] = {301, 400, 401, 404, 413, 500};
    struct env *e = *state;
    for (unsigned i = 0; i < CH_LEN(statuses); i++) {
        add(e, "\"a\"");
        ch_otel_exporter_flush(e->exporter, NULL, NULL);
        answer(e, statuses[i]);
        pass_time(e, CH_LIMIT_OTEL_RETRY_MS);
        assert_int_equal(e->requests, i + 1);
        assert_int_equal(ch_otel_exporter_pending(e->exporter), 0);
    }
}

static void test_connection_fails(void **state) {
    struct env *e = *state;
    struct chela_error err = {.code = CHELA_ENET, .message = "refused"};
    add(e, "\"a\"");
    ch_otel_exporter_flush(e->exporter, NULL, NULL);
    CH_TAKE(e->handler)->on_done(&err, e->user);
    pass_time(e, 1001);
    assert_int_equal(e->requests, 2);
}

static void test_free_cancels(void **state) {
    struct env *e = *state;
    struct ch_otel_frame frame = {CH_SV("{}"), CH_SV("{}")};
    add(e, "\"a\"");
    ch_otel_exporter_flush(e->exporter, NULL, NULL);
    ch_otel_exporter_free(e->exporter);
    assert_int_equal(e->cancelled, 1);
    e->exporter =
        ch_otel_exporter_new(e->loop, &e->transport, CH_OTEL_LOGS, &e->settings, &frame);
}

/* --- settings */

static const char *variables[16]; /* name, value, ..., NULL */

static const char *variable(const char *name, void *user) {
    (void)user;
    for (size_t i = 0; variables[i]; i += 2)
        if (strcmp(variables[i], name) == 0)
            return variables[i + 1];
    return NULL;
}

static bool settings(struct ch_otel_settings *s, struct ch_arena *a, const char *endpoint,
                     const char *const *given) {
    struct chela_telemetry_opts opts = CHELA_TELEMETRY_OPTS(.endpoint = endpoint);
    size_t n = 0;
    for (; given && given[n]; n++)
        variables[n] = given[n];
    variables[n] = NULL;
    return ch_otel_settings_read(s, &opts, variable, NULL, a);
}
#define GIVEN(...) (const char *const[]){__VA_ARGS__, NULL}

static void test_settings(void **state) {
    CH_ARENA_AUTO a = {0};
    struct ch_otel_settings s;
    (void)state;
    assert_false(settings(&s, &a, NULL, NULL));
    assert_true(settings(&s, &a, "http://h:1/base/", NULL));
    assert_string_equal(s.signals[CH_OTEL_TRACES].url, "http://h:1/base/v1/traces");
    assert_string_equal(s.signals[CH_OTEL_METRIC_SIGNAL].url, "http://h:1/base/v1/metrics");
    assert_string_equal(s.signals[CH_OTEL_LOGS].url, "http://h:1/base/v1/logs");
    assert_true(s.signals[CH_OTEL_TRACES].json);
    assert_string_equal(s.service, "chela");
    assert_false(s.content);
    assert_int_equal(s.signals[CH_OTEL_TRACES].timeout_ms, 10000);
    assert_false(settings(&s, &a, "http://h:1", GIVEN("OTEL_SDK_DISABLED", "True")));
    assert_false(settings(&s, &a, "ftp://h", NULL));
    assert_true(settings(&s, &a, NULL, GIVEN("OTEL_TRACES_EXPORTER", "otlp")));
    assert_string_equal(s.signals[CH_OTEL_TRACES].url, "http://localhost:4318/v1/traces");
    assert_null(s.signals[CH_OTEL_LOGS].url);
}

static void test_variables_win(void **state) {
    CH_ARENA_AUTO a = {0};
    struct ch_otel_settings s;
    (void)state;
    assert_true(settings(&s, &a, "http://file:1",
                         GIVEN("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:2",
                               "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://logs:3/x",
                               "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf",
                               "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/json",
                               "OTEL_METRICS_EXPORTER", "none")));
    assert_string_equal(s.signals[CH_OTEL_TRACES].url, "http://all:2/v1/traces");
    assert_string_equal(s.signals[CH_OTEL_LOGS].url, "http://logs:3/x");
    assert_null(s.signals[CH_OTEL_METRIC_SIGNAL].url);
    assert_false(s.signals[CH_OTEL_TRACES].json);
    assert_true(s.signals[CH_OTEL_LOGS].json);
}

static void test_odd_variables(void **state) {
    CH_ARENA_AUTO a = {0};
    struct ch_otel_settings s;
    (void)state;
    assert_true(settings(&s, &a, "http://h:1",
                         GIVEN("OTEL_EXPORTER_OTLP_HEADERS", "a=1,, b = 2%20x ,nothing,=x,c=%0d",
                               "OTEL_RESOURCE_ATTRIBUTES", "service.name=n,k=v",
                               "OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "OTEL_BSP_MAX_QUEUE_SIZE",
                               "99999999999", "OTEL_TRACES_SAMPLER", "traceidratio",
                               "OTEL_TRACES_SAMPLER_ARG", "7")));
    const struct ch_otel_signal_settings *t = &s.signals[CH_OTEL_TRACES];
    assert_int_equal(t->nheaders, 3);
    assert_true(ch_sv_is(t->headers[1].name, "a") && ch_sv_is(t->headers[1].value, "1"));
    assert_true(ch_sv_is(t->headers[2].name, "b") && ch_sv_is(t->headers[2].value, "2 x"));
    assert_string_equal(s.service, "n");
    assert_int_equal(t->timeout_ms, 10000);
    assert_int_equal(t->queue, CH_LIMIT_OTEL_QUEUE);
    assert_true(s.share == 1 && !s.heeds_parent);
}

static void test_share_of_traces(void **state) {
    static const struct {
        const char *arg;
        double share;
    } rows[] = {{"0.25", 0.25}, {"0", 0}, {"1", 1}, {"25%", 1}, {"half", 1}, {"-0.5", 1},
                {"nan", 1}};
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_otel_settings s;
        assert_true(settings(&s, &a, "http://h:1",
                             GIVEN("OTEL_TRACES_SAMPLER", "parentbased_traceidratio",
                                   "OTEL_TRACES_SAMPLER_ARG", rows[i].arg)));
        assert_true(s.share == rows[i].share);
    }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_waits_for_a_batch),
        CASE(test_full_batch_is_sent_at_once),
        CASE(test_drained),
        CASE(test_oldest_is_dropped),
        CASE(test_bytes_are_bounded),
        CASE(test_protobuf),
        CASE(test_repeats),
        CASE(test_heeds_retry_after),
        CASE(test_gives_up),
        CASE(test_does_not_repeat_refusals),
        CASE(test_connection_fails),
        CASE(test_free_cancels),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_variables_win),
        cmocka_unit_test(test_odd_variables),
        cmocka_unit_test(test_share_of_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

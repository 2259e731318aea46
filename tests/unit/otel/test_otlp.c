/* test_otlp.c -- messages of OpenTelemetry's protocol in both encodings, ids of traces, and
 * metrics. tests/sdk decodes what chela sends with OpenTelemetry's own decoder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/mix.h"
#include "base/redact.h"
#include "base/word.h"
#include "otel/log_event.h"
#include "otel/metrics.h"
#include "otel/span.h"
#include "otel/trace_context.h"

/* A text with its length, in a table. */
#define CH_SV_ROW(literal) {literal, sizeof(literal) - 1}

static void assert_bytes(const struct ch_buf *got, const char *want, size_t n) {
    assert_int_equal(got->n, n);
    assert_memory_equal(got->p, want, n);
}
#define ASSERT_BYTES(got, literal) assert_bytes(got, literal, sizeof(literal) - 1)

static void write_all(struct ch_buf *out, bool json) {
    static const uint64_t counts[] = {1, 0};
    static const double bounds[] = {0.5};
    struct ch_otlp w = ch_otlp_begin(out, json);
    ch_otlp_text(&w, CH_OTLP_KEY, CH_SV("a\"\xff"));
    ch_otlp_open(&w, CH_OTLP_VALUE);
    ch_otlp_int64(&w, CH_OTLP_INT_VALUE, -1);
    ch_otlp_close(&w);
    ch_otlp_open(&w, CH_OTLP_VALUES);
    ch_otlp_bool(&w, CH_OTLP_BOOL_VALUE, true);
    ch_otlp_close(&w);
    ch_otlp_open(&w, CH_OTLP_VALUES);
    ch_otlp_double(&w, CH_OTLP_DOUBLE_VALUE, 0.5);
    ch_otlp_close(&w);
    ch_otlp_id(&w, CH_OTLP_SPAN_ID, (const unsigned char *)"\x01\xab\xf0\x9e", 4);
    ch_otlp_fixed64(&w, CH_OTLP_SPAN_START, 258);
    ch_otlp_number(&w, CH_OTLP_SPAN_KIND, 300);
    ch_otlp_fixed64s(&w, CH_OTLP_POINT_BUCKETS, counts, 2);
    ch_otlp_doubles(&w, CH_OTLP_POINT_BOUNDS, bounds, 1);
    ch_otlp_message(&w, CH_OTLP_RESOURCE, json ? CH_SV("{}") : CH_SV(""));
    ch_otlp_finish(&w);
}

static void test_json(void **state) {
    CH_BUF_AUTO out = {0};
    (void)state;
    write_all(&out, true);
    assert_string_equal(ch_buf_str(&out),
                        "{\"key\":\"a\\\"\xef\xbf\xbd\",\"value\":{\"intValue\":\"-1\"},"
                        "\"values\":[{\"boolValue\":true},{\"doubleValue\":0.5}],"
                        "\"spanId\":\"01abf09e\",\"startTimeUnixNano\":\"258\",\"kind\":300,"
                        "\"bucketCounts\":[\"1\",\"0\"],\"explicitBounds\":[0.5],"
                        "\"resource\":{}}");
}

static void test_protobuf(void **state) {
    CH_BUF_AUTO out = {0};
    (void)state;
    write_all(&out, false);
    ASSERT_BYTES(&out, "\x0a\x05"
                       "a\"\xef\xbf\xbd"
                       "\x12\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                       "\x0a\x02\x10\x01"
                       "\x0a\x09\x21\0\0\0\0\0\0\xe0\x3f"
                       "\x12\x04\x01\xab\xf0\x9e"
                       "\x39\x02\x01\0\0\0\0\0\0"
                       "\x30\xac\x02"
                       "\x32\x10\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                       "\x3a\x08\0\0\0\0\0\0\xe0\x3f"
                       "\x0a\0");
}

/* The length of a message of 128 bytes and more takes several bytes, which are inserted. */
static void test_long_message(void **state) {
    CH_BUF_AUTO out = {0};
    char text[300];
    (void)state;
    memset(text, 'x', sizeof(text));
    struct ch_otlp w = ch_otlp_begin(&out, false);
    ch_otlp_open(&w, CH_OTLP_VALUE);
    ch_otlp_open(&w, CH_OTLP_ARRAY_VALUE);
    ch_otlp_text(&w, CH_OTLP_STRING_VALUE, ch_sv(text, sizeof(text)));
    ch_otlp_close(&w);
    ch_otlp_close(&w);
    ch_otlp_finish(&w);
    assert_int_equal(out.n, 300 + 9);
    assert_memory_equal(out.p, "\x12\xb2\x02\x2a\xaf\x02\x0a\xac\x02xxx", 12);
}

static void test_rejected(void **state) {
    static const struct {
        struct ch_sv response;
        bool json;
        int64_t n;
        const char *why;
    } rows[] = {
        {{"", 0}, true, 0, ""},
        {{"{}", 2}, true, 0, ""},
        {CH_SV_ROW("{\"partialSuccess\":{\"rejectedSpans\":\"7\",\"errorMessage\":\"no\"}}"), true,
         7, "no"},
        {CH_SV_ROW("{\"partialSuccess\":{\"rejectedLogRecords\":3}}"), true, 3, ""},
        {CH_SV_ROW("{\"partialSuccess\":{\"rejectedSpans\":\"-7\"}}"), true, 0, ""},
        {CH_SV_ROW("<html>"), true, 0, ""},
        {{"", 0}, false, 0, ""},
        {CH_SV_ROW("\x0a\x06\x08\x07\x12\x02no"), false, 7, "no"},
        {CH_SV_ROW("\x0a\x06\x08\x07\x12\x7fno"), false, 7, ""},
        {CH_SV_ROW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), false, 0, ""},
        {CH_SV_ROW("\x09\x01"), false, 0, ""},
        {CH_SV_ROW("\x0b\x0c"), false, 0, ""},
        {CH_SV_ROW("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"), false, 0, ""},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        CH_BUF_AUTO why = {0};
        assert_int_equal(ch_otlp_rejected(rows[i].response, rows[i].json, &why), rows[i].n);
        assert_string_equal(ch_buf_str(&why), rows[i].why);
    }
}

static void test_traceparent(void **state) {
    static const char good[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    static const char *const bad[] = {
        "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
        "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    };
    struct ch_trace_context c = {0}, before = {0};
    char out[CH_TRACEPARENT];
    (void)state;
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        assert_false(ch_trace_context_read(ch_sv_str(bad[i]), &c));
        assert_memory_equal(&c, &before, sizeof(c));
    }
    assert_true(ch_trace_context_read(ch_sv_str(good), &c));
    assert_true(c.sampled);
    ch_trace_context_write(&c, c.parent, out);
    assert_string_equal(out, good);
    assert_true(ch_trace_context_read(
        CH_SV("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-more"), &c));
    assert_false(c.sampled);
}

static bool same_span(struct ch_span_id a, struct ch_span_id b) {
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static void test_ids(void **state) {
    struct ch_trace_context a = ch_trace_context_of_run("run_a"),
                            b = ch_trace_context_of_run("run_b");
    struct ch_sv m = CH_SV("p/m"), none = CH_SV("");
    (void)state;
    assert_memory_not_equal(a.trace, b.trace, CH_TRACE_ID);
    assert_memory_equal(a.trace, ch_trace_context_of_run("run_a").trace, CH_TRACE_ID);
    assert_true(same_span(ch_span_id_of_run("r"), ch_span_id_of_run("r")));
    assert_false(same_span(ch_span_id_of_run("r"), ch_span_id_of_run("s")));
    assert_false(same_span(ch_span_id_of_call("r", 1, m), ch_span_id_of_call("r", 2, m)));
    assert_false(same_span(ch_span_id_of_request("r", 1, 0, 3, m, none),
                           ch_span_id_of_request("r", 1, 1, 3, m, none)));
    assert_false(same_span(ch_span_id_of_request("r", 1, 0, 3, m, none),
                           ch_span_id_of_request("r", 1, 0, 3, m, CH_SV("planner"))));
    assert_true(ch_trace_context_in_share(&a, 1));
    assert_false(ch_trace_context_in_share(&a, 0));
}

static void test_share(void **state) {
    unsigned sampled = 0;
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        char run[24];
        snprintf(run, sizeof(run), "run_%u", i);
        struct ch_trace_context c = ch_trace_context_of_run(run);
        sampled += ch_trace_context_in_share(&c, 0.25);
    }
    assert_in_range(sampled, 190, 310);
}

static void test_attributes_are_bounded(void **state) {
    struct ch_otel_span s = {0};
    CH_BUF_AUTO out = {0};
    (void)state;
    for (int i = 0; i < CH_OTEL_ATTRIBUTES + 3; i++)
        ch_otel_add_int(&s, CH_OTEL_TURN, i);
    assert_int_equal(s.n, CH_OTEL_ATTRIBUTES);
    ch_otel_write_span(&out, true, &s);
    assert_non_null(strstr(ch_buf_str(&out), "\"droppedAttributesCount\":3"));
}

static void add_own(struct ch_otel_span *s) {
    static const struct ch_sv one = {"stop", 4}, two[] = {{"a", 1}, {"b\"", 2}};
    ch_otel_add_text(s, CH_OTEL_TOOL_NAME, CH_SV("plain"));
    ch_otel_add_text(s, CH_OTEL_TOOL_CALL_ID, CH_SV("\"\n\xff"));
    ch_otel_add_int(s, CH_OTEL_TURN, 0);
    ch_otel_add_int(s, CH_OTEL_ATTEMPT, -105);
    ch_otel_add_int(s, CH_OTEL_INPUT_TOKENS, INT64_MIN);
    ch_otel_add_int(s, CH_OTEL_OUTPUT_TOKENS, INT64_MAX);
    ch_otel_add_double(s, CH_OTEL_COST, 12.05);
    ch_otel_add_double(s, CH_OTEL_EVALUATION_VALUE, 1e-7);
    ch_otel_add_bool(s, CH_OTEL_REQUEST_STREAM, true);
    ch_otel_add_texts(s, CH_OTEL_RESPONSE_FINISH, &one, 1);
    ch_otel_add_texts(s, CH_OTEL_REQUEST_STOP, two, 2);
}

/* A span is the same whether its first part was encoded once or for the span. */
static void test_template(void **state) {
    (void)state;
    for (int json = 0; json < 2; json++) {
        struct ch_otel_span whole = {.context = ch_trace_context_of_run("r"),
                                     .name = CH_SV("chat"),
                                     .target = CH_SV("m"),
                                     .kind = CH_OTEL_CLIENT,
                                     .start = 1,
                                     .end = 2};
        struct ch_otel_span own = whole;
        struct ch_buf t = {0};
        CH_BUF_AUTO want = {0};
        CH_BUF_AUTO got = {0};
        ch_otel_add_text(&whole, CH_OTEL_OPERATION, CH_SV("chat"));
        ch_otel_template_set(&t, json, &whole);
        add_own(&whole);
        ch_otel_write_span(&want, json, &whole);
        own.template = &t;
        own.name = CH_SV("");
        add_own(&own);
        ch_otel_write_span(&got, json, &own);
        assert_bytes(&got, want.p, want.n);
        ch_buf_release(&t);
    }
}

/* Spans that follow one another through one template, and their own values. */
struct next_span {
    const char *tool, *call;
    int64_t turn;
    double first;
    const char *finish;
    bool failed;
    int64_t start;
};

static const struct next_span next_spans[] = {
    {"look", "call_1", 1, 0.001, "tool_call", false, 1700000000000},
    {"look", "call_2", 2, 0.25, "tool_call", false, 1700000000017}, /* values of the same length */
    {"look", "call_2", 300, 0.25, "stop", false, 1700000000018},    /* others */
    {"look", "call_33", 9, 1e-7, "stop", false, 5},
    {"find", "call_33", 9, 0, "stop", false, 5}, /* another target of the same length */
    {"find", "call_\"3", 9, 0, "stop", false, 5},
    {"find", "call_\xff" "3", 9, 0, "stop", false, 5},
    {"find", "call_\xff" "4", 9, 0, "stop", false, 5},
    {"find", "call_44", 9, 0, "stop", true, 5},
    {"find", "call_45", 9, 0, "stop", false, 5},
    {"fi\"d", "call_45", 9, 0, "stop", false, 5},
    {"fi\"d", "call_46", 9, 0, "stop", false, 5},
};

static void add_next(struct ch_otel_span *s, const struct next_span *n, struct ch_sv *finish,
                     const char *text) {
    *finish = ch_sv_str(n->finish);
    s->target = ch_sv_str(n->tool);
    s->id = ch_span_id_of_run(n->call);
    s->failed = n->failed;
    s->start = n->start;
    s->end = n->start + 3;
    ch_otel_add_text(s, CH_OTEL_TOOL_CALL_ID, ch_sv_str(n->call));
    ch_otel_add_int(s, CH_OTEL_TURN, n->turn);
    ch_otel_add_double(s, CH_OTEL_RESPONSE_FIRST_CHUNK, n->first);
    ch_otel_add_texts(s, CH_OTEL_RESPONSE_FINISH, finish, 1);
    ch_otel_add_text(s, CH_OTEL_TOOL_DESCRIPTION, ch_sv_str(text));
}

/* A span from a template is the same whichever span came before it. */
static void test_next_spans(void **state) {
    char text[400] = "";
    (void)state;
    for (unsigned round = 0; round < 8; round++) {
        bool json = round % 2;
        struct ch_otel_span common = {.context = ch_trace_context_of_run("r"),
                                      .kind = CH_OTEL_INTERNAL};
        struct ch_buf t = {0};
        ch_otel_add_text(&common, CH_OTEL_OPERATION, CH_SV("execute_tool"));
        ch_otel_template_set(&t, json, &common);
        memset(text, 'x', round * 50); /* long texts are not kept */
        for (size_t i = 0; i < CH_LEN(next_spans); i++) {
            struct ch_otel_span s = {.name = CH_SV("execute_tool"), .template = &t}, first;
            struct ch_buf fresh = {0};
            struct ch_sv finish;
            CH_BUF_AUTO got = {0};
            CH_BUF_AUTO want = {0};
            add_next(&s, &next_spans[i], &finish, text);
            first = s;
            first.template = &fresh;
            ch_otel_template_set(&fresh, json, &common);
            ch_otel_write_span(&want, json, &first);
            ch_otel_write_span(&got, json, &s);
            assert_bytes(&got, want.p, want.n);
            ch_buf_release(&fresh);
        }
        ch_buf_release(&t);
    }
}

/* The values that are written without the general writer. */
static void test_usual_values(void **state) {
    struct ch_otel_span s = {.name = CH_SV("n")};
    CH_BUF_AUTO out = {0};
    (void)state;
    ch_otel_add_int(&s, CH_OTEL_TURN, 1);
    add_own(&s);
    ch_otel_write_span(&out, true, &s);
    char *end = strstr(out.p, ",\"spanId\"");
    assert_non_null(end);
    *end = '\0';
    assert_string_equal(
        strstr(out.p, "\"attributes\""),
        "\"attributes\":[{\"key\":\"chela.turn\",\"value\":{\"intValue\":\"1\"}},"
        "{\"key\":\"gen_ai.tool.name\",\"value\":{\"stringValue\":\"plain\"}},"
        "{\"key\":\"gen_ai.tool.call.id\",\"value\":{\"stringValue\":"
        "\"\\\"\\n\xef\xbf\xbd\"}},"
        "{\"key\":\"chela.turn\",\"value\":{\"intValue\":\"0\"}},"
        "{\"key\":\"chela.attempt\",\"value\":{\"intValue\":\"-105\"}},"
        "{\"key\":\"gen_ai.usage.input_tokens\",\"value\":{\"intValue\":"
        "\"-9223372036854775808\"}},"
        "{\"key\":\"gen_ai.usage.output_tokens\",\"value\":{\"intValue\":"
        "\"9223372036854775807\"}},"
        "{\"key\":\"chela.cost_usd\",\"value\":{\"doubleValue\":12.050}},"
        "{\"key\":\"gen_ai.evaluation.score.value\",\"value\":{\"doubleValue\":1e-7}},"
        "{\"key\":\"gen_ai.request.stream\",\"value\":{\"boolValue\":true}},"
        "{\"key\":\"gen_ai.response.finish_reasons\",\"value\":{\"arrayValue\":"
        "{\"values\":[{\"stringValue\":\"stop\"}]}}},"
        "{\"key\":\"gen_ai.request.stop_sequences\",\"value\":{\"arrayValue\":"
        "{\"values\":[{\"stringValue\":\"a\"},{\"stringValue\":\"b\\\"\"}]}}}]");
}

/* Numbers of every length, as printf writes them. */
static void test_numbers(void **state) {
    (void)state;
    uint64_t n = 0;
    for (unsigned i = 0; i < 60; i++, n = i % 3 ? n * 10 / 3 + i : n * 2 + 1) {
        struct ch_otel_span s = {.name = CH_SV("n"), .start = (int64_t)(n % 9000000000000)};
        CH_BUF_AUTO out = {0};
        char want[64];
        ch_otel_add_int(&s, CH_OTEL_TURN, (int64_t)n);
        ch_otel_write_span(&out, true, &s);
        snprintf(want, sizeof(want), "\"intValue\":\"%" PRId64 "\"", (int64_t)n);
        assert_non_null(strstr(out.p, want));
        snprintf(want, sizeof(want), "\"startTimeUnixNano\":\"%" PRId64 "\"", s.start * 1000000);
        assert_non_null(strstr(out.p, want));
    }
}

static void test_hex(void **state) {
    (void)state;
    for (unsigned first = 0; first < 256; first += 8) {
        unsigned char bytes[8];
        char got[17] = "", want[17];
        for (unsigned i = 0; i < 8; i++) {
            bytes[i] = (unsigned char)(first + i);
            snprintf(want + 2 * i, 3, "%02x", bytes[i]);
        }
        assert_ptr_equal(ch_otel_put_hex(got, bytes, 8), got + 16);
        assert_string_equal(got, want);
    }
}

/* --- metrics */

static void add_named(struct ch_otel_metrics *m, unsigned name, double value) {
    char text[24];
    snprintf(text, sizeof(text), "%u", name);
    struct ch_otel_attribute a = {
        .key = CH_OTEL_TOOL_NAME, .type = CH_OTEL_TEXT, .text = ch_sv_str(text)};
    ch_otel_metrics_add(m, CH_OTEL_METRIC_TOOL_DURATION, value, &a, 1, NULL);
}

static void test_metrics(void **state) {
    struct ch_otel_metrics *m = ch_otel_metrics_new(true, 1);
    CH_BUF_AUTO out = {0};
    (void)state;
    assert_false(ch_otel_metrics_any(m, CH_OTEL_METRIC_TOOL_DURATION));
    add_named(m, 1, 0.01); /* a bound is inclusive */
    add_named(m, 1, 0.011);
    add_named(m, 1, 1000);
    assert_true(ch_otel_metrics_any(m, CH_OTEL_METRIC_TOOL_DURATION));
    ch_otel_metrics_write(m, CH_OTEL_METRIC_TOOL_DURATION, 2, &out);
    assert_non_null(strstr(ch_buf_str(&out),
                           "\"startTimeUnixNano\":\"1000000\",\"timeUnixNano\":\"2000000\","
                           "\"count\":\"3\",\"sum\":1000.021,\"bucketCounts\":[\"1\",\"1\",\"0\","
                           "\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\","
                           "\"1\"]"));
    assert_non_null(strstr(ch_buf_str(&out), "\"min\":0.01,\"max\":1000"));
    ch_otel_metrics_free(m);
}

/* A peer that invents names cannot fill the memory. */
/* The second word of a name of 16 bytes undoes a difference of the first, so that the names
 * have one hash. */
static void test_metrics_with_one_hash(void **state) {
    char names[2][16];
    struct ch_otel_metrics *m = ch_otel_metrics_new(true, 1);
    struct ch_otel_attribute a[2];
    CH_BUF_AUTO out = {0};
    (void)state;
    uint64_t first = ch_word_load("the first"), second = ch_word_load("2nd name"), seed = 1;
    for (size_t i = 0; i < 2; i++)
        a[i] = (struct ch_otel_attribute){.key = CH_OTEL_TOOL_NAME, .text = ch_sv(names[i], 16)};
    seed += CH_OTEL_TOOL_NAME; /* as the hash of one attribute begins */
    for (size_t i = 0; i < 2; i++) {
        uint64_t word = i ? first ^ 1 : first, tail = second;
        if (i) /* ch_mix(h, w) depends on h ^ w alone */
            tail ^= ch_mix(seed, first) ^ ch_mix(seed, word);
        memcpy(names[i], &word, 8);
        memcpy(names[i] + 8, &tail, 8);
    }
    assert_true(ch_mix_text(seed, a[0].text) == ch_mix_text(seed, a[1].text));
    for (size_t i = 0; i < 3; i++)
        ch_otel_metrics_add(m, CH_OTEL_METRIC_TOOL_DURATION, 1, &a[i % 2], 1, NULL);
    ch_otel_metrics_write(m, CH_OTEL_METRIC_TOOL_DURATION, 2, &out);
    const char *point = strstr(ch_buf_str(&out), "\"count\":");
    assert_non_null(point);
    assert_non_null(strstr(point + 1, "\"count\":"));
    ch_otel_metrics_free(m);
}

static void test_metrics_are_bounded(void **state) {
    struct ch_otel_metrics *m = ch_otel_metrics_new(true, 1);
    CH_BUF_AUTO out = {0};
    (void)state;
    for (unsigned i = 0; i < 2 * CH_LIMIT_OTEL_POINTS; i++)
        add_named(m, i, 1);
    ch_otel_metrics_write(m, CH_OTEL_METRIC_TOOL_DURATION, 2, &out);
    char want[128];
    snprintf(want, sizeof(want), "\"count\":\"%u\"", (unsigned)CH_LIMIT_OTEL_POINTS);
    assert_non_null(strstr(ch_buf_str(&out), "otel.metric.overflow"));
    assert_non_null(strstr(ch_buf_str(&out), want));
    ch_otel_metrics_free(m);
}

/* The words of a judge are content like others: keys are redacted, and long texts are cut. */
static void test_judgement(void **state) {
    struct chela_event ev = {.type = CHELA_EV_REFLECTION};
    struct ch_otel_span s = {0};
    enum ch_otel_severity severity;
    char name[CH_OTEL_EVENT_NAME];
    CH_BUF_AUTO note = {0};
    CH_BUF_AUTO content = {0};
    (void)state;
    ch_redact_add("hunter2hunter2");
    ch_buf_add_str(&note, "the password hunter2hunter2 is shown");
    while (note.n <= CH_LIMIT_OTEL_TEXT + 20)
        ch_buf_add_str(&note, " again");
    ev.reflection.note = (struct chela_str){note.p, note.n};
    assert_true(ch_otel_log_event(&s, NULL, &ev, &content, &severity, name));
    const struct ch_otel_attribute *last = &s.attributes[s.n - 1];
    assert_int_equal(last->key, CH_OTEL_EVALUATION_EXPLANATION);
    assert_true(ch_sv_starts(last->text, "the password "));
    assert_null(memmem(last->text.p, last->text.n, "hunter2", 7));
    assert_true(last->text.n < note.n + 40);
    assert_non_null(memmem(last->text.p, last->text.n, " bytes cut]", 11));
    ch_buf_clear(&note); /* a secret where the text is cut */
    ch_buf_clear(&content);
    while (note.n < CH_LIMIT_OTEL_TEXT - 10)
        ch_buf_addc(&note, ' ');
    ch_buf_add_str(&note, "hunter2hunter2, and more");
    ev.reflection.note = (struct chela_str){note.p, note.n};
    assert_true(ch_otel_log_event(&s, NULL, &ev, &content, &severity, name));
    last = &s.attributes[s.n - 1];
    assert_null(memmem(last->text.p, last->text.n, "hunter2", 7));
    assert_non_null(memmem(last->text.p, last->text.n, " bytes cut]", 11));
    s.n = 0;
    assert_true(ch_otel_log_event(&s, NULL, &ev, NULL, &severity, name));
    assert_int_not_equal(s.attributes[s.n - 1].key, CH_OTEL_EVALUATION_EXPLANATION);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),         cmocka_unit_test(test_protobuf),
        cmocka_unit_test(test_long_message), cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_traceparent),  cmocka_unit_test(test_ids),
        cmocka_unit_test(test_share),        cmocka_unit_test(test_attributes_are_bounded),
        cmocka_unit_test(test_template),     cmocka_unit_test(test_usual_values),
        cmocka_unit_test(test_next_spans),   cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_metrics),      cmocka_unit_test(test_metrics_are_bounded),
        cmocka_unit_test(test_metrics_with_one_hash),
        cmocka_unit_test(test_judgement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

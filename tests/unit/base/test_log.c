/* test_log.c -- the sink, trace areas, and that no secret passes either. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"

static void record(enum ch_log_level level, const char *area, const char *line, void *user) {
    ch_buf_addf(user, "%d %s %s;", level, area, line);
}

static void test_silent_without_a_sink(void **state) {
    (void)state;
    assert_false(ch_log_wants(CH_LOG_ERROR, "net"));
    assert_false(ch_log_wants(CH_LOG_TRACE, "net"));
    ch_log(CH_LOG_ERROR, "net", "lost");
}

static void test_areas(void **state) {
    (void)state;
    static const struct {
        const char *list, *area;
        bool wanted;
    } cases[] = {
        {NULL, "net", false},     {"", "net", false},           {"net", "net", true},
        {"net,sse", "sse", true}, {" net , sse ", "sse", true}, {"net", "ne", false},
        {"ne", "net", false},     {"all", "anything", true},    {"sse,all", "x", true},
        {",,", "net", false},
    };
    CH_BUF_AUTO got = {0};
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_log_sink sink = {record, &got, cases[i].list};
        CH_LOG_SCOPE(&sink);
        assert_int_equal(ch_log_wants(CH_LOG_TRACE, cases[i].area), cases[i].wanted);
        assert_true(ch_log_wants(CH_LOG_INFO, cases[i].area));
    }
    struct ch_log_sink sink = {record, &got, "net"};
    ch_log_bind(&sink);
    CH_TRACE("net", "seen %d", 1);
    CH_TRACE("sse", "not seen");
    ch_log(CH_LOG_WARN, "sse", "two\nlines");
    ch_log_bind(NULL);
    assert_string_equal(ch_buf_str(&got), "0 net seen 1;2 sse two lines;");
}

static void test_long_lines_are_cut(void **state) {
    (void)state;
    CH_BUF_AUTO got = {0};
    CH_BUF_AUTO text = {0};
    while (text.n < 2 * CH_LIMIT_LOG_LINE)
        ch_buf_add_str(&text, "\xe4\xbd\xa0");
    struct ch_log_sink sink = {record, &got, NULL};
    ch_log_bind(&sink);
    ch_log(CH_LOG_INFO, "x", "%s", ch_buf_str(&text));
    ch_log_bind(NULL);
    assert_true(got.n <= CH_LIMIT_LOG_LINE + 5);
    assert_true(ch_utf8_valid(ch_buf_sv(&got)));
}

static void log_to(const struct ch_log_sink *sink) {
    CH_LOG_SCOPE(sink);
    ch_log(CH_LOG_INFO, "x", "2");
}

/* A scope within another is over with its block. */
static void test_scopes(void **state) {
    (void)state;
    CH_BUF_AUTO outer = {0};
    CH_BUF_AUTO inner = {0};
    struct ch_log_sink a = {record, &outer, NULL}, b = {record, &inner, NULL};
    {
        CH_LOG_SCOPE(&a);
        ch_log(CH_LOG_INFO, "x", "1");
        log_to(&b);
        ch_log(CH_LOG_INFO, "x", "3");
    }
    ch_log(CH_LOG_INFO, "x", "4");
    assert_string_equal(ch_buf_str(&outer), "1 x 1;1 x 3;");
    assert_string_equal(ch_buf_str(&inner), "1 x 2;");
}

/* In place and copied must agree. */
static void check_redaction(const char *in, const char *want) {
    CH_BUF_AUTO copy = {0};
    CH_AUTOFREE char *text = ch_strdup(in);
    ch_redact_copy(&copy, ch_sv_str(in));
    ch_redact(text);
    assert_string_equal(text, want);
    assert_string_equal(ch_buf_str(&copy), want);
    assert_true(strlen(text) <= strlen(in));
    ch_redact(text);
    assert_string_equal(text, want);
}

static void test_registered(void **state) {
    (void)state;
    ch_redact_add("hunter2hunter2");
    ch_redact_add("hunter2hunter2-longer");
    ch_redact_add("short"); /* under six bytes: ignored */
    ch_redact_add("first-line-x\n  second-line-y\n");
    ch_redact_add(NULL);
    ch_redact_add("");
    check_redaction("", "");
    check_redaction("nothing to see", "nothing to see");
    check_redaction("hunter2hunter2", "***");
    check_redaction("xhunter2hunter2x", "x***x");
    check_redaction("a hunter2hunter2-longer b", "a *** b");
    check_redaction("hunter2hunter2hunter2hunter2", "******");
    check_redaction("hunter2hunter", "hunter2hunter");
    check_redaction("too short", "too short");
    check_redaction("first-line-x second-line-y", "*** ***");
}

static void test_by_looks(void **state) {
    (void)state;
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"Authorization: Bearer abc123def456", "Authorization: Bearer ***"},
        {"authorization: Basic dXNlcjpwYXNz", "authorization: Basic ***"},
        {"sent bearer eyJhbGciOi.x-y_z/+= twice", "sent bearer *** twice"},
        {"x-api-key: sk-ant-api03-abcDEF", "x-api-key: ***"},
        {"x-api-key: plain", "x-api-key: ***"},
        {"X-Goog-Api-Key: AIzaSyA1", "X-Goog-Api-Key: ***"},
        {"x-api-key: ab", "x-api-key: **"},
        {"{\"api_key\": \"k3y-with-digits\"}", "{\"api_key\": \"***\"}"},
        {"OPENAI_API_KEY=abcDEF123 next", "OPENAI_API_KEY=*** next"},
        {"https://h/v1?access_token=Zm9vYmFy&x=1", "https://h/v1?access_token=***&x=1"},
        {"https://h/v1?key=AIzaSyA12345678901234567890123456789012", "https://h/v1?key=***"},
        {"key sk-abcdefgh1 refused", "key *** refused"},
        {"(sk-proj-A_b-c123456)", "(***)"},
        {"token ghp_0123456789abcdef0123", "token ***"},
        {"client_secret: S3cr3tValue, next", "client_secret: ***, next"},
        /* prose is left alone */
        {"api_key: expected a string", "api_key: expected a string"},
        {"Bearer token missing", "Bearer token missing"},
        {"Bearer authentication required.", "Bearer authentication required."},
        {"task-force-one is no key", "task-force-one is no key"},
        {"the disk-usage-report", "the disk-usage-report"},
        {"sk-short", "sk-short"},
        {"password: missing", "password: missing"},
        {"authorization", "authorization"},
        {"x-api-key:", "x-api-key:"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++)
        check_redaction(cases[i].in, cases[i].want);
}

static void test_sink_sees_no_secret(void **state) {
    (void)state;
    CH_BUF_AUTO got = {0};
    ch_redact_add("open sesame now");
    struct ch_log_sink sink = {record, &got, NULL};
    CH_LOG_SCOPE(&sink);
    ch_log(CH_LOG_INFO, "a", "said %s and Bearer a1b2c3d4", "open\nsesame now");
    assert_string_equal(ch_buf_str(&got), "1 a said *** and Bearer ***;");
}

static void test_secrets_are_bounded(void **state) {
    (void)state;
    CH_BUF_AUTO name = {0};
    for (int i = 0; i < 3 * CH_LIMIT_SECRETS; i++) {
        ch_buf_clear(&name);
        ch_buf_addf(&name, "number<%d>", i);
        ch_redact_add(ch_buf_str(&name));
    }
    check_redaction(ch_buf_str(&name), "***");
    check_redaction("number<0>", "number<0>");
}

static void count(enum ch_log_level level, const char *area, const char *line, void *user) {
    (void)level, (void)area, (void)line;
    __atomic_add_fetch((size_t *)user, 1, __ATOMIC_RELAXED);
}

/* Returns non-NULL if a redaction went wrong. */
static void *chatter(void *user) {
    struct ch_log_sink sink = {count, user, "t"};
    CH_LOG_SCOPE(&sink);
    for (int i = 0; i < 500; i++) {
        char text[] = "Bearer abc123abc123";
        ch_log(CH_LOG_INFO, "t", "%d", i);
        CH_TRACE("t", "x");
        ch_redact_add(i % 2 ? "thread-secret-1" : "thread-secret-2");
        ch_redact(text);
        if (strcmp(text, "Bearer ***") != 0)
            return "redaction failed";
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    void *failed[CH_LEN(threads)];
    size_t lines = 0;
    for (size_t i = 0; i < CH_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, chatter, &lines), 0);
    for (size_t i = 0; i < CH_LEN(threads); i++)
        pthread_join(threads[i], &failed[i]);
    for (size_t i = 0; i < CH_LEN(threads); i++)
        assert_null(failed[i]);
    assert_int_equal(lines, CH_LEN(threads) * 2 * 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent_without_a_sink),
        cmocka_unit_test(test_areas),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_registered),
        cmocka_unit_test(test_by_looks),
        cmocka_unit_test(test_sink_sees_no_secret),
        cmocka_unit_test(test_secrets_are_bounded),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_sse.c -- the event stream decoder. Reads split anywhere, so each case
 * runs whole, at every chunk size, at every pair of cuts and at random cuts,
 * and must give the same events and the same verdict each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/mem.h"
#include "net/sse.h"

#define LIT(s) s, sizeof(s) - 1

static const struct {
    const char *name, *in;
    size_t n;
    const char *want; /* one "name=data;" per event, NUL shown as '0' */
} cases[] = {
    {"nothing", LIT(""), ""},
    {"plain data", LIT("data: hi\n\n"), "=hi;"},
    {"named event", LIT("event: ping\ndata: {}\n\n"), "ping={};"},
    {"name after data", LIT("data: {}\nevent: ping\n\n"), "ping={};"},
    {"last name wins", LIT("event: a\nevent: b\ndata: x\n\n"), "b=x;"},
    {"name does not last", LIT("event: a\ndata: x\n\ndata: y\n\n"), "a=x;=y;"},
    {"name without data does not last", LIT("event: a\n\ndata: y\n\n"), "=y;"},
    {"two data lines join", LIT("data: a\ndata: b\n\n"), "=a\nb;"},
    {"three, the middle one empty", LIT("data: a\ndata:\ndata: c\n\n"), "=a\n\nc;"},
    {"first data line empty", LIT("data: old\n\ndata\ndata: b\n\n"), "=old;=\nb;"},
    {"empty data is data", LIT("data:\n\n"), "=;"},
    {"data without a colon", LIT("data\n\n"), "=;"},
    {"no space after the colon", LIT("data:x\n\n"), "=x;"},
    {"only one space is dropped", LIT("data:  x \n\n"), "= x ;"},
    {"colon in the value", LIT("data: a: b\n\n"), "=a: b;"},
    {"CRLF", LIT("data: x\r\n\r\ndata: y\r\n\r\n"), "=x;=y;"},
    {"CR", LIT("data: x\r\rdata: y\r\r"), "=x;=y;"},
    {"mixed line ends", LIT("data: a\rdata: b\ndata: c\r\n\ndata: d\n\r\ndata: e\r\n\r"),
     "=a\nb\nc;=d;=e;"},
    {"LF CR are two line ends", LIT("data: x\n\rdata: y\n\r"), "=x;=y;"},
    {"the same beginning",
     LIT("event: a\ndata: x\n\nevent: a\ndata: y\n\nevent: b\ndata: z\n\n"), "a=x;a=y;b=z;"},
    {"the same beginning, then a second line",
     LIT("data: x\n\ndata: y\ndata: z\n\ndata:  w\n\n"), "=x;=y\nz;= w;"},
    {"the same beginning, then CR", LIT("data: x\n\ndata: y\rdata: z\n\n"), "=x;=y\nz;"},
    {"no space, then one", LIT("data:x\n\ndata: y\n\ndata:z\n\n"), "=x;=y;=z;"},
    {"comment", LIT(": keep-alive\n\ndata: z\n\n"), "=z;"},
    {"comment inside an event", LIT("data: a\n: PROCESSING\ndata: b\n\n"), "=a\nb;"},
    {"lone colon", LIT(":\ndata: a\n\n"), "=a;"},
    {"id and retry are ignored", LIT("id: 7\nretry: 100\ndata: a\n\nid: 8\n\n"), "=a;"},
    {"unknown fields", LIT("dat: a\ndatax: b\n data: c\nDATA: d\ndata: e\n\n"), "=e;"},
    {"BOM",
     LIT("\xef\xbb\xbf"
         "data: a\n\n"),
     "=a;"},
    {"only one BOM",
     LIT("\xef\xbb\xbf\xef\xbb\xbf"
         "data: a\n\ndata: b\n\n"),
     "=b;"},
    {"BOM only at the start",
     LIT("data: a\n\n\xef\xbb\xbf"
         "data: b\n\n"),
     "=a;"},
    {"half a BOM",
     LIT("\xef\xbb"
         "data: a\n\ndata: b\n\n"),
     "=b;"},
    {"BOM alone", LIT("\xef\xbb\xbf"), ""},
    {"BOM, then an empty line", LIT("\xef\xbb\xbf\n\ndata: a\n\n"), "=a;"},
    {"many empty lines", LIT("\n\n\r\n\r\rdata: a\n\n\n\n\ndata: b\n\n"), "=a;=b;"},
    {"NUL bytes", LIT("data: a\0b\n\0: x\nev\0ent: y\n\n"), "=a0b;"},
    {"UTF-8", LIT("event: \xe5\xbc\xa0\ndata: \xf0\x9f\xa6\x80\n\n"),
     "\xe5\xbc\xa0=\xf0\x9f\xa6\x80;"},
    {"no last empty line", LIT("data: a\n\ndata: b\n"), "=a;=b;"},
    {"no last line end", LIT("event: e\ndata: a"), "e=a;"},
    {"ends in CR", LIT("data: a\r"), "=a;"},
    {"ends after a name", LIT("data: a\n\nevent: e\n"), "=a;"},
    {"ends in a cut comment", LIT("data: a\n\n: ke"), "=a;"},
};

/* With takes_json. */
static const struct {
    const char *name, *in;
    size_t n;
    const char *want;
} json_cases[] = {
    {"bare JSON", LIT("data: a\n\n{\n  \"data\": {\n  }\n}\n"), "=a;={\n  \"data\": {\n  }\n};"},
    {"and on", LIT("{\"a\":1}\r\n\r\ndata: b\r\n\r\n"), "={\"a\":1};=b;"},
    {"inside an event it is a field", LIT("data: a\n{\"b\": 1}\n\n"), "=a;"},
    {"other lines are fields", LIT("[1]\n\"x\": 1\ndata: a\n\n"), "=a;"},
};

static bool record(struct ch_sv name, struct ch_sv data, void *user) {
    struct ch_buf *got = user;

    ch_buf_addf(got, "%.*s=", CH_SV_FMT(name));
    for (size_t i = 0; i < data.n; i++)
        ch_buf_addc(got, data.p[i] ? data.p[i] : '0');
    ch_buf_addc(got, ';');
    return true;
}

/* An owner that recognises every event that it may. */
static const char *take_line(struct ch_sv name, const char *data, const char *end, void *user) {
    const char *lf = memchr(data, '\n', (size_t)(end - data));

    if (!lf || lf + 1 == end || lf[1] != '\n' || memchr(data, '\r', (size_t)(lf - data)))
        return NULL;
    record(name, ch_sv(data, (size_t)(lf - data)), user);
    return lf + 2;
}

/* Each piece is fed from memory of its own size that is gone afterwards, so
 * that a slice kept too long is found by the sanitizer. */
static int feed_copy(struct ch_sse *s, const char *p, size_t n, struct chela_error *err) {
    char *copy = malloc(n ? n : 1);

    if (n)
        memcpy(copy, p, n);
    int rc = ch_sse_feed(s, ch_sv(copy, n), err);
    memset(copy, '#', n);
    free(copy);
    return rc;
}

/* Feed `in` cut at the given places; the verdict is appended as "!" if the
 * stream was refused. */
static void decode_by(ch_sse_quick_fn *quick, struct ch_buf *got, size_t max, const char *in,
                      size_t n, const size_t *cuts, size_t ncuts) {
    struct chela_error err = {0};
    struct ch_sse s;
    size_t at = 0;
    int rc = 0;

    ch_buf_clear(got);
    ch_sse_init(&s, max, record, got);
    s.quick = quick;
    for (size_t i = 0; i <= ncuts && rc == 0; i++) {
        size_t to = i < ncuts ? cuts[i] : n;
        rc = feed_copy(&s, in + at, to - at, &err);
        at = to;
    }
    if (rc == 0)
        rc = ch_sse_end(&s, &err);
    if (rc != 0) {
        assert_int_equal(rc, CHELA_ELIMIT);
        assert_int_equal(err.code, CHELA_ELIMIT);
        ch_buf_addc(got, '!');
        assert_int_equal(feed_copy(&s, "data: more\n\n", 12, &err), 0);
    }
    ch_sse_release(&s);
}

/* The events are the same with an owner that recognises some of them. */
static void decode(struct ch_buf *got, size_t max, const char *in, size_t n, const size_t *cuts,
                   size_t ncuts) {
    CH_BUF_AUTO other = {0};

    decode_by(take_line, &other, max, in, n, cuts, ncuts);
    decode_by(NULL, got, max, in, n, cuts, ncuts);
    assert_string_equal(ch_buf_str(&other), ch_buf_str(got));
}

static void check(const char *name, const struct ch_buf *got, const char *want) {
    if (strcmp(ch_buf_str(got), want) != 0)
        fail_msg("%s: got \"%s\", want \"%s\"", name, ch_buf_str(got), want);
}

/* The same text under every kind of split. */
static void check_splits(const char *name, size_t max, const char *in, size_t n, const char *want) {
    CH_BUF_AUTO got = {0};
    size_t cuts[256];

    decode(&got, max, in, n, NULL, 0);
    check(name, &got, want);
    for (size_t chunk = 1; chunk < n; chunk++) {
        size_t ncuts = 0;
        for (size_t at = chunk; at < n && ncuts < CH_LEN(cuts); at += chunk)
            cuts[ncuts++] = at;
        decode(&got, max, in, n, cuts, ncuts);
        check(name, &got, want);
    }
    for (cuts[0] = 0; cuts[0] <= n; cuts[0]++)
        for (cuts[1] = cuts[0]; cuts[1] <= n; cuts[1]++) {
            decode(&got, max, in, n, cuts, 2);
            check(name, &got, want);
        }
    for (int round = 0; round < 50; round++) {
        size_t ncuts = 0, at = 0;
        while ((at += (size_t)rand() % 7) < n && ncuts < CH_LEN(cuts))
            cuts[ncuts++] = at;
        decode(&got, max, in, n, cuts, ncuts);
        check(name, &got, want);
    }
}

static void test_bare_json(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(json_cases); i++)
        for (size_t piece = 1; piece <= json_cases[i].n; piece++) {
            CH_BUF_AUTO got = {0};
            struct ch_sse s;
            ch_sse_init(&s, 0, record, &got);
            s.takes_json = true;
            for (size_t at = 0; at < json_cases[i].n; at += piece)
                feed_copy(&s, json_cases[i].in + at, CH_MIN(piece, json_cases[i].n - at), NULL);
            assert_int_equal(ch_sse_end(&s, NULL), 0);
            assert_string_equal(ch_buf_str(&got), json_cases[i].want);
            ch_sse_release(&s);
        }
}

static void test_every_split(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++)
        check_splits(cases[i].name, 0, cases[i].in, cases[i].n, cases[i].want);
}

static const struct {
    const char *name;
    size_t max;
    const char *in, *want;
} limits[] = {
    {"a line as long as allowed", 10, "data: 6789\n\ndata: b\n\n", "=6789;=b;"},
    {"a line one byte longer", 10, "data: b\n\ndata: 67890\n\ndata: c\n\n", "=b;!"},
    {"a long comment is no way around", 10, "data: b\n\n: 345678901\n\ndata: c\n\n", "=b;!"},
    {"a long line without an end", 10, "data: b\n\ndata: 67890", "=b;!"},
    {"joined data as long as allowed", 11, "data: 23456\ndata: 89012\n\n", "=23456\n89012;"},
    {"joined data one byte longer", 10, "data:23456\ndata:89012\n\n", "!"},
    {"many short lines", 10, "data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 5\ndata: 6\n\n", "!"},
    {"many empty lines", 10,
     "data\ndata\ndata\ndata\ndata\ndata\ndata\ndata\ndata\ndata\ndata\ndata\n", "!"},
    {"the limit is per event", 10, "data: 123\n\ndata: 456\n\ndata: 789\n\n", "=123;=456;=789;"},
};

static void test_limit(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(limits); i++)
        check_splits(limits[i].name, limits[i].max, limits[i].in, strlen(limits[i].in),
                     limits[i].want);
}

static bool stop_at_second(struct ch_sv name, struct ch_sv data, void *user) {
    (void)name, (void)data;
    return ++*(int *)user < 2;
}

static void test_stop_from_callback(void **state) {
    (void)state;
    static const char in[] = "data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4";
    for (size_t chunk = 1; chunk <= sizeof(in) - 1; chunk++) {
        struct ch_sse s;
        int calls = 0;

        ch_sse_init(&s, 0, stop_at_second, &calls);
        for (size_t at = 0; at < sizeof(in) - 1; at += chunk)
            assert_int_equal(
                ch_sse_feed(&s, ch_sv(in + at, CH_MIN(chunk, sizeof(in) - 1 - at)), NULL), 0);
        assert_int_equal(ch_sse_end(&s, NULL), 0);
        assert_int_equal(calls, 2);
        ch_sse_release(&s);
    }
}

static bool release_self(struct ch_sv name, struct ch_sv data, void *user) {
    (void)name;
    assert_true(ch_sv_is(data, "last") || ch_sv_is(data, "1"));
    struct ch_sse *s = user;
    ch_sse_release(s);
    free(s);
    return false;
}

static void test_release_in_callback(void **state) {
    (void)state;
    struct ch_sse *s = malloc(sizeof(*s));
    ch_sse_init(s, 0, release_self, s);
    assert_int_equal(ch_sse_feed(s, CH_SV("data: 1\n\ndata: 2\n\n"), NULL), 0);

    s = malloc(sizeof(*s));
    ch_sse_init(s, 0, release_self, s);
    assert_int_equal(ch_sse_feed(s, CH_SV("data: la"), NULL), 0);
    assert_int_equal(ch_sse_feed(s, CH_SV("st"), NULL), 0);
    assert_int_equal(ch_sse_end(s, NULL), 0);
}

static bool inside_chunk(struct ch_sv name, struct ch_sv data, void *user) {
    const struct ch_sv *chunk = user;
    (void)name;
    assert_true(data.p >= chunk->p && data.p + data.n <= chunk->p + chunk->n);
    return true;
}

static void test_whole_events_are_not_copied(void **state) {
    (void)state;
    struct ch_sv chunk = CH_SV("event: a\ndata: one\n\ndata: two\r\n\r\n");
    struct ch_sse s;

    ch_sse_init(&s, 0, inside_chunk, &chunk);
    assert_int_equal(ch_sse_feed(&s, chunk, NULL), 0);
    assert_null(s.line.p);
    assert_null(s.data.p);
    assert_null(s.name.p);
    ch_sse_release(&s);
}

static void test_nothing_after_end(void **state) {
    (void)state;
    CH_BUF_AUTO got = {0};
    struct ch_sse s;

    ch_sse_init(&s, 0, record, &got);
    ch_sse_feed(&s, CH_SV("data: a"), NULL);
    assert_int_equal(ch_sse_end(&s, NULL), 0);
    assert_int_equal(ch_sse_feed(&s, CH_SV("data: b\n\n"), NULL), 0);
    assert_int_equal(ch_sse_end(&s, NULL), 0);
    assert_string_equal(ch_buf_str(&got), "=a;");
    ch_sse_release(&s);
}

/* A megabyte in one event, in network-sized pieces, must not be scanned again
 * and again: it would take minutes if it were. */
static void test_large_event(void **state) {
    (void)state;
    CH_BUF_AUTO got = {0};
    CH_BUF_AUTO in = {0};
    struct ch_sse s;

    ch_buf_add_str(&in, "data: ");
    for (int i = 0; i < 1 << 17; i++)
        ch_buf_add_str(&in, "12345678");
    ch_buf_add_str(&in, "\n\n");
    ch_sse_init(&s, 0, record, &got);
    for (size_t at = 0; at < in.n; at += 100)
        assert_int_equal(ch_sse_feed(&s, ch_sv(in.p + at, CH_MIN(100, in.n - at)), NULL), 0);
    assert_int_equal(got.n, (1 << 20) + 2);
    ch_sse_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_bare_json),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_stop_from_callback),
        cmocka_unit_test(test_release_in_callback),
        cmocka_unit_test(test_whole_events_are_not_copied),
        cmocka_unit_test(test_nothing_after_end),
        cmocka_unit_test(test_large_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

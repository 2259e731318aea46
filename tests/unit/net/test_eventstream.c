/* test_eventstream.c -- binary event streams. Every case is decoded whole, at
 * every split and byte by byte, with the same messages and verdict each time;
 * damaged at any byte it never delivers anything that was not sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/crc32.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/eventstream.h"
#include "support/events.h"

struct outcome {
    struct ch_buf log;
    size_t stop_after; /* messages; 0: never */
    size_t messages;
    int rc;
    struct chela_error err;
};

static bool record(const struct ch_es_message *m, void *user) {
    struct outcome *o = user;
    ch_buf_addf(&o->log, "%.*s/%.*s%.*s%.*s%.*s=", CH_SV_FMT(m->type), CH_SV_FMT(m->event),
                CH_SV_FMT(m->exception), CH_SV_FMT(m->code), CH_SV_FMT(m->text));
    ch_buf_add_sv(&o->log, m->payload);
    ch_buf_addc(&o->log, ';');
    return ++o->messages != o->stop_after;
}

/* In two pieces, then in pieces of a size; each in memory of its own. */
static void decode(struct outcome *o, struct ch_sv bytes, size_t first, size_t piece) {
    struct ch_eventstream s;
    ch_eventstream_init(&s, record, o);
    for (size_t at = 0, n = first; at < bytes.n && o->rc == 0; at += n, n = piece) {
        n = CH_MIN(n, bytes.n - at);
        char *copy = ch_memdup(bytes.p + at, n);
        o->rc = ch_eventstream_feed(&s, ch_sv(copy, n), &o->err);
        ch_free(copy);
    }
    assert_int_equal(o->rc, o->err.code);
    ch_eventstream_release(&s);
}

static void check(const char *name, struct ch_sv bytes, size_t stop_after, const char *want,
                  int rc) {
    for (size_t split = 0; split <= bytes.n; split++) {
        struct outcome o = {.stop_after = stop_after};
        decode(&o, bytes, split ? split : 1, split ? CH_MAX(bytes.n, 1) : 1);
        if (strcmp(ch_buf_str(&o.log), want) != 0 || o.rc != rc)
            fail_msg("%s, split at %zu: got %d %s", name, split, o.rc, ch_buf_str(&o.log));
        ch_buf_release(&o.log);
    }
}

static void test_cases(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *want;
        size_t stop_after;
        int rc;
    } cases[] = {
        {"nothing", "", "", 0, 0},
        {"an event", "hello {\"a\":1}", "event/hello={\"a\":1};", 0, 0},
        {"an event without payload", "hello", "event/hello=;", 0, 0},
        {"three", "a 1\nb 2\nc 3", "event/a=1;event/b=2;event/c=3;", 0, 0},
        {"stopped by the callback", "a 1\nb 2\nc 3", "event/a=1;event/b=2;", 2, 0},
        {"stopped, then damage", "a 1\nhex ffffffffffffffffffffffffffff", "event/a=1;", 1, 0},
        {"an exception", "exception throttlingException {\"message\":\"slow\"}",
         "exception/throttlingException={\"message\":\"slow\"};", 0, 0},
        {"an error", "error Bad It went wrong", "error/BadIt went wrong=;", 0, 0},
        {"every type of header", "headers hello x", "event/hello=x;", 0, 0},
        {"not an event stream", "hex 7b226d657373616765223a22686922", "", 0, CHELA_EPARSE},
        {"half a prelude", "hex 0000001000", "", 0, 0},
        {"an event, then half a prelude", "a 1\nhex 0000001000", "event/a=1;", 0, 0},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO bytes = {0};
        events_assemble(&bytes, ch_sv_str(cases[i].text));
        check(cases[i].name, ch_buf_sv(&bytes), cases[i].stop_after, cases[i].want, cases[i].rc);
    }
}

/* One that the service sent. */
static void test_a_real_one(void **state) {
    (void)state;
    static const char hex[] =
        "hex 0000011d000000610cbb0e310f3a657863657074696f6e2d7479706507001376616c69646174696f6e4578"
        "63657074696f6e0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573"
        "736167652d74797065070009657863657074696f6e7b226d657373616765223a22546865206d6f64656c207265"
        "7475726e65642074686520666f6c6c6f77696e67206572726f72733a205468652064657465637465642066696c"
        "65204d494d45207479706520746578742f706c61696e20646f6573206e6f74206d617463682074686520657870"
        "6563746564207479706520696d6167652f706e672e205265666f726d617420796f757220696e70757420616e64"
        "2074727920616761696e2e227d5133d95a";
    CH_BUF_AUTO bytes = {0};
    events_assemble(&bytes, ch_sv_str(hex));
    assert_int_equal(bytes.n, 285);
    check("real", ch_buf_sv(&bytes), 0,
          "exception/validationException={\"message\":\"The model returned the following errors: "
          "The detected file MIME type text/plain does not match the expected type image/png. "
          "Reformat your input and try again.\"};",
          0);
}

/* Any one byte changed: an error, and only what came before it. */
static void test_damage(void **state) {
    (void)state;
    CH_BUF_AUTO bytes = {0};
    events_assemble(&bytes, CH_SV("first {\"a\":1}\nsecond {\"b\":2}"));
    for (size_t i = 0; i < bytes.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct outcome o = {0};
            bytes.p[i] ^= (char)(1 << bit);
            decode(&o, ch_buf_sv(&bytes), bytes.n, bytes.n);
            bytes.p[i] ^= (char)(1 << bit);
            assert_true(o.rc == CHELA_EPARSE || o.rc == CHELA_ELIMIT);
            assert_true(o.messages <= 1);
            if (o.messages)
                assert_string_equal(ch_buf_str(&o.log), "event/first={\"a\":1};");
            ch_buf_release(&o.log);
        }
}

static void add_prelude(struct ch_buf *out, uint32_t total, uint32_t headers) {
    uint32_t words[2] = {total, headers};
    for (int i = 0; i < 8; i++)
        ch_buf_addc(out, (char)(words[i / 4] >> (24 - 8 * (i % 4))));
    uint32_t crc = ch_crc32(0, out->p, 8);
    for (int shift = 24; shift >= 0; shift -= 8)
        ch_buf_addc(out, (char)(crc >> shift));
}

/* Sizes are refused as soon as they are known, before anything is kept. */
static void test_sizes(void **state) {
    (void)state;
    static const struct {
        uint32_t total, headers;
        int rc;
    } cases[] = {
        {16, 0, 0},
        {15, 0, CHELA_EPARSE},
        {0, 0, CHELA_EPARSE},
        {100, 85, CHELA_EPARSE},
        {100, UINT32_MAX, CHELA_ELIMIT},
        {UINT32_MAX, 0, CHELA_ELIMIT},
        {CH_LIMIT_EVENT_MESSAGE + 1, 0, CHELA_ELIMIT},
        {CH_LIMIT_EVENT_MESSAGE, CH_LIMIT_EVENT_HEADERS, 0},
        {CH_LIMIT_EVENT_MESSAGE, CH_LIMIT_EVENT_HEADERS + 1, CHELA_ELIMIT},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO bytes = {0};
        add_prelude(&bytes, cases[i].total, cases[i].headers);
        check("sizes", ch_buf_sv(&bytes), 0, "", cases[i].rc);
    }
}

/* Headers that do not fill their place, or pass it; the sums are right. */
static void test_headers(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {
        {"\0", 1},               /* no name */
        {"\5abc", 4},            /* a name past the end */
        {"\1a", 2},              /* no type */
        {"\1a\12", 3},           /* a type that is none */
        {"\1a\7\0", 4},          /* half a length */
        {"\1a\7\0\4abc", 8},     /* a string past the end */
        {"\1a\6\377\377abc", 8}, /* bytes past the end */
        {"\1a\4\0\0\0", 6},      /* three bytes of four */
        {"\1a\11\0\0\0", 6},     /* a uuid cut */
    };
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        CH_BUF_AUTO bytes = {0};
        events_message(&bytes, ch_sv(bad[i].bytes, bad[i].n), CH_SV("{}"));
        check("headers", ch_buf_sv(&bytes), 0, "", CHELA_EPARSE);
    }
    CH_BUF_AUTO none = {0};
    events_message(&none, CH_SV(""), CH_SV(""));
    check("none", ch_buf_sv(&none), 0, "/=;", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),   cmocka_unit_test(test_a_real_one),
        cmocka_unit_test(test_damage),  cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

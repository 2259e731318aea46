/* test_h2_meter.c -- frames that are counted, at every split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/h2_meter.h"

enum { DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION };

static void add(struct ch_buf *out, unsigned type, unsigned flags, size_t n) {
    const char head[9] = {(char)(n >> 16), (char)(n >> 8), (char)n, (char)type, (char)flags};
    ch_buf_add(out, head, sizeof(head));
    memset(ch_buf_reserve(out, n), 0x7f, n);
    ch_buf_commit(out, n);
}

static const char *feed(struct ch_h2_meter *m, const struct ch_buf *all, size_t piece) {
    const char *why = NULL;
    for (size_t at = 0; at < all->n && !why; at += piece)
        why = ch_h2_meter_feed(m, ch_sv(all->p + at, CH_MIN(piece, all->n - at)), 0);
    return why;
}

/* So many frames of a kind, and what becomes of it. */
static const struct {
    unsigned type, flags;
    size_t n, times;
    const char *why; /* NULL: nothing */
} cases[] = {
    {HEADERS, 5, 10, CH_LIMIT_H2_UNANSWERED, NULL},
    {HEADERS, 5, 10, CH_LIMIT_H2_UNANSWERED + 1, "unanswered requests"},
    {HEADERS, 0, CH_LIMIT_H2_BLOCK + 1, 1, "header bytes or CONTINUATION frames"},
    {CONTINUATION, 0, 0, CH_LIMIT_H2_CONTINUATIONS + 1, NULL},
    {CONTINUATION, 0, 0, CH_LIMIT_H2_CONTINUATIONS + 2, "header bytes or CONTINUATION frames"},
    {DATA, 0, 1, 5 * CH_LIMIT_H2_CONTROL, NULL},
    {DATA, 1, 0, 5 * CH_LIMIT_H2_CONTROL, NULL},
    {DATA, 0, 0, CH_LIMIT_H2_CONTROL, NULL},
    {DATA, 0, 0, CH_LIMIT_H2_CONTROL + 1, "empty frames"},
    {DATA, 8, 9, CH_LIMIT_H2_CONTROL + 1, "empty frames"},
    {PING, 0, 8, CH_LIMIT_H2_CONTROL, NULL},
    {PING, 0, 8, CH_LIMIT_H2_CONTROL + 1, "control frames"},
    {SETTINGS, 0, 6, CH_LIMIT_H2_CONTROL + 1, "control frames"},
    {RST, 0, 4, CH_LIMIT_H2_CONTROL + 1, "control frames"},
    {WINDOW, 0, 4, CH_LIMIT_H2_CONTROL + 1, "control frames"},
    {0xfe, 0, 0, CH_LIMIT_H2_CONTROL + 1, "control frames"},
};

static void test_counts(void **state) {
    static const size_t pieces[] = {1, 2, 8, 9, 10, 4096};
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO all = {0};
        ch_buf_add_str(&all, CH_H2_PREFACE);
        for (size_t k = 0; k < cases[i].times; k++)
            add(&all, cases[i].type, cases[i].flags, cases[i].n);
        for (size_t k = 0; k < CH_LEN(pieces); k++) {
            struct ch_h2_meter m;
            ch_h2_meter_init(&m, 0);
            const char *why = feed(&m, &all, pieces[k]);
            if (!!why != !!cases[i].why || (why && strcmp(why, cases[i].why) != 0))
                fail_msg("row %zu by %zu: %s", i, pieces[k], why ? why : "nothing");
        }
    }
}

static void test_block(void **state) {
    (void)state;
    struct ch_h2_meter m;
    CH_BUF_AUTO all = {0};
    ch_h2_meter_init(&m, 0);
    ch_buf_add_str(&all, CH_H2_PREFACE);
    add(&all, HEADERS, 1, 10);
    assert_null(feed(&m, &all, all.n));
    assert_true(m.in_block);
    ch_buf_clear(&all);
    add(&all, CONTINUATION, 4, 10);
    assert_null(feed(&m, &all, all.n));
    assert_false(m.in_block);
    assert_int_equal(m.blocks, 1);
}

/* Time, and being answered, give back; never more than there was. */
static void test_fills(void **state) {
    (void)state;
    struct ch_h2_meter m;
    CH_BUF_AUTO all = {0};
    CH_BUF_AUTO one = {0};
    ch_h2_meter_init(&m, 0);
    ch_buf_add_str(&all, CH_H2_PREFACE);
    for (int i = 0; i < CH_LIMIT_H2_UNANSWERED; i++)
        add(&all, HEADERS, 5, 10);
    add(&one, HEADERS, 5, 10);
    assert_null(ch_h2_meter_feed(&m, ch_buf_sv(&all), 0));
    ch_h2_meter_answered(&m);
    assert_null(ch_h2_meter_feed(&m, ch_buf_sv(&one), 0));
    for (int i = 0; i < CH_LIMIT_H2_UNANSWERED_S; i++)
        assert_null(ch_h2_meter_feed(&m, ch_buf_sv(&one), 1000));
    assert_non_null(ch_h2_meter_feed(&m, ch_buf_sv(&one), 1000));
    ch_h2_meter_init(&m, 0);
    for (int i = 0; i < 10; i++)
        ch_h2_meter_sent(&m, 1, false);
    assert_int_equal(m.control, CH_LIMIT_H2_CONTROL * 1000);
    assert_null(ch_h2_meter_feed(&m, ch_buf_sv(&one), INT64_MAX));
    assert_null(ch_h2_meter_feed(&m, ch_buf_sv(&one), 0)); /* a clock that goes back */
}

static void test_decoded(void **state) {
    (void)state;
    struct ch_h2_meter m;
    ch_h2_meter_init(&m, 0);
    assert_null(ch_h2_meter_decoded(&m, CH_LIMIT_H2_BLOCK, CH_LIMIT_H2_BLOCK));
    assert_non_null(ch_h2_meter_decoded(&m, 33, CH_LIMIT_H2_BLOCK + 33));
    ch_h2_meter_init(&m, 0);
    for (size_t i = 0; i < CH_LIMIT_H2_DECODED / CH_KB; i++)
        assert_null(ch_h2_meter_decoded(&m, CH_KB, CH_KB));
    ch_h2_meter_answered(&m);
    assert_null(ch_h2_meter_decoded(&m, CH_LIMIT_H2_DECODED_ANSWER, CH_KB));
    assert_null(ch_h2_meter_feed(&m, ch_sv("P", 1), 1000));
    assert_null(ch_h2_meter_decoded(&m, CH_LIMIT_H2_DECODED_S, CH_KB));
    assert_non_null(ch_h2_meter_decoded(&m, 1, CH_KB));
}

/* A frame earns control frames unless the client's window has made it tiny. */
static void test_earns(void **state) {
    (void)state;
    struct ch_h2_meter m;
    ch_h2_meter_init(&m, 0);
    m.control = 0;
    ch_h2_meter_sent(&m, CH_LIMIT_H2_TINY - 1, true);
    assert_int_equal(m.control, 0);
    ch_h2_meter_sent(&m, CH_LIMIT_H2_TINY, true);
    assert_true(m.control > 0);
    m.control = 0;
    ch_h2_meter_sent(&m, 1, false);
    assert_true(m.control > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_fills),
        cmocka_unit_test(test_decoded),
        cmocka_unit_test(test_earns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

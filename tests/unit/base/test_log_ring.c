/* test_log_ring.c -- the newest log lines are kept, within their limits, from any thread. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/log_ring.h"
#include "base/mem.h"

struct seen {
    uint64_t first, last;
    size_t n, bytes;
    char text[64];
};

static void see(const struct ch_log_line *l, void *user) {
    struct seen *s = user;
    if (!s->n)
        s->first = l->seq;
    else
        assert_int_equal(l->seq, s->last + 1);
    s->last = l->seq;
    s->n++;
    s->bytes += strlen(l->text);
    snprintf(s->text, sizeof(s->text), "%s", l->text);
}

static void test_lines_in_order(void **state) {
    struct ch_log_ring *r = ch_log_ring_new();
    struct seen s = {0};
    (void)state;
    assert_int_equal(ch_log_ring_read(r, 0, see, &s), 0);
    assert_int_equal(s.n, 0);
    ch_log_ring_add(r, 1, CH_LOG_INFO, "a", "one");
    ch_log_ring_add(r, 2, CH_LOG_WARN, "b", "two");
    assert_int_equal(ch_log_ring_read(r, 0, see, &s), 2);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.text, "two");
    s = (struct seen){0};
    ch_log_ring_read(r, 1, see, &s);
    assert_int_equal(s.first, 2);
    s = (struct seen){0};
    assert_int_equal(ch_log_ring_read(r, 99, see, &s), 2);
    assert_int_equal(s.n, 0);
    ch_log_ring_free(r);
}

static void test_the_oldest_are_dropped(void **state) {
    struct ch_log_ring *r = ch_log_ring_new();
    struct seen s = {0};
    (void)state;
    for (int i = 0; i < 3 * CH_LIMIT_LOG_RING; i++)
        ch_log_ring_add(r, i, CH_LOG_INFO, "a", "line");
    assert_int_equal(ch_log_ring_read(r, 0, see, &s), 3 * CH_LIMIT_LOG_RING);
    assert_int_equal(s.n, CH_LIMIT_LOG_RING);
    assert_int_equal(s.last, 3 * CH_LIMIT_LOG_RING);
    ch_log_ring_free(r);
}

static void test_long_lines_are_cut(void **state) {
    struct ch_log_ring *r = ch_log_ring_new();
    char *line = ch_malloc(CH_LIMIT_LOG_LINE + 1);
    struct seen s = {0};
    (void)state;
    memset(line, 'x', CH_LIMIT_LOG_LINE);
    line[CH_LIMIT_LOG_LINE] = '\0';
    for (int i = 0; i < 2 * CH_LIMIT_LOG_RING; i++)
        ch_log_ring_add(r, i, CH_LOG_INFO, "a", line);
    ch_log_ring_read(r, 0, see, &s);
    assert_int_equal(s.bytes, s.n * CH_LIMIT_LOG_RING_LINE);
    assert_true(s.bytes <= CH_LIMIT_LOG_RING_BYTES);
    assert_true(s.n > 1);
    ch_free(line);
    ch_log_ring_free(r);
}

static void *add_many(void *ring) {
    for (int i = 0; i < 2000; i++)
        ch_log_ring_add(ring, i, CH_LOG_INFO, "thread", "a line of a thread");
    return NULL;
}

static void test_threads(void **state) {
    struct ch_log_ring *r = ch_log_ring_new();
    struct seen s = {0};
    pthread_t threads[4];
    (void)state;
    for (size_t i = 0; i < CH_LEN(threads); i++)
        pthread_create(&threads[i], NULL, add_many, r);
    for (int i = 0; i < 200; i++) {
        s = (struct seen){0};
        ch_log_ring_read(r, 0, see, &s);
    }
    for (size_t i = 0; i < CH_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    s = (struct seen){0};
    assert_int_equal(ch_log_ring_read(r, 0, see, &s), 8000);
    ch_log_ring_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_in_order),
        cmocka_unit_test(test_the_oldest_are_dropped),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

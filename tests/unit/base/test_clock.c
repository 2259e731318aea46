/* test_clock.c -- a reading that is used again is neither early nor a millisecond late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"

static int64_t read_now(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* True of every reading, however long the thread waits between two of them. */
static void test_between(void **state) {
    int64_t last = 0;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        int64_t before = read_now(CLOCK_MONOTONIC), mono = ch_mono_ms(&ch_clock_system);
        assert_true(mono >= before - 1);
        assert_true(mono <= read_now(CLOCK_MONOTONIC));
        assert_true(mono >= last);
        last = mono;
    }
}

/* The thread reads both clocks in turn: each has its own reading. */
static void test_both(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t wall = read_now(CLOCK_REALTIME) - 1, mono = read_now(CLOCK_MONOTONIC) - 1;
        assert_true(ch_now_ms(&ch_clock_system) >= wall);
        assert_true(ch_mono_ms(&ch_clock_system) >= mono);
        assert_true(ch_mono_ms(&ch_clock_system) <= read_now(CLOCK_MONOTONIC));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between),
        cmocka_unit_test(test_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

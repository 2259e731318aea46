/* clock.c -- the system clocks. */
#include "base/clock.h"

#include <time.h>

static int64_t read_ms(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t now_ms(void *user) {
    (void)user;
    return read_ms(CLOCK_REALTIME);
}

static int64_t mono_ms(void *user) {
    (void)user;
    return read_ms(CLOCK_MONOTONIC);
}

const struct ch_clock ch_clock_system = {now_ms, mono_ms, 0};

/* clock.c -- the system clocks.
 *
 * A tool round reads the time some 25 times. Where the counter of the processor is cheaper to
 * read than the clock, a thread uses a reading again for FRESH_US microseconds: a time may be
 * late by this much, and never goes back. */
#include "base/clock.h"

#include <stdbool.h>
#include <time.h>

#define FRESH_US 50

struct reading {
    uint64_t at; /* counter of the processor; 0: never read */
    int64_t ms;
};

/* False: the reading is too old. The reading then gets the present counter. */
static bool is_fresh(struct reading *r) {
#ifdef __aarch64__
    uint64_t at, hz;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(at));
    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    if (r->at && at - r->at <= hz * FRESH_US / 1000000)
        return true;
    r->at = at;
#else
    (void)r;
#endif
    return false;
}

static int64_t read_ms(struct reading *r, clockid_t id) {
    struct timespec t;
    if (!is_fresh(r)) {
        clock_gettime(id, &t);
        r->ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    }
    return r->ms;
}

static int64_t now_ms(void *user) {
    static _Thread_local struct reading last;
    (void)user;
    return read_ms(&last, CLOCK_REALTIME);
}

static int64_t mono_ms(void *user) {
    static _Thread_local struct reading last;
    (void)user;
    return read_ms(&last, CLOCK_MONOTONIC);
}

const struct ch_clock ch_clock_system = {now_ms, mono_ms, 0};

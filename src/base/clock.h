/* clock.h -- the clock as a dependency, so that tests can control time. */
#ifndef CH_BASE_CLOCK_H
#define CH_BASE_CLOCK_H
#include <stdint.h>

struct ch_clock {
    int64_t (*now_ms)(void *user);  /* wall clock, Unix epoch */
    int64_t (*mono_ms)(void *user); /* monotonic, for durations */
    void *user;
};

extern const struct ch_clock ch_clock_system;

static inline int64_t ch_now_ms(const struct ch_clock *c) {
    return c->now_ms(c->user);
}
static inline int64_t ch_mono_ms(const struct ch_clock *c) {
    return c->mono_ms(c->user);
}

#endif

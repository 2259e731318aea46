/* retry.c -- see retry.h. */
#include "tool/call/retry.h"

#include <sys/random.h>

#include "base/limits.h"
#include "base/mem.h"

#define FIRST_DELAY_MS 500
#define LONGEST_DELAY_MS 8000

static bool may_repeat(const struct ch_tool *t, const struct ch_outcome *o, unsigned attempts) {
    return o->is_error && o->retryable && t->effect != CHELA_EFFECT_ONCE &&
           attempts <= t->max_retries;
}

/* Exponential backoff with up to a quarter of jitter, so that calls which failed together
 * do not retry together. */
static int64_t retry_backoff(unsigned attempts) {
    int64_t ms = FIRST_DELAY_MS;
    unsigned char dice = 0;

    while (--attempts && ms < LONGEST_DELAY_MS)
        ms *= 2;
    ms = CH_MIN(ms, LONGEST_DELAY_MS);
    if (getrandom(&dice, 1, GRND_NONBLOCK) == 1)
        ms -= ms * dice / (4 * 255);
    return ms;
}

int64_t ch_retry_delay(const struct ch_tool *t, const struct ch_outcome *o, unsigned attempts,
                       int64_t elapsed_ms) {
    if (!may_repeat(t, o, attempts) || o->retry_after_ms > CH_LIMIT_RETRY_AFTER_MS)
        return -1;
    /* never less than the delay that the remote side asked for */
    int64_t delay = o->retry_after_ms > 0 ? o->retry_after_ms : retry_backoff(attempts);
    /* A repetition that takes as long as the attempts so far must fit in, or it would only be
     * cut off: a call that used up its own time limit is not repeated until that of the tool. */
    int64_t again = elapsed_ms / attempts;
    bool in_time = t->timeout_ms == 0 || elapsed_ms + delay + again < t->timeout_ms;
    return in_time ? delay : -1;
}

/* retry.c -- see retry.h. */
#include "tool/call/retry.h"

#include <sys/random.h>

#include "base/limits.h"
#include "base/mem.h"

#define FIRST_DELAY_MS 500
#define LONGEST_DELAY_MS 8000

static bool may_repeat(const struct ch_tool *t, const struct ch_outcome *o, unsigned attempts) {
    bool harmless =
        t->effect != CHELA_EFFECT_ONCE || (t->retry.backoff_ms > 0 && o->untouched);

    return o->is_error && o->retryable && harmless && attempts <= t->max_retries;
}

/* Exponential backoff with up to a quarter of jitter, so that calls which failed together
 * do not retry together. */
static int64_t retry_backoff(int64_t first, int64_t longest, unsigned attempts) {
    int64_t ms = first;
    unsigned char dice = 0;

    while (--attempts && ms < longest)
        ms *= 2;
    ms = CH_MIN(ms, longest);
    if (getrandom(&dice, 1, GRND_NONBLOCK) == 1)
        ms -= ms * dice / (4 * 255);
    return ms;
}

static int64_t delay_of_policy(const struct ch_tool *t, const struct ch_outcome *o,
                               unsigned attempts, int64_t elapsed_ms) {
    int64_t delay = retry_backoff(t->retry.backoff_ms, t->retry.max_backoff_ms, attempts);

    delay = CH_MAX(delay, o->retry_after_ms);
    bool in_time = t->retry.deadline_ms == 0 || elapsed_ms + delay < t->retry.deadline_ms;
    return in_time && delay <= CH_LIMIT_WAIT_MS ? delay : -1;
}

int64_t ch_retry_delay(const struct ch_tool *t, const struct ch_outcome *o, unsigned attempts,
                       int64_t elapsed_ms) {
    if (!may_repeat(t, o, attempts))
        return -1;
    if (t->retry.backoff_ms > 0)
        return delay_of_policy(t, o, attempts, elapsed_ms);
    if (o->retry_after_ms > CH_LIMIT_RETRY_AFTER_MS)
        return -1;
    /* never less than the delay that the remote side asked for */
    int64_t delay = o->retry_after_ms > 0
                        ? o->retry_after_ms
                        : retry_backoff(FIRST_DELAY_MS, LONGEST_DELAY_MS, attempts);
    /* Another attempt that takes as long as the average of the attempts so far must fit into
     * the remaining time; otherwise it would only be cut off. So a call that used up its own
     * time limit is not repeated within the time limit of the tool. */
    int64_t again = elapsed_ms / attempts;
    bool in_time = t->timeout_ms == 0 || elapsed_ms + delay + again < t->timeout_ms;
    return in_time ? delay : -1;
}

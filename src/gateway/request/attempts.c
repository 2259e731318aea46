/* attempts.c -- see attempts.h. */
#include "gateway/request/attempts.h"

#include "base/limits.h"
#include "base/mem.h"

#define WHOLE 60000 /* one attempt: a minute refills CH_LIMIT_WRONG_TOKENS_MINUTE of them */

struct ch_attempt {
    unsigned char network[16];
    int64_t left; /* attempts, times WHOLE */
    int64_t at;   /* ms; when `left` was computed */
};

void ch_attempts_release(struct ch_attempts *a) {
    ch_free(a->list);
    *a = (struct ch_attempts){0};
}

static int64_t attempts_left(const struct ch_attempt *t, int64_t now_ms) {
    int64_t ms = CH_MIN(CH_MAX(now_ms - t->at, 0), 3600000);
    return CH_MIN(t->left + ms * CH_LIMIT_WRONG_TOKENS_MINUTE,
                  (int64_t)CH_LIMIT_WRONG_TOKENS * WHOLE);
}

static struct ch_attempt *attempts_find(struct ch_attempts *a, const unsigned char network[16],
                                        int64_t now_ms) {
    struct ch_attempt *fullest = NULL;
    for (size_t i = 0; i < a->n; i++) {
        struct ch_attempt *t = &a->list[i];
        if (memcmp(t->network, network, sizeof(t->network)) == 0)
            return t;
        if (!fullest || attempts_left(t, now_ms) > attempts_left(fullest, now_ms))
            fullest = t;
    }
    if (!a->list)
        a->list = ch_alloc(CH_LIMIT_WRONG_TOKEN_NETWORKS * sizeof(*a->list));
    struct ch_attempt *t = a->n < CH_LIMIT_WRONG_TOKEN_NETWORKS ? &a->list[a->n++] : fullest;
    *t = (struct ch_attempt){.left = (int64_t)CH_LIMIT_WRONG_TOKENS * WHOLE, .at = now_ms};
    memcpy(t->network, network, sizeof(t->network));
    return t;
}

bool ch_attempts_fail(struct ch_attempts *a, const unsigned char network[16], int64_t now_ms) {
    struct ch_attempt *t = attempts_find(a, network, now_ms);
    int64_t cost = WHOLE * (int64_t)CH_MIN(CH_MAX(a->share, 1), (size_t)CH_LIMIT_WRONG_TOKENS);
    t->left = attempts_left(t, now_ms);
    t->at = now_ms;
    if (t->left < cost)
        return true;
    t->left -= cost;
    return false;
}

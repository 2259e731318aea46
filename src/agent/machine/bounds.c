/* bounds.c -- see bounds.h. */
#include "agent/machine/bounds.h"

void ch_bounds_lower(int64_t *limit, int64_t most) {
    if (most > 0 && (*limit < 0 || *limit > most))
        *limit = most;
}

void ch_bounds_apply(const struct ch_bounds *b, struct ch_run_limits *limits) {
    ch_bounds_lower(&limits->max_turns, b->turns);
    if (b->cost_usd > 0 && (limits->cost_budget < 0 || limits->cost_budget > b->cost_usd))
        limits->cost_budget = b->cost_usd;
}

/* bounds.h -- limits of one conversation, within those of its agent. */
#ifndef CH_AGENT_BOUNDS_H
#define CH_AGENT_BOUNDS_H
#include "agent/machine/run.h"

struct ch_bounds { /* 0: the agent's own limit */
    double cost_usd;
    int64_t turns, timeout_ms;
};

/* Lower *limit to most. most 0: no bound; *limit negative: no limit so far. */
void ch_bounds_lower(int64_t *limit, int64_t most);

/* Lower the limits that are above the bounds. */
void ch_bounds_apply(const struct ch_bounds *b, struct ch_run_limits *limits);

#endif

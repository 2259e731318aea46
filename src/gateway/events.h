/* events.h -- a session's events as a stream, and where to take them up. */
#ifndef CH_GATEWAY_EVENTS_H
#define CH_GATEWAY_EVENTS_H
#include "gateway/lane.h"

/* Answer v with the events of l from now on; until_end: up to RUN_END. */
void ch_events_follow(struct ch_visit *v, struct ch_lane *l, bool until_end);

#endif

/* events.h -- a session's events as a stream, and where to take them up. */
#ifndef CH_GATEWAY_EVENTS_H
#define CH_GATEWAY_EVENTS_H
#include "gateway/lane/lane.h"

/* Answer v with the events of l from now on; until_end: up to RUN_END. */
void ch_events_follow(struct ch_visit *v, struct ch_lane *l, bool until_end);

/* t NULL: there is a gap. False: that is enough. */
typedef bool ch_replay_fn(const struct ch_told *t, void *user);
/* Tell what came after the event `last`, its id or the number in it; if that is not
 * known any more, of the gap and then all that is. */
void ch_events_replay(const struct ch_lane *l, struct ch_sv last, ch_replay_fn *tell, void *user);

#endif

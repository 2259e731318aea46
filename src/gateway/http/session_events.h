/* session_events.h -- the events of a session as a stream, and the replay of recent ones. */
#ifndef CH_GATEWAY_SESSION_EVENTS_H
#define CH_GATEWAY_SESSION_EVENTS_H
#include "gateway/lane/delivery.h"
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"

ch_http_route_fn ch_session_events_get;

/* Responds with the events that d causes, up to RUN_END. */
void ch_session_events_follow_run(struct ch_request *req, struct ch_lane *l,
                                  const struct ch_delivery *d);

/* For a request to a session that another process has: begins to read the session's journal,
 * then calls ready. Uses req->user and req->on_disconnect. */
void ch_session_events_prepare(struct ch_request *req, const char *key,
                               void (*ready)(struct ch_request *req));
/* After ch_session_events_prepare: responds with the events that d causes, up to RUN_END. */
void ch_session_events_await(struct ch_request *req, const struct ch_delivery *d);

/* e NULL: a gap. False ends the replay. */
typedef bool ch_session_events_fn(const struct ch_lane_event *e, void *user);
/* Passes on the recent events after `last`, which is an event id or the sequence number from
 * one. If that event is no longer in memory: reports a gap, then passes on all recent
 * events. */
void ch_session_events_replay(const struct ch_lane *l, struct ch_sv last,
                              ch_session_events_fn *fn, void *user);

#endif

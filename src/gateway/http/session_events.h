/* session_events.h -- the events of a session as a stream. */
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

/* The position that the client names, in Last-Event-ID or ?after=; empty: none. */
struct ch_sv ch_session_events_after(struct ch_request *req);

#endif

/* session_open.h -- the lane of a session that may not be in memory: the store is asked for
 * its agent, and its journal is read. */
#ifndef CH_GATEWAY_SESSION_OPEN_H
#define CH_GATEWAY_SESSION_OPEN_H
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"

/* l NULL: another process has the session, and elsewhere is true; or there is none. */
typedef void ch_session_open_fn(struct ch_request *req, struct ch_lane *l, bool elsewhere);

/* Calls on_lane with the lane of the session that req->param names, ready for use. If there is
 * no such session, req is answered with 404, unless may_lack is set. Other errors are answered
 * as well. A lane that is open is used with the options that it has. */
void ch_session_open_lane(struct ch_request *req, bool may_lack, ch_session_open_fn *on_lane);
/* Calls on_lane when the lane is ready, at once if it is. Errors are answered. */
void ch_session_open_wait(struct ch_request *req, struct ch_lane *l, ch_session_open_fn *on_lane);

#endif

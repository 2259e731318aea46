/* session_open.h -- the lane of a session that may not be in memory: the store is asked for
 * its agent, and its journal is read. */
#ifndef CH_GATEWAY_SESSION_OPEN_H
#define CH_GATEWAY_SESSION_OPEN_H
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"

/* Calls on_lane with the lane of the session that req->param names, ready for use. If
 * another process has the session: on_lane gets NULL, and elsewhere is true. If there is no
 * such session: on_lane gets NULL if may_lack is set; otherwise req is answered with 404.
 * Other errors are answered as well. */
void ch_session_open_lane(struct ch_request *req, bool may_lack,
                          void (*on_lane)(struct ch_request *req, struct ch_lane *l,
                                          bool elsewhere));

#endif

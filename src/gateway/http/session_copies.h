/* session_copies.h -- /api/sessions/{key}: rename, fork and export a stored session. */
#ifndef CH_GATEWAY_SESSION_COPIES_H
#define CH_GATEWAY_SESSION_COPIES_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_session_copies_rename; /* POST {"title"} */
ch_http_route_fn ch_session_copies_fork;   /* POST {"to","before"} */
ch_http_route_fn ch_session_copies_export; /* GET: lines of JSON */

#endif

/* sessions_api.h -- the routes below /api/sessions, but for events and sockets. */
#ifndef CH_GATEWAY_SESSIONS_API_H
#define CH_GATEWAY_SESSIONS_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_sessions_list, ch_sessions_show, ch_sessions_records, ch_sessions_delete,
    ch_sessions_cancel, ch_sessions_message;

#endif

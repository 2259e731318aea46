/* trace_api.h -- the routes that show the requests to models. */
#ifndef CH_GATEWAY_TRACE_API_H
#define CH_GATEWAY_TRACE_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_trace_requests_list, ch_trace_request_get, ch_trace_setups_get;

#endif

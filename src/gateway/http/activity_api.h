/* activity_api.h -- GET /api/activity?days=N: the runs of the last N days. */
#ifndef CH_GATEWAY_ACTIVITY_API_H
#define CH_GATEWAY_ACTIVITY_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_activity_get;

#endif

/* usage_api.h -- GET /api/usage. */
#ifndef CH_GATEWAY_USAGE_API_H
#define CH_GATEWAY_USAGE_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_usage_get;

#endif

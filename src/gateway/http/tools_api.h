/* tools_api.h -- POST /tools/invoke. */
#ifndef CH_GATEWAY_TOOLS_API_H
#define CH_GATEWAY_TOOLS_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_tools_invoke;

#endif

/* logs_api.h -- the newest log lines of the gateway. */
#ifndef CH_GATEWAY_LOGS_API_H
#define CH_GATEWAY_LOGS_API_H
#include "gateway/request/gateway_state.h"
#include "gateway/request/http_route.h"

/* Keeps the log lines of the runtime from now on. */
void ch_logs_api_keep(chela_gateway *gw);

ch_http_route_fn ch_logs_api_get; /* GET /api/logs: {"lines"}, or with follow=1 a stream */

#endif

/* metrics.h -- GET /metrics. */
#ifndef CH_GATEWAY_METRICS_H
#define CH_GATEWAY_METRICS_H
#include <stdatomic.h>

#include "chela/gateway.h"
#include "gateway/request/http_route.h"

ch_http_route_fn ch_metrics_get;

/* For a worker with a board (chela/gateway.h). */
void ch_metrics_publish(chela_gateway *gw);
_Atomic uint64_t *ch_metrics_taken(const chela_gateway *gw); /* count of received connections */

#endif

/* metrics.h -- GET /metrics. */
#ifndef CH_GATEWAY_METRICS_H
#define CH_GATEWAY_METRICS_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_metrics_get;

#endif

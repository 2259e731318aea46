/* operate_api.h -- what an operator looks at: channels, people who ask for access, the
 * configuration. */
#ifndef CH_GATEWAY_OPERATE_API_H
#define CH_GATEWAY_OPERATE_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_operate_channels;  /* GET /api/channels */
ch_http_route_fn ch_operate_pairing;   /* POST /api/pairings */
ch_http_route_fn ch_operate_config;    /* GET /api/config */

#endif

/* operate_api.h -- routes for the operator: channels, people who ask for access, and the
 * processes that hold sessions of the store. */
#ifndef CH_GATEWAY_OPERATE_API_H
#define CH_GATEWAY_OPERATE_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_operate_channels;  /* GET /api/channels */
ch_http_route_fn ch_operate_pairing;   /* POST /api/pairings */
ch_http_route_fn ch_operate_nodes;     /* GET /api/nodes */

#endif

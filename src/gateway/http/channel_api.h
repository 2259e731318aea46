/* channel_api.h -- POST /channels/{name}/events: callbacks of chat services; POST
 * /api/channels/{name}/test: a test of a channel. */
#ifndef CH_GATEWAY_CHANNEL_API_H
#define CH_GATEWAY_CHANNEL_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_channel_api_receive, ch_channel_api_test;

#endif

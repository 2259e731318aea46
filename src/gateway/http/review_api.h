/* review_api.h -- /api/sessions/{key}: the changes that wait for review. */
#ifndef CH_GATEWAY_REVIEW_API_H
#define CH_GATEWAY_REVIEW_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_review_api_diff;  /* GET */
ch_http_route_fn ch_review_api_apply; /* POST {"files","hunks","discard"} */

#endif

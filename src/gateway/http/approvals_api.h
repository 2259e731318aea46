/* approvals_api.h -- GET /api/approvals and POST /api/approvals/{id}. */
#ifndef CH_GATEWAY_APPROVALS_API_H
#define CH_GATEWAY_APPROVALS_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_approvals_list, ch_approvals_decide;

#endif

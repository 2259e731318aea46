/* http_routes.h -- the table of routes. */
#ifndef CH_GATEWAY_HTTP_ROUTES_H
#define CH_GATEWAY_HTTP_ROUTES_H
#include "gateway/request/http_route.h"

extern const struct ch_http_route ch_http_routes[]; /* ends with a NULL method */

#endif

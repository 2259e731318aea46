/* schedules_api.h -- the schedules of a gateway, over HTTP. */
#ifndef CH_GATEWAY_SCHEDULES_API_H
#define CH_GATEWAY_SCHEDULES_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_schedules_api_list; /* GET /api/schedules */
ch_http_route_fn ch_schedules_api_run;  /* POST /api/schedules/{name}/run: begins it now */

#endif

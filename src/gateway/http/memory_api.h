/* memory_api.h -- the notes that agents keep in their workspaces. */
#ifndef CH_GATEWAY_MEMORY_API_H
#define CH_GATEWAY_MEMORY_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_memory_api_list; /* GET /api/memory: files by agent */
ch_http_route_fn ch_memory_api_get;  /* GET /api/memory/{agent}?file=NAME: the text of one */

#endif

/* mcp_servers_api.h -- the MCP servers whose tools the agents use. */
#ifndef CH_GATEWAY_MCP_SERVERS_API_H
#define CH_GATEWAY_MCP_SERVERS_API_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_mcp_servers_list; /* GET /api/mcp */
/* POST /api/mcp/{name} {"action":"check"|"accept"}: connects and lists the tools; accept: also
 * accepts new and changed ones. */
ch_http_route_fn ch_mcp_servers_act;

#endif

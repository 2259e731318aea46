/* mcp_api.h -- /mcp: the agents for clients of the Model Context Protocol.
 *
 * The protocol is that of mcp/mcp_server.h. The gateway adds the authentication and the
 * agents: their tools ask_ID use sessions of the store (mcp_ask.h). */
#ifndef CH_GATEWAY_MCP_API_H
#define CH_GATEWAY_MCP_API_H
#include "gateway/request/request.h"

struct ch_mcp_api;  /* part of a gateway, with the same lifetime */
struct ch_mcp_plan; /* the next offer; owned by the caller of the planning function */

struct ch_mcp_api *ch_mcp_api_new(chela_gateway *gw);
void ch_mcp_api_free(struct ch_mcp_api *a);
/* *out NULL: nothing is offered. CHELA_ECONFIG: an option is wrong. */
int ch_mcp_api_plan(chela_gateway *gw, const struct chela_gateway_opts *o,
                    struct ch_mcp_plan **out, struct chela_error *err);
void ch_mcp_api_drop_plan(struct ch_mcp_plan *p);
/* Takes the plan. Clients and calls in progress stay, unless p is NULL. */
void ch_mcp_api_apply(struct ch_mcp_api *a, struct ch_mcp_plan *p);
/* Is a call in progress? */
bool ch_mcp_api_busy(const struct ch_mcp_api *a);

ch_http_route_fn ch_mcp_api_serve;
/* The document of RFC 9728: which authorization server gives tokens for /mcp. */
ch_http_route_fn ch_mcp_api_metadata;

#endif

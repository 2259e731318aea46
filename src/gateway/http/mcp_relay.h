/* mcp_relay.h -- a request of an MCP session that another worker has.
 *
 * A session of 2025-11-25 lives in one process, and connections go to the workers in turn. The
 * id of a session begins with the number of its worker. A worker that gets a request of
 * another worker's session sends the request there, over a socket that the parent passes on
 * (ch_server_pass), and copies the response. The other worker checks the token again. */
#ifndef CH_GATEWAY_MCP_RELAY_H
#define CH_GATEWAY_MCP_RELAY_H
#include "gateway/request/request.h"

/* The worker of the request's session; 0: this process. */
size_t ch_mcp_relay_target(const struct ch_request *req);
/* Relay the request. relays: those in progress; the new one is added. The request is answered
 * with 404 if the other worker has ended. */
void ch_mcp_relay_start(struct ch_list *relays, struct ch_request *req, size_t worker);
/* Does a client wait for an answer? Streams of notifications do not count. */
bool ch_mcp_relays_busy(const struct ch_list *relays);
/* Abandon all; their requests stay unanswered. */
void ch_mcp_relays_end(struct ch_list *relays);

#endif

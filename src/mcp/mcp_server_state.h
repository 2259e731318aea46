/* mcp_server_state.h -- the signed state of a request that waits for input. */
#ifndef CH_MCP_SERVER_STATE_H
#define CH_MCP_SERVER_STATE_H
#include "mcp/mcp_server.h"

void ch_mcp_state_seal(chela_mcp_call *call, struct ch_buf *out);
/* Read the state of a request into call->before and call->kept. False: the state is invalid. */
bool ch_mcp_state_open(chela_mcp_call *call, struct ch_sv state);

#endif

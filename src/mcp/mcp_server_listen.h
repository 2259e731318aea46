/* mcp_server_listen.h -- a listener without a gateway. */
#ifndef CH_MCP_SERVER_LISTEN_H
#define CH_MCP_SERVER_LISTEN_H
#include "mcp/mcp_server.h"

void ch_mcp_listen_close(chela_mcp_server *s);

#endif

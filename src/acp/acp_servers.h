/* acp_servers.h -- MCP servers that the editor names. */
#ifndef CH_ACP_SERVERS_H
#define CH_ACP_SERVERS_H
#include "acp/acp.h"

void ch_acp_servers_take(struct ch_acp_session *s, const struct ch_json *params);
/* Offer the tools of the editor's servers to the agent. */
void ch_acp_servers_attach(struct ch_acp_session *s);

#endif

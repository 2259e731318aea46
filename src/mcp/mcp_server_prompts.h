/* mcp_server_prompts.h -- prompts of the configuration, for clients. */
#ifndef CH_MCP_SERVER_PROMPTS_H
#define CH_MCP_SERVER_PROMPTS_H
#include "mcp/mcp_server.h"

/* Offer the prompts that the configuration's files define (chela/prompt.h). */
int ch_mcp_server_prompts(chela_mcp_server *s, struct chela_error *err);

#endif

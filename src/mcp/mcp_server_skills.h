/* mcp_server_skills.h -- skills for clients, an extension of the protocol. */
#ifndef CH_MCP_SERVER_SKILLS_H
#define CH_MCP_SERVER_SKILLS_H
#include "mcp/mcp_server.h"

/* Offer the skills of an agent, given as chela_agent_skills_json lists them. Only the first
 * agent's skills are offered. */
int ch_mcp_server_skills(chela_mcp_server *s, const struct ch_json *skills,
                         struct chela_error *err);

#endif

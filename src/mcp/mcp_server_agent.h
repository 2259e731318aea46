/* mcp_server_agent.h -- an agent behind a server. */
#ifndef CH_MCP_SERVER_AGENT_H
#define CH_MCP_SERVER_AGENT_H
#include "mcp/mcp_server.h"

/* Offer an agent as the tool ask_ID; the caller supplies its function. */
int ch_mcp_server_ask_tool(chela_mcp_server *s, const chela_agent *agent,
                           const struct chela_mcp_tool_opts *base, struct chela_error *err);
bool ch_mcp_is_session_id(const char *id);
/* Set the result of ask_ID to that of ev (RUN_END): the answer, and the sentence about the end, if
 * there is one. A run with an error is an error of the tool, except for one that a limit stopped
 * and that has an answer so far. The reason is in the structured content; the text of a model's
 * service is for the log only. */
void ch_mcp_ask_result(chela_mcp_call *call, const char *id, const struct chela_event *ev);
/* Set the result of ask_ID. id: of the session, for the client. */
void ch_mcp_ask_outcome(chela_mcp_call *call, const char *id, enum chela_status status,
                        enum chela_reason reason, struct ch_sv text);

#endif

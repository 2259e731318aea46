/* mcp_ask.h -- the tools ask_ID of /mcp: a message for an agent in a session of the store.
 *
 * The message is an event of the inbox before the run begins, so that a run whose process died
 * is continued by the next one, and a repeated call (chela/idempotencyKey) begins no second run.
 * For clients that know tasks the call is a task, whose id is that of the session. */
#ifndef CH_GATEWAY_MCP_ASK_H
#define CH_GATEWAY_MCP_ASK_H
#include "gateway/request/gateway_state.h"
#include "mcp/mcp_server.h"

#define CH_MCP_OPERATOR "token:" /* prefix of the principal who has the gateway's token */

/* Offers the agent. calls: list of the calls in progress. */
int ch_mcp_ask_offer(chela_mcp_server *s, chela_gateway *gw, struct ch_list *calls,
                     const chela_agent *agent, struct chela_error *err);
/* Offers the states of such calls as tasks. */
void ch_mcp_ask_offer_tasks(chela_mcp_server *s, chela_gateway *gw);
/* The gateway stops: the calls in progress get an answer, and their runs are not touched. */
void ch_mcp_ask_end(struct ch_list *calls);

/* The prefix of the keys of the sessions of a client; the operator's is "mcp:". */
void ch_mcp_ask_prefix(struct ch_buf *out, const char *principal);

#endif

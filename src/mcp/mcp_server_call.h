/* mcp_server_call.h -- a request that a function works on: questions, log, progress. */
#ifndef CH_MCP_SERVER_CALL_H
#define CH_MCP_SERVER_CALL_H
#include "mcp/mcp_server.h"

/* Start the function of an item. arguments: JSON object. */
void ch_mcp_call_start(const struct ch_mcp_incoming *in, struct ch_mcp_item *item,
                       enum ch_mcp_verb verb, struct ch_sv name, struct ch_sv arguments);
/* The client declared the extension for tasks, as since 2026-07-28. */
bool ch_mcp_knows_tasks(const struct ch_mcp_incoming *in);
/* Call `list` of a template, at once; appends a JSON array of entries. */
void ch_mcp_call_list(const struct ch_mcp_incoming *in, struct ch_mcp_item *item,
                      struct ch_buf *out);
/* The connection is closed. */
void ch_mcp_call_orphan(chela_mcp_call *call);

#endif

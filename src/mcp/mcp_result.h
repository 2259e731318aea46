/* mcp_result.h -- the result of an MCP tool as the result of a call. */
#ifndef CH_MCP_RESULT_H
#define CH_MCP_RESULT_H
#include "chela/tool.h"
#include "mcp/mcp_client.h"
#include "mcp/mcp_server_connection.h"

/* Set the result of a call from the result of tools/call. Text, images and audio reach the
 * model; a link to a resource is named and not fetched. output: schema of the structured
 * content; NULL: none. Structured content that does not match is left out, and the model
 * gets a note. */
void ch_mcp_result(chela_call *call, const struct ch_json *result, const char *output);

/* Set the result of a call from a list of resources or templates, or from the contents of a
 * resource. */
void ch_mcp_result_resources(chela_call *call, const struct ch_json *result);

/* Set an error result from a failed request. */
void ch_mcp_result_failed(chela_call *call, const struct ch_mcp_reply *r);

#endif

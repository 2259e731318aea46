/* mcp_tools.h -- the tools of a server in agents: listing, accepting, calling. Loop thread only. */
#ifndef CH_MCP_TOOLS_H
#define CH_MCP_TOOLS_H
#include "mcp/mcp_client.h"
#include "mcp/mcp_manifest.h"

/* Prepare the tools of a new client: reads the file of accepted definitions. */
void ch_mcp_tools_open(chela_mcp *m);
void ch_mcp_tools_close(chela_mcp *m);

/* Add the accepted tools to an agent, now and whenever the server lists more. */
void ch_mcp_tools_attach(chela_mcp *m, chela_agent *agent);

/* List the tools of the server. accept: accept all definitions. done may be NULL. */
typedef void ch_mcp_listed_fn(const struct chela_error *err, void *user);
void ch_mcp_tools_list(chela_mcp *m, bool accept, ch_mcp_listed_fn *done, void *user);
/* Whether a list is awaited. */
bool ch_mcp_tools_is_listing(const chela_mcp *m);
/* Whether a list is awaited without which an agent has no tools of the server. */
bool ch_mcp_tools_awaited(const chela_mcp *m);

/* Append the headers for annotated arguments of a call (as in struct ch_mcp_send). params: the
 * parameters of tools/call as JSON. */
void ch_mcp_tools_headers(const chela_mcp *m, const char *tool, const char *params,
                          struct ch_buf *out);

const struct ch_mcp_manifest *ch_mcp_tools_manifest(const chela_mcp *m);

#endif

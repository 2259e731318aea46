/* mcp_server_item.h -- the tools, resources and prompts of a server: finding them, and counting
 * references to them and to their server. */
#ifndef CH_MCP_SERVER_ITEM_H
#define CH_MCP_SERVER_ITEM_H
#include "mcp/mcp_server.h"

void ch_mcp_server_unref(chela_mcp_server *s);
struct ch_mcp_item *ch_mcp_server_find(const chela_mcp_server *s, enum ch_mcp_kind kind,
                                       struct ch_sv key);
/* The resource or template for a URI. Variables go to *w as members of an object. */
struct ch_mcp_item *ch_mcp_server_match(const chela_mcp_server *s, struct ch_sv uri,
                                        struct ch_jw *w);
void ch_mcp_item_unref(struct ch_mcp_item *i);

#endif

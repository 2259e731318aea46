/* mcp_server_methods.h -- the table of methods; lists, subscriptions. */
#ifndef CH_MCP_SERVER_METHODS_H
#define CH_MCP_SERVER_METHODS_H
#include "mcp/mcp_server.h"

/* Work on a request: an answer follows. */
void ch_mcp_dispatch(const struct ch_mcp_incoming *in);
/* Tell the clients that watch lists of these kinds (bits). */
void ch_mcp_listeners_changed(chela_mcp_server *s, unsigned kinds);
void ch_mcp_listeners_updated(chela_mcp_server *s, const char *uri);
void ch_mcp_refuse_resource(chela_mcp_connection *c, struct ch_rpc_request *r,
                            struct ch_mcp_stream *stream, struct ch_sv uri, bool is_modern);

#endif

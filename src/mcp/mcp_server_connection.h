/* mcp_server_connection.h -- a client: messages in and out, era of a request, handshake. */
#ifndef CH_MCP_SERVER_CONNECTION_H
#define CH_MCP_SERVER_CONNECTION_H
#include "mcp/mcp_server.h"

void ch_mcp_connection_init(chela_mcp_connection *c, chela_mcp_server *s,
                            const struct ch_mcp_connection_ops *ops, const char *principal);
/* Cancels the requests in progress. */
void ch_mcp_connection_release(chela_mcp_connection *c);
/* Take a message of the client. */
void ch_mcp_connection_receive(chela_mcp_connection *c, struct ch_sv text,
                               struct ch_mcp_stream *stream);
void ch_mcp_reply(chela_mcp_connection *c, struct ch_rpc_request *r, struct ch_mcp_stream *stream,
                  const struct ch_buf *result);
void ch_mcp_refuse(chela_mcp_connection *c, struct ch_rpc_request *r,
                   struct ch_mcp_stream *stream, int64_t code, struct ch_sv data, const char *fmt,
                   ...) __attribute__((format(printf, 6, 7)));
/* Send a notification on a stream. */
void ch_mcp_notify(chela_mcp_connection *c, struct ch_mcp_stream *stream, const char *method,
                   struct ch_sv params);
/* Begin a result: '{', with the members that every result of the era has. */
struct ch_jw ch_mcp_result_begin(const chela_mcp_server *s, struct ch_buf *out, bool modern,
                                 const char *type);
void ch_mcp_write_info(const chela_mcp_server *s, struct ch_jw *w);
void ch_mcp_write_capabilities(const chela_mcp_server *s, struct ch_jw *w, bool modern);
/* The severity of a name; -1: none. */
int ch_mcp_level_read(struct ch_sv name);

#endif

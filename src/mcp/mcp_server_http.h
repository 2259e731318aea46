/* mcp_server_http.h -- Streamable HTTP: sessions, streams, headers. */
#ifndef CH_MCP_SERVER_HTTP_H
#define CH_MCP_SERVER_HTTP_H
#include "mcp/mcp_server.h"

/* Follows the worker's number in the id of a session: "2-8f3a...". */
#define CH_MCP_WORKER_END '-'

/* How the owner of an HTTP request answers it. x is the owner's. */
struct ch_mcp_http_ops {
    /* The request is answered later; ch_mcp_http_gone(stream) reports that the client left. */
    void (*attach)(void *x, struct ch_mcp_stream *stream);
    void (*header)(void *x, const char *name, const char *value);
    void (*respond)(void *x, int status, const char *type, struct ch_sv body); /* ends x */
    void (*stream)(void *x);
    int (*write)(void *x, struct ch_sv bytes);
    void (*end)(void *x); /* ends x */
};

struct ch_mcp_http_request {
    const struct ch_mcp_http_ops *ops;
    void *x;
    const struct ch_inbound *in;
    const char *principal;
};
void ch_mcp_http_serve(chela_mcp_server *s, const struct ch_mcp_http_request *q);
void ch_mcp_http_gone(struct ch_mcp_stream *stream);
/* Keep streams alive, and end sessions that are not used. */
void ch_mcp_http_pulse(chela_mcp_server *s);
void ch_mcp_http_close(chela_mcp_server *s);

#endif

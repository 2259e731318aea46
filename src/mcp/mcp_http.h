/* mcp_http.h -- a link over Streamable HTTP: every message is a POST to one URL.
 *
 * A response is a JSON object or a stream of events. A stream of an older protocol version
 * that ends early is resumed with its last event id, after the delay that the server asked
 * for. Redirects are not followed, so headers never reach another origin. */
#ifndef CH_MCP_HTTP_H
#define CH_MCP_HTTP_H
#include "io/loop.h"
#include "mcp/mcp_link.h"
#include "net/transport.h"

struct ch_mcp_http_opts {
    struct ch_loop *loop;
    struct ch_transport *transport;
    const char *url;            /* copied */
    const char *const *headers; /* "Name: value"; NULL: none; copied */
};

struct ch_mcp_link *ch_mcp_http_new(const struct ch_mcp_http_opts *opts,
                                    const struct ch_mcp_link_events *events, void *user);

/* The bearer token for the next requests; NULL: none. Copied. */
void ch_mcp_http_token(struct ch_mcp_link *l, const char *token);

#endif

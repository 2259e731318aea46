/* mcp_auth.h -- log-in to an MCP server over HTTP: OAuth 2.1 with PKCE.
 *
 *     challenge -> protected-resource metadata -> server metadata -> client id
 *       -> browser, loopback callback -> token
 *
 * A refresh token is used before the browser. Every document is checked: the resource must
 * match the endpoint, the issuer must be the one whose metadata was requested, and the
 * redirect must come from that issuer. Nothing is sent to an origin that the metadata does
 * not name, nor, if the MCP server has TLS, to an address without, nor to a host that egress.deny
 * names. Loop thread only. */
#ifndef CH_MCP_AUTH_H
#define CH_MCP_AUTH_H
#include "base/arena.h"
#include "io/loop.h"
#include "net/transport.h"

struct ch_egress;
struct ch_mcp_auth;

struct ch_mcp_auth_opts {
    struct ch_loop *loop;
    struct ch_transport *transport;
    const char *name, *url;                /* name and URL of the server; borrowed while in use */
    const char *client_id, *client_secret; /* registered before; may be NULL */
    const char *client_metadata_url;       /* may be NULL */
    const char *issuer;                    /* the only one to log in to; NULL: see bound_issuer */
    const struct ch_egress *egress;        /* borrowed; hosts that metadata may name, or not */
    const char *path;                      /* file for tokens; NULL: none is stored */
    /* Shows a URL to a person; NULL: no person is present, and a log-in fails. */
    void (*open_url)(const char *url, void *user);
    void *user;
};

struct ch_mcp_auth *ch_mcp_auth_new(const struct ch_mcp_auth_opts *opts);
void ch_mcp_auth_free(struct ch_mcp_auth *a);

/* Replace the function that shows URLs to a person. */
void ch_mcp_auth_open_by(struct ch_mcp_auth *a, void (*open_url)(const char *url, void *user),
                         void *user);

/* The access token; NULL: none. Borrowed until the next log-in. */
const char *ch_mcp_auth_token(const struct ch_mcp_auth *a);

/* Get a new token after the server refused a request with `status`. challenge: the header
 * WWW-Authenticate, may be NULL. done is called once, later, unless the object is freed.
 * CHELA_EBUSY: a log-in is in progress. */
typedef void ch_mcp_auth_fn(const struct chela_error *err, void *user);
int ch_mcp_auth_start(struct ch_mcp_auth *a, int status, const char *challenge,
                      ch_mcp_auth_fn *done, void *user);

/* The URLs at which an issuer may publish its metadata, in the order to try them (RFC 8414 and
 * OpenID Connect Discovery). Returns their number; 0: the issuer is not a URL. */
#define CH_MCP_METADATA_URLS 3
size_t ch_mcp_auth_metadata_urls(struct ch_arena *a, const char *issuer,
                                 const char *urls[CH_MCP_METADATA_URLS]);

#endif

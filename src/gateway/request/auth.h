/* auth.h -- who may call the gateway: host name, origin and token of a request.
 *
 * The checks look at the head of a request only; nothing of its body has been read. */
#ifndef CH_GATEWAY_AUTH_H
#define CH_GATEWAY_AUTH_H
#include "base/sha256.h"
#include "chela/gateway.h"
#include "net/server.h"

#define CH_SOCKET_PROTOCOL "chela.v1" /* subprotocol of WebSockets */

struct ch_auth {
    unsigned char token[CH_SHA256_SIZE]; /* digest of the token */
    char **hosts, **origins;             /* owned, NULL-terminated */
};

struct ch_auth_refusal {
    int status; /* HTTP status; 0: the request is accepted */
    const char *why;
};

/* CHELA_ECONFIG: the token is missing or too short. */
int ch_auth_init(struct ch_auth *a, const struct chela_gateway_opts *opts,
                 struct chela_error *err);
void ch_auth_release(struct ch_auth *a);

/* Checks host name and origin, not the token. */
struct ch_auth_refusal ch_auth_check(const struct ch_auth *a, const struct ch_inbound *in);
/* Does the Authorization header carry the token? */
bool ch_auth_has_token(const struct ch_auth *a, const struct ch_inbound *in);
/* Does the header x-api-key carry it? Only clients of Anthropic's protocol use this header. */
bool ch_auth_has_api_key(const struct ch_auth *a, const struct ch_inbound *in);
/* The digest of the token that the request shows in a header; zeros: it shows none. */
void ch_auth_shown(const struct ch_inbound *in, unsigned char out[CH_SHA256_SIZE]);
/* Does the request carry any token, right or wrong? */
bool ch_auth_shows_token(const struct ch_inbound *in);
/* The same for a WebSocket. A page cannot set headers for it, so it offers the
 * subprotocols CH_SOCKET_PROTOCOL and "bearer.TOKEN". */
bool ch_auth_has_socket_token(const struct ch_auth *a, const struct ch_inbound *in);
/* The request's origin if the configuration allows it, for the CORS headers of the response,
 * which a browser compares byte by byte; p NULL otherwise. Borrowed from the head. */
struct ch_sv ch_auth_allowed_origin(const struct ch_auth *a, const struct ch_inbound *in);

#endif

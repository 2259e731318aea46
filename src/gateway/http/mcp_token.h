/* mcp_token.h -- tokens of an OAuth authorization server, for /mcp.
 *
 * With an introspection endpoint the server is asked about each token (RFC 7662), and its answer
 * is used for a minute. Otherwise tokens are JSON Web Tokens (RFC 9068), which the gateway
 * checks with the server's keys (mcp_keys.h). A token must be valid now, of the issuer, for this
 * resource, and have the scope. A token that is bound to a key of its client (`cnf`) is refused,
 * because the gateway does not check the binding. */
#ifndef CH_GATEWAY_MCP_TOKEN_H
#define CH_GATEWAY_MCP_TOKEN_H
#include "agent/handle/runtime.h"
#include "base/buf.h"
#include "chela/gateway.h"

struct ch_mcp_tokens;
struct ch_mcp_token_check;

struct ch_mcp_token_answer {
    int status;            /* HTTP status of the refusal; 0: accepted */
    const char *why;       /* of a refusal */
    const char *principal; /* principal of an accepted token; borrowed for the call */
};
typedef void ch_mcp_token_fn(const struct ch_mcp_token_answer *a, void *user);

/* CHELA_ECONFIG: an option is missing or wrong. *out NULL: no issuer is configured. */
int ch_mcp_tokens_new(chela_runtime *rt, const struct chela_gateway_mcp *o,
                      struct ch_mcp_tokens **out, struct chela_error *err);
/* Checks in progress end with 503. */
void ch_mcp_tokens_free(struct ch_mcp_tokens *t);

/* The values of WWW-Authenticate: for a missing or wrong token, for a missing scope. */
const char *ch_mcp_tokens_challenge(const struct ch_mcp_tokens *t, bool lacks_scope);
/* The document of RFC 9728. */
void ch_mcp_tokens_metadata(const struct ch_mcp_tokens *t, struct ch_buf *out);

/* Checks the token. fn is called once; if the answer is known already, fn is called at once
 * and NULL is returned. The check ends when fn is called or the check is cancelled. */
struct ch_mcp_token_check *ch_mcp_token_check(struct ch_mcp_tokens *t, struct ch_sv token,
                                              ch_mcp_token_fn *fn, void *user);
void ch_mcp_token_cancel(struct ch_mcp_token_check *c);

#endif

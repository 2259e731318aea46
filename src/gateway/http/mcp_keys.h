/* mcp_keys.h -- the signing keys of an authorization server, for tokens that /mcp checks itself.
 *
 *   unknown or old key --> metadata of the issuer --> jwks_uri --> keys, for an hour
 *
 * A token with an unknown key makes the gateway fetch the keys again, because the server may
 * have changed them, but not more often than every half minute. If the server does not answer,
 * keys are used for a day. Loop thread only. */
#ifndef CH_GATEWAY_MCP_KEYS_H
#define CH_GATEWAY_MCP_KEYS_H
#include "agent/handle/runtime.h"
#include "gateway/http/jwt.h"

struct ch_mcp_keys;

enum ch_mcp_key_result {
    CH_MCP_KEY_GENUINE,
    CH_MCP_KEY_FORGED,  /* also: signed with a key that the server does not name */
    CH_MCP_KEY_WAIT,    /* `fetched` follows: check again */
    CH_MCP_KEY_MISSING, /* the server's keys cannot be fetched */
};

/* issuer is borrowed. fetched is called when keys have arrived or an attempt has failed.
 * CHELA_EMODULE: the module for signatures cannot be loaded. CHELA_ECONFIG: the issuer is not a
 * URL. */
int ch_mcp_keys_new(chela_runtime *rt, const char *issuer, void (*fetched)(void *user),
                    void *user, struct ch_mcp_keys **out, struct chela_error *err);
void ch_mcp_keys_free(struct ch_mcp_keys *k); /* NULL is a no-op */

enum ch_mcp_key_result ch_mcp_keys_check(struct ch_mcp_keys *k, const struct ch_jwt *t);

#endif

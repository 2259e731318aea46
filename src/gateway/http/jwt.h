/* jwt.h -- JSON Web Tokens that an authorization server signs (RFC 7515, 7517 and 7519).
 *
 * The functions parse tokens and sets of keys, and verify signatures. Fetching keys and judging
 * claims belong to the callers. RS256, ES256 and EdDSA (Ed25519) are known. `none` and the
 * algorithms with a shared secret are refused: a public key is never used as a secret. */
#ifndef CH_GATEWAY_JWT_H
#define CH_GATEWAY_JWT_H
#include "base/limits.h"
#include "chela/sys/tls.h"
#include "json/json.h"

enum ch_jwt_alg { CH_JWT_RS256, CH_JWT_ES256, CH_JWT_EDDSA, CH_JWT_ALGS };

struct ch_jwt {
    enum ch_jwt_alg alg;
    struct ch_sv kid;            /* p NULL: none */
    const struct ch_json *claims; /* an object */
    struct ch_sv text;           /* the signed text */
    struct ch_sv signature;
};

/* A public key. */
struct ch_jwk {
    enum ch_jwt_alg alg;
    struct ch_sv kid; /* p NULL: none */
    struct ch_sv der; /* SubjectPublicKeyInfo */
};

struct ch_jwks {
    struct ch_arena arena;
    struct ch_jwk keys[CH_LIMIT_JWT_KEYS];
    size_t n;
};

/* Parse a token; *out points into the arena. CHELA_EPARSE: not a token that can be verified. */
int ch_jwt_read(struct ch_arena *a, struct ch_sv token, struct ch_jwt *out,
                struct chela_error *err);

/* Parse a set of keys into *out, which is zero. Keys of other kinds, for other uses or with
 * wrong values are left out. CHELA_EPARSE: not a set of keys. */
int ch_jwks_read(struct ch_jwks *out, struct ch_sv json, struct chela_error *err);
void ch_jwks_release(struct ch_jwks *k);

/* Does the set have a key for the token? */
bool ch_jwks_has(const struct ch_jwks *k, const struct ch_jwt *t);
/* Did one of the keys sign the token? */
bool ch_jwt_verify(const struct ch_jwt *t, const struct ch_jwks *k,
                   const struct chela_tls_ops *crypto);

#endif

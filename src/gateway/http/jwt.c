/* jwt.c -- see jwt.h. */
#include "gateway/http/jwt.h"

#include "base/base64.h"
#include "base/error.h"

#define P256_BYTES 32
#define MEMBERS 256 /* of a header or of claims */
#define ED25519_BYTES 32
#define RSA_LEAST 256   /* bytes of the modulus: 2048 bits */
#define RSA_MOST 1024
#define RSA_EXPONENT 8  /* bytes; larger ones make a check slow */
#define KEYS_TRIED 4    /* for a token that names no key */

static const char *const alg_names[CH_JWT_ALGS] = {"RS256", "ES256", "EdDSA"};

/* Base64 of RFC 7515: the URL-safe alphabet, no padding, no white space. */
static bool jwt_decode(struct ch_arena *a, struct ch_sv text, struct ch_sv *out) {
    CH_BUF_AUTO bytes = {0};

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
            c != '-' && c != '_')
            return false;
    }
    if (!ch_base64_read(text, &bytes))
        return false;
    *out = ch_arena_sv(a, ch_buf_sv(&bytes));
    return true;
}

/* --- tokens */

/* Two members of one name: another program may read the other one. */
static bool jwt_repeats(const struct ch_json *object) {
    size_t i = 0;

    for (CH_JSON_MEMBERS(key, value, object)) {
        size_t k = 0;
        (void)value;
        for (CH_JSON_MEMBERS(before, of, object)) {
            (void)of;
            if (k++ == i)
                break;
            if (ch_sv_eq(ch_json_str(before), ch_json_str(key)))
                return true;
        }
        i++;
    }
    return false;
}

static int jwt_object(struct ch_arena *a, struct ch_sv part, const struct ch_json **out) {
    struct ch_sv text;

    *out = NULL;
    return jwt_decode(a, part, &text) &&
                   ch_json_parse(a, text, CH_JSON_STRICT, out, NULL, NULL) == 0 &&
                   ch_json_is(*out, CH_JSON_OBJECT) && (*out)->n <= MEMBERS && !jwt_repeats(*out)
               ? 0
               : CHELA_EPARSE;
}

static bool jwt_read_alg(struct ch_sv name, enum ch_jwt_alg *out) {
    for (size_t i = 0; i < CH_JWT_ALGS; i++)
        if (ch_sv_is(name, alg_names[i])) {
            *out = (enum ch_jwt_alg)i;
            return true;
        }
    return false;
}

/* A type other than that of an access token belongs to a token for another purpose. */
static bool jwt_is_access(const struct ch_json *typ) {
    static const char *const types[] = {"JWT", "at+jwt", "application/at+jwt"};

    for (size_t i = 0; i < CH_LEN(types); i++)
        if (ch_sv_eq_nocase(ch_json_str(typ), ch_sv_str(types[i])))
            return true;
    return !typ;
}

int ch_jwt_read(struct ch_arena *a, struct ch_sv token, struct ch_jwt *out,
                struct chela_error *err) {
    struct ch_sv rest = ch_arena_sv(a, token), all = rest;
    struct ch_sv head = ch_sv_split(&rest, '.'), claims = ch_sv_split(&rest, '.');
    const struct ch_json *header;

    *out = (struct ch_jwt){.text = ch_sv(all.p, head.n + 1 + claims.n)};
    if (!head.n || !claims.n || !rest.n || jwt_object(a, head, &header) < 0 ||
        jwt_object(a, claims, &out->claims) < 0 || !jwt_decode(a, rest, &out->signature))
        return ch_fail(err, CHELA_EPARSE, "the token is not a JSON Web Token");
    if (!jwt_read_alg(ch_json_get_str(header, "alg"), &out->alg))
        return ch_fail(err, CHELA_EPARSE, "the algorithm of the token is not accepted");
    if (ch_json_get(header, "crit") || !jwt_is_access(ch_json_get(header, "typ")))
        return ch_fail(err, CHELA_EPARSE, "the token is not an access token");
    out->kid = ch_json_get_str(header, "kid");
    return 0;
}

/* --- DER (X.690) */

static void der_add(struct ch_buf *out, unsigned char tag, struct ch_sv value) {
    ch_buf_addc(out, (char)tag);
    if (value.n > 0xff)
        ch_buf_addc(out, (char)0x82);
    else if (value.n > 0x7f)
        ch_buf_addc(out, (char)0x81);
    if (value.n > 0xff)
        ch_buf_addc(out, (char)(value.n >> 8));
    ch_buf_addc(out, (char)(value.n & 0xff));
    ch_buf_add_sv(out, value);
}

static struct ch_sv skip_zeros(struct ch_sv v) {
    while (v.n && v.p[0] == 0)
        v = ch_sv(v.p + 1, v.n - 1);
    return v;
}

/* A number without a sign: a zero byte keeps the first bit from being one. */
static void der_integer(struct ch_buf *out, struct ch_sv v) {
    CH_BUF_AUTO value = {0};

    v = skip_zeros(v);
    if (!v.n || (unsigned char)v.p[0] > 0x7f)
        ch_buf_addc(&value, 0);
    ch_buf_add_sv(&value, v);
    der_add(out, 0x02, ch_buf_sv(&value));
}

static void der_two_integers(struct ch_buf *out, struct ch_sv a, struct ch_sv b) {
    CH_BUF_AUTO both = {0};

    der_integer(&both, a);
    der_integer(&both, b);
    der_add(out, 0x30, ch_buf_sv(&both));
}

/* --- keys. Each function appends the SubjectPublicKeyInfo; false: the values are wrong. */

static bool key_part(struct ch_arena *a, const struct ch_json *v, const char *name,
                     struct ch_sv *out) {
    struct ch_sv text = ch_json_get_str(v, name);
    return text.n && jwt_decode(a, text, out);
}

static bool rsa_key(struct ch_arena *a, const struct ch_json *v, struct ch_buf *out) {
    static const char id[] = "\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    CH_BUF_AUTO bits = {0};
    CH_BUF_AUTO both = {0};
    struct ch_sv n, e;

    if (!key_part(a, v, "n", &n) || !key_part(a, v, "e", &e))
        return false;
    n = skip_zeros(n);
    e = skip_zeros(e);
    bool odd = e.n && e.p[e.n - 1] & 1, one = e.n == 1 && e.p[0] == 1;
    if (n.n < RSA_LEAST || n.n > RSA_MOST || !odd || one || e.n > RSA_EXPONENT)
        return false; /* with the exponent 1 everybody can sign */
    ch_buf_addc(&bits, 0);
    der_two_integers(&bits, n, e);
    ch_buf_add(&both, id, sizeof(id) - 1);
    der_add(&both, 0x03, ch_buf_sv(&bits));
    der_add(out, 0x30, ch_buf_sv(&both));
    return true;
}

static bool p256_key(struct ch_arena *a, const struct ch_json *v, struct ch_buf *out) {
    static const char start[] = "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a"
                                "\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00\x04";
    struct ch_sv x, y;

    if (!ch_sv_is(ch_json_get_str(v, "crv"), "P-256") || !key_part(a, v, "x", &x) ||
        !key_part(a, v, "y", &y) || x.n != P256_BYTES || y.n != P256_BYTES)
        return false;
    ch_buf_add(out, start, sizeof(start) - 1);
    ch_buf_add_sv(out, x);
    ch_buf_add_sv(out, y);
    return true;
}

/* The y of points of order 1, 2, 4 and 8, also not reduced: a signature that holds for any text is
 * easily found for such a key. The last bit is the sign of x. */
static bool ed25519_is_small(struct ch_sv x) {
    static const unsigned char eighth[2][ED25519_BYTES] = {
        {0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4,
         0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6,
         0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05},
        {0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b,
         0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39,
         0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a}};
    unsigned char y[ED25519_BYTES];
    bool zeros = true, ones = true;

    memcpy(y, x.p, sizeof(y));
    y[ED25519_BYTES - 1] &= 0x7f;
    for (size_t i = 0; i < CH_LEN(eighth); i++)
        if (memcmp(y, eighth[i], sizeof(y)) == 0)
            return true;
    for (size_t i = 1; i < ED25519_BYTES; i++) {
        zeros &= y[i] == 0;
        ones &= y[i] == (i == ED25519_BYTES - 1 ? 0x7f : 0xff);
    }
    return (zeros && y[0] <= 1) || (ones && y[0] >= 0xec); /* 0, 1; -1, and 0 and 1 plus p */
}

static bool ed25519_key(struct ch_arena *a, const struct ch_json *v, struct ch_buf *out) {
    static const char start[] = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
    struct ch_sv x;

    if (!ch_sv_is(ch_json_get_str(v, "crv"), "Ed25519") || !key_part(a, v, "x", &x) ||
        x.n != ED25519_BYTES || ed25519_is_small(x))
        return false;
    ch_buf_add(out, start, sizeof(start) - 1);
    ch_buf_add_sv(out, x);
    return true;
}

static const struct jwk_type {
    const char *kty;
    bool (*read)(struct ch_arena *a, const struct ch_json *v, struct ch_buf *out);
} jwk_types[CH_JWT_ALGS] = {{"RSA", rsa_key}, {"EC", p256_key}, {"OKP", ed25519_key}};

static bool jwk_verifies(const struct ch_json *v, const char *alg) {
    const struct ch_json *use = ch_json_get(v, "use"), *ops = ch_json_get(v, "key_ops");
    const struct ch_json *its = ch_json_get(v, "alg");
    bool allowed = !ops;

    for (CH_JSON_EACH(op, ops))
        allowed |= ch_sv_is(ch_json_str(op), "verify");
    return allowed && (!use || ch_sv_is(ch_json_str(use), "sig")) &&
           (!its || ch_sv_is(ch_json_str(its), alg));
}

static void jwks_add(struct ch_jwks *k, const struct ch_json *v) {
    CH_BUF_AUTO der = {0};

    for (size_t i = 0; i < CH_JWT_ALGS && k->n < CH_LEN(k->keys); i++) {
        if (!ch_sv_is(ch_json_get_str(v, "kty"), jwk_types[i].kty) ||
            !jwk_verifies(v, alg_names[i]) || !jwk_types[i].read(&k->arena, v, &der))
            continue;
        struct ch_sv kid = ch_json_get_str(v, "kid");
        k->keys[k->n++] = (struct ch_jwk){(enum ch_jwt_alg)i, kid,
                                          ch_arena_sv(&k->arena, ch_buf_sv(&der))};
        return;
    }
}

int ch_jwks_read(struct ch_jwks *out, struct ch_sv json, struct chela_error *err) {
    const struct ch_json *doc, *keys;

    if (ch_json_parse(&out->arena, ch_arena_sv(&out->arena, json), CH_JSON_STRICT, &doc, NULL,
                      err) < 0)
        return CHELA_EPARSE;
    keys = ch_json_get(doc, "keys");
    if (!ch_json_is(keys, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_EPARSE, "the document has no `keys`");
    for (CH_JSON_EACH(v, keys))
        jwks_add(out, v);
    return 0;
}

void ch_jwks_release(struct ch_jwks *k) {
    ch_arena_release(&k->arena);
    *k = (struct ch_jwks){0};
}

/* --- signatures */

static bool jwk_fits(const struct ch_jwk *k, const struct ch_jwt *t) {
    return k->alg == t->alg && (!t->kid.p || (k->kid.p && ch_sv_eq(k->kid, t->kid)));
}

bool ch_jwks_has(const struct ch_jwks *k, const struct ch_jwt *t) {
    for (size_t i = 0; i < k->n; i++)
        if (jwk_fits(&k->keys[i], t))
            return true;
    return false;
}

static bool jwt_is_signed_by(const struct ch_jwt *t, const struct ch_jwk *k,
                             const struct chela_tls_ops *crypto) {
    CH_BUF_AUTO der = {0};
    struct ch_sv signature = t->signature;

    if (t->alg == CH_JWT_ES256) { /* two numbers of equal length */
        if (signature.n != 2 * (size_t)P256_BYTES)
            return false;
        der_two_integers(&der, ch_sv(signature.p, P256_BYTES),
                         ch_sv(signature.p + P256_BYTES, P256_BYTES));
        signature = ch_buf_sv(&der);
    }
    return crypto->signature_verify(k->der.p, k->der.n, t->alg != CH_JWT_EDDSA, signature.p,
                                    signature.n, t->text.p, t->text.n) != 0;
}

bool ch_jwt_verify(const struct ch_jwt *t, const struct ch_jwks *k,
                   const struct chela_tls_ops *crypto) {
    size_t tried = 0;

    for (size_t i = 0; i < k->n && tried < KEYS_TRIED; i++) {
        if (!jwk_fits(&k->keys[i], t))
            continue;
        if (jwt_is_signed_by(t, &k->keys[i], crypto))
            return true;
        tried++;
    }
    return false;
}

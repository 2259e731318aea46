/* feishu_seal.c -- verifies that a callback is genuine, recent and for this app.
 *
 * With an Encrypt Key, the body is {"encrypt":...} and signed: SHA-256 over timestamp,
 * nonce, key and the bytes of the body. Only the address check (url_verification) has no
 * signature; it is encrypted too. Without an Encrypt Key, only the verification token in
 * the body is checked. Token and app id are checked in all cases.
 *
 * All failed checks of secrets give the same answer, 401, so that an attacker does not
 * learn which check failed. */
#include "channel/feishu_seal.h"

#include "base/base64.h"
#include "base/proof.h"
#include "base/sha256.h"
#include "channel/feishu.h"

#define IV_SIZE 16

static const char not_ours[] = "the signature, the key or the token is not ours";

static int feishu_seal_refuse(const char *text, const char **why) {
    *why = text;
    return 401;
}

static bool feishu_seal_is_signed(const struct ch_feishu_keys *k,
                                  const struct chela_channel_callback *in) {
    struct ch_sv timestamp = ch_sv_of(in->header(in->request, "x-lark-request-timestamp"));
    struct ch_sv nonce = ch_sv_of(in->header(in->request, "x-lark-request-nonce"));
    unsigned char its[CH_SHA256_SIZE], ours[CH_SHA256_SIZE];
    struct ch_sha256 h;
    if (!ch_sha256_read(ch_sv_of(in->header(in->request, "x-lark-signature")), its))
        return false;
    ch_sha256_init(&h);
    ch_sha256_add(&h, timestamp.p, timestamp.n);
    ch_sha256_add(&h, nonce.p, nonce.n);
    ch_sha256_add(&h, k->encrypt_key, strlen(k->encrypt_key));
    ch_sha256_add(&h, in->body.p, in->body.n);
    ch_sha256_end(&h, ours);
    return ch_sha256_equal(its, ours) && ch_proof_fresh(timestamp, in->now / 1000);
}

static const struct ch_json *feishu_seal_decrypt(const struct ch_feishu_keys *k, struct ch_sv text,
                                                 struct ch_arena *a) {
    unsigned char key[CH_SHA256_SIZE];
    CH_BUF_AUTO bytes = {0};
    const struct ch_json *v;
    if (!ch_base64_read(text, &bytes) || bytes.n < 2 * IV_SIZE || bytes.n % IV_SIZE)
        return NULL;
    ch_sha256_of(ch_sv_str(k->encrypt_key), key);
    char *plain = ch_arena_bytes(a, bytes.n);
    long n = k->cipher->aes_decrypt(key, (const unsigned char *)bytes.p, bytes.p + IV_SIZE,
                                    bytes.n - IV_SIZE, plain);
    if (n < 0 || ch_json_parse(a, ch_sv(plain, (size_t)n), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return NULL;
    return ch_json_is(v, CH_JSON_OBJECT) ? v : NULL;
}

/* The old envelope has the same data in other places. */
int ch_feishu_unwrap(const struct ch_feishu_keys *k, const struct ch_json *v,
                     struct ch_feishu_letter *out, const char **why) {
    const struct ch_json *header = ch_json_get(v, "header");
    out->challenge = ch_sv(NULL, 0);
    out->event = ch_json_get(v, "event");
    struct ch_sv app = header ? ch_json_get_str(header, "app_id")
                              : ch_json_get_str(out->event, "app_id");
    if (app.n && !ch_sv_is(app, k->app_id)) /* an event without the id has the app's own token */
        return feishu_seal_refuse("it is meant for another app", why);
    out->type = header ? ch_json_get_str(header, "event_type")
                       : ch_json_get_str(out->event, "type");
    *why = "there is no event in it";
    return ch_json_is(out->event, CH_JSON_OBJECT) && out->type.p ? 0 : 400;
}

static int feishu_seal_read_envelope(const struct ch_feishu_keys *k, const struct ch_json *v,
                                     bool trusted, struct ch_feishu_letter *out, const char **why) {
    const struct ch_json *header = ch_json_get(v, "header");
    struct ch_sv token = ch_json_get_str(header ? header : v, "token");
    bool asks = ch_sv_is(ch_json_get_str(v, "type"), "url_verification");
    if (!ch_proof_same(token, k->token) || (!trusted && !asks))
        return feishu_seal_refuse(not_ours, why);
    if (!asks)
        return ch_feishu_unwrap(k, v, out, why);
    out->challenge = ch_json_get_str(v, "challenge");
    *why = "the challenge is missing";
    return out->challenge.p ? 0 : 400;
}

int ch_feishu_unseal(const struct ch_feishu_keys *k, const struct chela_channel_callback *in,
                     const struct ch_json *json, struct ch_arena *a, struct ch_feishu_letter *out,
                     const char **why) {
    struct ch_sv sealed = ch_json_get_str(json, "encrypt");
    bool has_signature = in->header(in->request, "x-lark-signature").p != NULL;
    *out = (struct ch_feishu_letter){0};
    if (!k->encrypt_key && sealed.p)
        return feishu_seal_refuse("it is encrypted, and no encrypt key is configured", why);
    if (!k->encrypt_key)
        return feishu_seal_read_envelope(k, json, true, out, why);
    if (has_signature && !feishu_seal_is_signed(k, in))
        return feishu_seal_refuse(not_ours, why);
    const struct ch_json *v = sealed.p ? feishu_seal_decrypt(k, sealed, a) : NULL;
    if (!v)
        return feishu_seal_refuse(not_ours, why);
    return feishu_seal_read_envelope(k, v, has_signature, out, why);
}

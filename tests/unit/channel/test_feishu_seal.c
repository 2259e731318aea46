/* test_feishu_seal.c -- which callbacks are believed. The sealed texts and their
 * signature were made with the vendor's own client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "base/sha256.h"
#include "channel/feishu.h"
#include "channel/feishu_seal.h"

#define KEY "kudryavka"
#define SEALED                                                                               \
    "AAECAwQFBgcICQoLDA0ODygxCRD00ikE2ev/uv2HP2cPQwyluYwOGj0jaTC8TJINQ4QaZKL2Bc8iIcohiCmQChb" \
    "YbO26ThZ5C+52IeqBNw0BAwbuigD3t23590yi20lT"
#define SIGNATURE "3bcd0e087e10f648df6a8ac7cf2dd6fe565504a64bd1741a38055878d3898054"
#define THEN 1700000000

static long aes(const unsigned char key[32], const unsigned char iv[16], const void *in, size_t n,
                void *out) {
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int some = 0, rest = 0;
    int fine = EVP_DecryptInit_ex(c, EVP_aes_256_cbc(), NULL, key, iv) &&
               EVP_DecryptUpdate(c, out, &some, in, (int)n) &&
               EVP_DecryptFinal_ex(c, (unsigned char *)out + some, &rest);
    EVP_CIPHER_CTX_free(c);
    return fine ? some + rest : -1;
}
static const struct chela_tls_ops cipher = {.name = "test", .aes_decrypt = aes};

struct headers {
    const char *timestamp, *nonce, *signature;
};

static struct chela_text header(const void *request, const char *name) {
    const struct headers *h = request;
    const char *value = strcmp(name, "x-lark-request-timestamp") == 0 ? h->timestamp
                        : strcmp(name, "x-lark-request-nonce") == 0   ? h->nonce
                        : strcmp(name, "x-lark-signature") == 0       ? h->signature
                                                                      : NULL;
    return ch_text(ch_sv_str(value));
}

static int open_letter(const char *key, const struct headers *h, const char *body, int64_t now_s,
                       struct ch_arena *a, struct ch_feishu_letter *out) {
    struct ch_feishu_keys k = {"cli_1", "xxxxxx", key, &cipher};
    struct chela_channel_callback in = {
        .header = header, .request = h, .body = ch_text(ch_sv_str(body)), .now = now_s * 1000};
    const struct ch_json *json;
    const char *why = NULL;
    assert_int_equal(ch_json_parse(a, ch_sv_of(in.body), CH_JSON_STRICT, &json, NULL, NULL), 0);
    int status = ch_feishu_unseal(&k, &in, json, a, out, &why);
    assert_true(status == 0 || why != NULL);
    return status;
}

/* --- without an Encrypt Key: the token is all there is */

#define HEADER(token, app)                                                                    \
    "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"e\",\"event_type\":\"t\",\"token\":\"" token \
    "\",\"app_id\":\"" app "\"},\"event\":{}}"

static const struct {
    const char *name, *body;
    int status;
} plain[] = {
    {"an event", HEADER("xxxxxx", "cli_1"), 0},
    {"another token", HEADER("xxxxxy", "cli_1"), 401},
    {"a token that begins like ours", HEADER("xxxxxxx", "cli_1"), 401},
    {"no token", HEADER("", "cli_1"), 401},
    {"another app", HEADER("xxxxxx", "cli_2"), 401},
    {"the old envelope",
     "{\"token\":\"xxxxxx\",\"type\":\"event_callback\",\"event\":{\"type\":\"t\","
     "\"app_id\":\"cli_1\"}}", 0},
    {"no event", "{\"token\":\"xxxxxx\",\"header\":{\"token\":\"xxxxxx\",\"app_id\":\"cli_1\","
                 "\"event_type\":\"t\"}}", 400},
    {"the challenge",
     "{\"challenge\":\"c\",\"token\":\"xxxxxx\",\"type\":\"url_verification\"}", 0},
    {"with another token", "{\"challenge\":\"c\",\"token\":\"x\",\"type\":\"url_verification\"}",
     401},
    {"without one", "{\"challenge\":\"c\",\"type\":\"url_verification\"}", 401},
    {"a token that is a number",
     "{\"challenge\":\"c\",\"token\":1,\"type\":\"url_verification\"}", 401},
    {"a challenge that is missing", "{\"token\":\"xxxxxx\",\"type\":\"url_verification\"}", 400},
    {"encrypted, and we have no key", "{\"encrypt\":\"" SEALED "\"}", 401},
    {"nothing", "{}", 401},
};

static void test_plain(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(plain); i++) {
        CH_ARENA_AUTO a = {0};
        struct headers none = {0};
        struct ch_feishu_letter l;
        int status = open_letter(NULL, &none, plain[i].body, THEN, &a, &l);
        if (status != plain[i].status)
            fail_msg("%s: %d", plain[i].name, status);
    }
}

/* --- with one: signed, but for the challenge */

static const struct {
    const char *name;
    struct headers h;
    const char *body;
    int64_t now;
    int status;
} sealed[] = {
    {"signed", {"1700000000", "abcdef0123", SIGNATURE}, "{\"encrypt\":\"" SEALED "\"}", THEN, 0},
    {"a challenge is not signed", {0}, "{\"encrypt\":\"" SEALED "\"}", THEN, 0},
    {"five minutes late", {"1700000000", "abcdef0123", SIGNATURE}, "{\"encrypt\":\"" SEALED "\"}",
     THEN + 300, 0},
    {"later", {"1700000000", "abcdef0123", SIGNATURE}, "{\"encrypt\":\"" SEALED "\"}", THEN + 301,
     401},
    {"too early", {"1700000000", "abcdef0123", SIGNATURE}, "{\"encrypt\":\"" SEALED "\"}",
     THEN - 301, 401},
    {"another byte", {"1700000000", "abcdef0123", SIGNATURE}, "{\"encrypt\":\"" SEALED "\" }", THEN,
     401},
    {"another nonce", {"1700000000", "abcdef0124", SIGNATURE}, "{\"encrypt\":\"" SEALED "\"}", THEN,
     401},
    {"another time", {"1700000001", "abcdef0123", SIGNATURE}, "{\"encrypt\":\"" SEALED "\"}", THEN,
     401},
    {"half a signature", {"1700000000", "abcdef0123", "3bcd0e08"}, "{\"encrypt\":\"" SEALED "\"}",
     THEN, 401},
    {"an empty one", {"1700000000", "abcdef0123", ""}, "{\"encrypt\":\"" SEALED "\"}", THEN, 401},
    {"no encryption", {0}, HEADER("xxxxxx", "cli_1"), THEN, 401},
    {"a challenge without encryption", {0},
     "{\"challenge\":\"c\",\"token\":\"xxxxxx\",\"type\":\"url_verification\"}", THEN, 401},
    {"too short", {0}, "{\"encrypt\":\"AAECAwQFBgcICQoLDA0ODw==\"}", THEN, 401},
    {"half a block", {0}, "{\"encrypt\":\"AAECAwQFBgcICQoLDA0ODygxCRD00ikE2ev/uv2HP2cPQw==\"}",
     THEN, 401},
    {"bad padding", {0}, "{\"encrypt\":\"AAECAwQFBgcICQoLDA0ODygxCRD00ikE2ev/uv2HP2c=\"}", THEN,
     401},
    {"no base64", {0}, "{\"encrypt\":\"?\"}", THEN, 401},
    {"no JSON in it", {0}, "{\"encrypt\":\"P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=\"}", THEN,
     401},
};

static void test_sealed(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(sealed); i++) {
        CH_ARENA_AUTO a = {0};
        struct ch_feishu_letter l;
        int status = open_letter(KEY, &sealed[i].h, sealed[i].body, sealed[i].now, &a, &l);
        if (status != sealed[i].status)
            fail_msg("%s: %d", sealed[i].name, status);
        if (status == 0)
            assert_true(ch_sv_is(l.challenge, "ajls384kdjx98XX"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_sealed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_jwt.c -- JSON Web Tokens: genuine, forged and malformed; sets of keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/mem.h"
#include "gateway/http/jwt.h"
#include "io/module.h"
#include "support/modules.h"

/* Made with tests/support/mcp/issuer.py; the private keys are not kept. */
static const char token_rsa[] =
    "eyJ0eXAiOiAiYXQrand0IiwgImFsZyI6ICJSUzI1NiIsICJraWQiOiAiay1yc2EifQ.eyJpc3MiOiJodHRwc"
    "zovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoiYW5uIiwiZXhwIjo0MDAwMDAwMDAwfQ.IWNoifj1RpYD2jbhUZ"
    "Yl_k9wDt47LpVTl1HBDKU8XCDSwUgPPVacv5WrR7TE8Wv_9PMS7Fue4N1Bvoqv5qMX9-FENKBbCOpseYn14b"
    "UiQv9U-aI4zopYrPnH5PgG4t6Cx7GhppAIQP0h9ctWTpzXZV61YBf6NbykXASgTLSUvLdmmlsCjiKRd2MZsI"
    "YYLtylkSxwUyBEpybLL9BZ88sLg3_2zimNdoppnTiZYdSgRUlCFZKiC8noXUTFWERUIo19qOlf4BnPjlffoW"
    "FAhwdqPqGJ4XQCcjTkMbSCQvS4ey6Yy5q1sY5DxVkHewOnXyJ2FNe1luEmQxiqPx7i3Pyw4Q";
static const char token_ec[] =
    "eyJ0eXAiOiAiYXQrand0IiwgImFsZyI6ICJFUzI1NiIsICJraWQiOiAiay1lYyJ9.eyJpc3MiOiJodHRwczo"
    "vL2lzc3Vlci5leGFtcGxlIiwic3ViIjoiYW5uIiwiZXhwIjo0MDAwMDAwMDAwfQ.9iBS2d6r0i82v30qjsmx"
    "nne1jc8uMHLDfK0FSb3_faXwpRx9YOCGzPLvAyM-huRFopT5Sdi6D1DmtxVCe5V8sA";
static const char token_ed[] =
    "eyJ0eXAiOiAiYXQrand0IiwgImFsZyI6ICJFZERTQSIsICJraWQiOiAiay1lZCJ9.eyJpc3MiOiJodHRwczo"
    "vL2lzc3Vlci5leGFtcGxlIiwic3ViIjoiYW5uIiwiZXhwIjo0MDAwMDAwMDAwfQ.3bx-q3C2ArShrkBKs0jg"
    "VUSmXKT2xMYs-GPqNctaTZlbsbnspJmy4D6wIdqrZxnIAPTr0HE3XwgXVzFCx6ZsDg";
static const char token_rsa_unnamed[] =
    "eyJ0eXAiOiAiYXQrand0IiwgImFsZyI6ICJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGx"
    "lIiwic3ViIjoiYW5uIiwiZXhwIjo0MDAwMDAwMDAwfQ.T2kDWQhsJ7XQQP0HciA3kXFT3oH2sXYLPcpWFYAu"
    "YIp_al_6ca443OggbsNUfSvZb4yZwo1kV67mEQtAE_8FWz3ouoQ0CrrvMuYfNtomV1H-akYnrluAbhoDJG9O"
    "xU1qjihBXwSGRMCeA9M9QCOCDVgtD1f6R2G7_Ra_C75zINakpCyXIeg1V8FMMIBWFRhQj1O_7N_wM-NFkJYb"
    "I86kv4_kGGKFdbJk206xmzUyEA0zMo2l_jiLEPIXObC4l2wSNif3TxeEplrPYBhpjmPIa67f2z1BPfpIwD9z"
    "q9vVRyF0GcuRlWzRyUEnVl3Lsg8HHf-7LEUguEowEzSW4oMA7w";
static const char token_other[] =
    "eyJ0eXAiOiAiYXQrand0IiwgImFsZyI6ICJFUzI1NiIsICJraWQiOiAiay1lYyJ9.eyJpc3MiOiJodHRwczo"
    "vL2lzc3Vlci5leGFtcGxlIiwic3ViIjoiYW5uIiwiZXhwIjo0MDAwMDAwMDAwfQ.79RCWb_UwL2JLzpe-6Fr"
    "Uve4gVMnwvFDHssShgyfJv-Sp7liTpuGWnDek0E1mSCPe2QOmbDkHCcSvcdHkyKQSw";
static const char token_hs[] =
    "eyJ0eXAiOiAiYXQrand0IiwgImFsZyI6ICJIUzI1NiIsICJraWQiOiAiay1yc2EifQ.eyJpc3MiOiJodHRwc"
    "zovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoiYW5uIiwiZXhwIjo0MDAwMDAwMDAwfQ.3Cl9CtEk06ocTyAS6y"
    "dRlIOmcNoBiOxDgk45f7sGOYY";
static const char token_none[] =
    "eyJ0eXAiOiAiYXQrand0IiwgImFsZyI6ICJub25lIiwgImtpZCI6ICJrLXJzYSJ9.eyJpc3MiOiJodHRwczo"
    "vL2lzc3Vlci5leGFtcGxlIiwic3ViIjoiYW5uIiwiZXhwIjo0MDAwMDAwMDAwfQ.";
static const char token_small[] =
    "eyJ0eXAiOiAiYXQrand0IiwgImFsZyI6ICJSUzI1NiIsICJraWQiOiAic21hbGwifQ.eyJpc3MiOiJodHRwc"
    "zovL2lzc3Vlci5leGFtcGxlIiwic3ViIjoiYW5uIiwiZXhwIjo0MDAwMDAwMDAwfQ.GaM3sbodWplk-F3wS4"
    "7EAfkgHOpnmT0EDEDJpAW9JLtM3_Lg_5fdYnHBevn9DZCw5coRn_4TZrgOwT7hymHsh7GdQp0a11w8pWhkny"
    "iwxBPo4x9dIPnuUj-h1YnhyYZilvX1vy_3d6hxGXND4l31yvJGbbqgwnGg6EWADTpLeow";
#define KEY_RSA \
    "{\"kty\":\"RSA\",\"n\":\"xb5apyCxLjAQS09elT3FCBtOS1lSd-ODCjgpA79Bu6ozYafjhnf3tS6khLD" \
    "RIXgHO_ov8u3zhcGFQJsIn2fniOCx7dp7XoABfSaHIn2q_r-sSOQXd-CIkRNvaqHArY0AvcjkGAQ1yeIbW3u" \
    "kzkssH8YIoR0HsOgdRJUGswBkZzQhsBPHVrG-dmEFY3odZPhDOBi_BrH4mcwQpmKtCTnIZMdGv-snbYPMdv6" \
    "bbdyPtbj0z6eYNfxqy-giUa75pNRKd1QCNRtOIEN4iSYee5LgSPAKQfb_ojBByK6RgjiRKakPJWK88VT258l" \
    "t_32VyA8VMWaLdl_c101zsUDSVQ-lbw\",\"e\":\"AQAB\",\"kid\":\"k-rsa\"}"
#define KEY_EC \
    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"-CooRr0snQuxfRUQeW5lz8uGWjGOJjBbMWju4K6Bzy" \
    "4\",\"y\":\"xT8ctyzwCnjUR2A8hgGtLl08EjcKgH7FXkCduz-LRm8\",\"kid\":\"k-ec\"}"
#define KEY_ED \
    "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"Nua-2nlVB8bQ7upoln_VWPMrTLP2PxmR1TTHqkJ" \
    "g1FM\",\"kid\":\"k-ed\"}"
#define KEY_SMALL \
    "{\"kty\":\"RSA\",\"n\":\"1RyeS_Ymj6SgQOb0cTWPNSiPCxU-MXK22WIQTgl-GEn7MU-Wig8ZW0JC3cH" \
    "gWygs-r7PTFcDIjrCoQ0enuZEaMT1IjZDQP_SM3JxnIGbmVL1O4NSBOaZe-jgnF1BURZGL5Cjqy15tWESS9G" \
    "94hMX6L2-djdmTKktmZnE8oJWSK0\",\"e\":\"AQAB\",\"kid\":\"small\"}"

#define SET(...) "{\"keys\":[" __VA_ARGS__ "]}"

static const struct chela_tls_ops *crypto;

static int load(void **state) {
    char *modules = modules_dir();
    const void *ops;
    int rc = ch_module_load("tls", "tls", modules, &ops, NULL);

    (void)state;
    crypto = ops;
    ch_free(modules);
    return rc;
}

/* Is the token genuine by these keys? */
static bool is_genuine(const char *token, const char *set) {
    CH_ARENA_AUTO a = {0};
    struct ch_jwks keys = {0};
    struct ch_jwt t;
    struct chela_error err = {0};

    if (ch_jwt_read(&a, ch_sv_str(token), &t, &err) < 0)
        return false;
    assert_int_equal(ch_jwks_read(&keys, ch_sv_str(set), &err), 0);
    bool genuine = ch_jwt_verify(&t, &keys, crypto);
    assert_true(!genuine || ch_jwks_has(&keys, &t));
    ch_jwks_release(&keys);
    return genuine;
}

static void test_genuine(void **state) {
    CH_ARENA_AUTO a = {0};
    struct ch_jwt t;

    (void)state;
    assert_true(is_genuine(token_rsa, SET(KEY_EC "," KEY_RSA "," KEY_ED)));
    assert_true(is_genuine(token_ec, SET(KEY_EC "," KEY_RSA "," KEY_ED)));
    assert_true(is_genuine(token_ed, SET(KEY_EC "," KEY_RSA "," KEY_ED)));
    assert_true(is_genuine(token_rsa_unnamed, SET(KEY_EC "," KEY_RSA)));
    assert_int_equal(ch_jwt_read(&a, ch_sv_str(token_rsa), &t, NULL), 0);
    assert_true(ch_sv_is(ch_json_get_str(t.claims, "sub"), "ann"));
    assert_true(ch_sv_is(t.kid, "k-rsa"));
}

static void test_forged(void **state) {
    CH_BUF_AUTO text = {0};

    (void)state;
    assert_false(is_genuine(token_other, SET(KEY_EC))); /* signed by another, with the same id */
    assert_false(is_genuine(token_hs, SET(KEY_RSA)));   /* a public key is no secret */
    assert_false(is_genuine(token_none, SET(KEY_RSA)));
    assert_false(is_genuine(token_rsa, SET(KEY_EC)));   /* the key is not in the set */
    assert_false(is_genuine(token_rsa, SET()));
    assert_false(is_genuine(token_small, SET(KEY_SMALL))); /* a key of 1024 bits */
    /* one character of the claims, then one of the signature */
    ch_buf_add_str(&text, token_ec);
    char *dot = strchr(text.p, '.');
    dot[10] = dot[10] == 'a' ? 'b' : 'a';
    assert_false(is_genuine(ch_buf_str(&text), SET(KEY_EC)));
    ch_buf_clear(&text);
    ch_buf_add_str(&text, token_ec);
    dot = strrchr(text.p, '.');
    dot[10] = dot[10] == 'a' ? 'b' : 'a';
    assert_false(is_genuine(ch_buf_str(&text), SET(KEY_EC)));
}

/* Every prefix of a token, and a token with every byte removed. */
static void test_cut(void **state) {
    size_t n = sizeof(token_ec) - 1;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        CH_BUF_AUTO text = {0};
        ch_buf_add(&text, token_ec, i);
        assert_false(is_genuine(ch_buf_str(&text), SET(KEY_EC)));
        ch_buf_add(&text, token_ec + i + 1, n - i - 1);
        assert_false(is_genuine(ch_buf_str(&text), SET(KEY_EC)));
    }
}

static void add_url_base64(struct ch_buf *out, const char *text) {
    CH_BUF_AUTO b = {0};

    ch_base64_add(&b, ch_sv_str(text));
    for (size_t i = 0; i < b.n && b.p[i] != '='; i++)
        ch_buf_addc(out, b.p[i] == '+' ? '-' : b.p[i] == '/' ? '_' : b.p[i]);
}

static int read_parts(const char *header, const char *claims, const char *signature) {
    CH_ARENA_AUTO a = {0};
    CH_BUF_AUTO text = {0};
    struct ch_jwt t;
    struct chela_error err = {0};

    add_url_base64(&text, header);
    ch_buf_addc(&text, '.');
    add_url_base64(&text, claims);
    ch_buf_addc(&text, '.');
    ch_buf_add_str(&text, signature);
    int rc = ch_jwt_read(&a, ch_buf_sv(&text), &t, &err);
    assert_true(rc == 0 || err.message[0]);
    return rc;
}

static void test_malformed(void **state) {
    static const char *const headers[] = {
        "{}", "[]", "x", "", "{\"alg\":\"RS256\"", "{\"alg\":5}", "{\"alg\":\"none\"}",
        "{\"alg\":\"None\"}", "{\"alg\":\"rs256\"}", "{\"alg\":\"HS256\"}", "{\"alg\":\"RS512\"}",
        "{\"alg\":\"PS256\"}", "{\"alg\":\"RS256 \"}", "{\"alg\":\"RS256\\u0000\"}",
        "{\"alg\":\"RS256\",\"crit\":[\"b64\"],\"b64\":false}", "{\"alg\":\"RS256\",\"crit\":null}",
        "{\"alg\":\"RS256\",\"typ\":\"dpop+jwt\"}", "{\"alg\":\"RS256\",\"typ\":7}"};
    static const char *const tokens[] = {"",         ".",       "..",      "...",
                                         "a.b",      "a.b.c",   "a.b.c.d", "e30.e30.",
                                         "e30..AA",  ".e30.AA", "e30=.e30.AA",
                                         "e 30.e30.AA"};
    CH_ARENA_AUTO a = {0};
    struct ch_jwt t;

    (void)state;
    assert_int_equal(read_parts("{\"alg\":\"RS256\"}", "{}", "AAAA"), 0);
    assert_int_equal(read_parts("{\"alg\":\"EdDSA\",\"typ\":\"AT+JWT\"}", "{}", "AAAA"), 0);
    for (size_t i = 0; i < CH_LEN(headers); i++)
        if (read_parts(headers[i], "{}", "AAAA") != CHELA_EPARSE)
            fail_msg("%s", headers[i]);
    assert_int_equal(read_parts("{\"alg\":\"RS256\"}", "{\"sub\":\"a\",\"exp\":1}", "AAAA"), 0);
    assert_int_equal(read_parts("{\"alg\":\"RS256\"}", "{\"sub\":1,\"exp\":1,\"sub\":2}", "AAAA"),
                     CHELA_EPARSE);
    assert_int_equal(read_parts("{\"alg\":\"none\",\"alg\":\"RS256\"}", "{}", "AAAA"),
                     CHELA_EPARSE);
    assert_int_equal(read_parts("{\"alg\":\"RS256\"}", "[]", "AAAA"), CHELA_EPARSE);
    assert_int_equal(read_parts("{\"alg\":\"RS256\"}", "{\"a\":\xff}", "AAAA"), CHELA_EPARSE);
    assert_int_equal(read_parts("{\"alg\":\"RS256\"}", "{}", "AA AA"), CHELA_EPARSE);
    assert_int_equal(read_parts("{\"alg\":\"RS256\"}", "{}", "AA+A"), CHELA_EPARSE);
    assert_int_equal(read_parts("{\"alg\":\"RS256\"}", "{}", "AAAA.AAAA"), CHELA_EPARSE);
    for (size_t i = 0; i < CH_LEN(tokens); i++)
        if (ch_jwt_read(&a, ch_sv_str(tokens[i]), &t, NULL) != CHELA_EPARSE)
            fail_msg("%s", tokens[i]);
}

static size_t count_keys(const char *set) {
    struct ch_jwks keys = {0};

    assert_int_equal(ch_jwks_read(&keys, ch_sv_str(set), NULL), 0);
    size_t n = keys.n;
    ch_jwks_release(&keys);
    return n;
}

#define X32 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define EC(more) "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" X32 "\",\"y\":\"" X32 "\"" more "}"

#define ED(x) "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" x "\"}"
#define X64 X32 X32
#define X342 X64 X64 X64 X64 /* digits */
#define RSA_EXP(e) "{\"kty\":\"RSA\",\"n\":\"__" X342 "\",\"e\":\"" e "\"}"

static void test_key_sets(void **state) {
    static const char *const left_out[] = {
        "1", "null", "{}", "[]", "{\"kty\":\"oct\",\"k\":\"AAAA\",\"alg\":\"HS256\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"" X32 "\",\"y\":\"" X32 "\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\",\"y\":\"AAAA\"}",
        "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}", "{\"kty\":\"RSA\",\"n\":5,\"e\":[]}",
        "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"" X32 "\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"*\"}", EC(",\"use\":\"enc\""),
        EC(",\"alg\":\"ES384\""), EC(",\"key_ops\":[\"sign\"]"), EC(",\"key_ops\":\"verify\""),
        EC(",\"use\":1"), KEY_SMALL, ED(X32), ED("AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        ED("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA"),
        ED("7P_______________________________________38"),
        ED("7f_______________________________________38"),
        ED("7v________________________________________8"),
        ED("JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU"),
        ED("JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_IU"),
        ED("xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o"), RSA_EXP("AQ"), RSA_EXP("Ag"),
        RSA_EXP("AAE")};
    static const char *const bad[] = {"", "[]", "{", "{}", "{\"keys\":{}}", "{\"keys\":[}"};
    CH_BUF_AUTO many = {0};

    (void)state;
    for (size_t i = 0; i < CH_LEN(left_out); i++) {
        CH_BUF_AUTO set = {0};
        ch_buf_addf(&set, "{\"keys\":[%s," EC("") "]}", left_out[i]);
        if (count_keys(ch_buf_str(&set)) != 1)
            fail_msg("%s", left_out[i]);
    }
    for (size_t i = 0; i < CH_LEN(bad); i++) {
        struct ch_jwks keys = {0};
        if (ch_jwks_read(&keys, ch_sv_str(bad[i]), NULL) != CHELA_EPARSE)
            fail_msg("%s", bad[i]);
        ch_jwks_release(&keys);
    }
    assert_int_equal(count_keys(SET(RSA_EXP("AQAB"))), 1);
    assert_int_equal(count_keys(SET(ED("2BERERERERERERERERERERERERERERERERERERERERE"))), 1);
    assert_int_equal(count_keys(SET(EC(",\"use\":\"sig\",\"alg\":\"ES256\""))), 1);
    assert_int_equal(count_keys(SET(EC(",\"key_ops\":[\"verify\"]"))), 1);
    ch_buf_add_str(&many, "{\"keys\":[" EC(""));
    for (int i = 0; i < 2 * CH_LIMIT_JWT_KEYS; i++)
        ch_buf_add_str(&many, "," EC(""));
    ch_buf_add_str(&many, "]}");
    assert_int_equal(count_keys(ch_buf_str(&many)), CH_LIMIT_JWT_KEYS);
    /* a point that is not on the curve */
    assert_false(is_genuine(token_ec, SET(EC(",\"kid\":\"k-ec\""))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_genuine),   cmocka_unit_test(test_forged),
        cmocka_unit_test(test_cut),       cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_key_sets),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}

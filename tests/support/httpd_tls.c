/* httpd_tls.c -- see httpd_tls.h. */
#include "support/httpd_tls.h"

#include <assert.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

struct test_ca {
    EVP_PKEY *key;
    X509 *cert;
};

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value) {
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert(ext);
    X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
}

static X509 *make_cert(const char *name, EVP_PKEY *key, X509 *issuer, int days) {
    X509 *cert = X509_new();
    static long serial = 1;

    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++);
    X509_gmtime_adj(X509_getm_notBefore(cert), -60L * 24 * 3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), days * 24L * 3600);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(issuer ? issuer : cert));
    return cert;
}

struct test_ca *test_ca_new(void) {
    struct test_ca *ca = calloc(1, sizeof(*ca));

    ca->key = EVP_EC_gen("P-256");
    ca->cert = make_cert("test authority", ca->key, NULL, 1);
    add_extension(ca->cert, ca->cert, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(ca->cert, ca->cert, NID_key_usage, "critical,keyCertSign");
    add_extension(ca->cert, ca->cert, NID_subject_key_identifier, "hash");
    X509_sign(ca->cert, ca->key, EVP_sha256());
    return ca;
}

void test_ca_free(struct test_ca *ca) {
    X509_free(ca->cert);
    EVP_PKEY_free(ca->key);
    free(ca);
}

static FILE *new_file(struct ch_buf *name) {
    const char *dir = getenv("TMPDIR");

    ch_buf_addf(name, "%s/chela-ca-XXXXXX", dir ? dir : "/tmp");
    FILE *f = fdopen(mkstemp(name->p), "w");
    assert(f);
    return f;
}

char *test_ca_write(const struct test_ca *ca) {
    struct ch_buf name = {0};
    FILE *f = new_file(&name);
    PEM_write_X509(f, ca->cert);
    fclose(f);
    return ch_buf_take(&name);
}

char *test_ca_write_key(const struct test_ca *ca) {
    struct ch_buf name = {0};
    FILE *f = new_file(&name);
    PEM_write_PrivateKey(f, ca->key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
    return ch_buf_take(&name);
}

static int choose_http(SSL *ssl, const unsigned char **out, unsigned char *n,
                       const unsigned char *in, unsigned in_n, void *user) {
    static const unsigned char ours[] = "\x08http/1.1";
    (void)ssl, (void)user;
    int rc = SSL_select_next_proto((unsigned char **)(uintptr_t)out, n, ours, sizeof(ours) - 1, in,
                                   in_n);
    return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* The name of test_ca_new in another case, spacing and type: the same name by RFC 5280, 7.1. */
static void respell_issuer(X509 *cert) {
    X509_NAME *name = X509_NAME_new();
    X509_NAME_add_entry_by_txt(name, "CN", V_ASN1_PRINTABLESTRING,
                               (const unsigned char *)"TEST  Authority", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_NAME_free(name);
}

void *test_ca_issue(const struct test_ca *ca, const char *names, int days) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = make_cert("test server", key, ca->cert, days);
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    respell_issuer(cert);
    add_extension(cert, ca->cert, NID_subject_alt_name, names);
    add_extension(cert, ca->cert, NID_authority_key_identifier, "keyid");
    X509_sign(cert, ca->key, EVP_sha256());
    SSL_CTX_use_certificate(ctx, cert);
    SSL_CTX_use_PrivateKey(ctx, key);
    SSL_CTX_set_alpn_select_cb(ctx, choose_http, NULL);
    X509_free(cert);
    EVP_PKEY_free(key);
    return ctx;
}

/* The authority serves its own certificate. */
void *test_ca_self(const struct test_ca *ca) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(ctx, ca->cert);
    SSL_CTX_use_PrivateKey(ctx, ca->key);
    return ctx;
}

void test_ca_issue_free(void *layer_arg) {
    SSL_CTX_free(layer_arg);
}

/* --- the layer: an SSL between two memory BIOs */

static void *layer_open(void *arg) {
    SSL *ssl = SSL_new(arg);
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl);
    return ssl;
}

static void layer_close(void *layer) {
    SSL_free(layer);
}

static void drain(SSL *ssl, struct ch_buf *out) {
    BIO *bio = SSL_get_wbio(ssl);
    size_t n = BIO_ctrl_pending(bio);
    char *to = ch_buf_reserve(out, n);
    if (n && to)
        ch_buf_commit(out, (size_t)BIO_read(bio, to, (int)n));
}

static void layer_feed(void *layer, struct ch_sv bytes, struct ch_buf *plain, struct ch_buf *out) {
    int n;
    BIO_write(SSL_get_rbio(layer), bytes.p, (int)bytes.n);
    do {
        char *to = ch_buf_reserve(plain, 16384);
        n = SSL_read(layer, to, 16384);
        if (n > 0)
            ch_buf_commit(plain, (size_t)n);
    } while (n > 0);
    drain(layer, out);
}

static void layer_seal(void *layer, struct ch_sv plain, struct ch_buf *out) {
    SSL_write(layer, plain.p, (int)plain.n);
    drain(layer, out);
}

static void layer_end(void *layer, struct ch_buf *out) {
    SSL_shutdown(layer);
    drain(layer, out);
}

const struct httpd_layer httpd_tls_layer = {layer_open, layer_close, layer_feed, layer_seal,
                                            layer_end};

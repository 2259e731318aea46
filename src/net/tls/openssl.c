/* openssl.c -- the TLS module: OpenSSL behind chela/sys/tls.h.
 *
 * The module encrypts and decrypts in memory and opens no socket. OpenSSL reads
 * and writes through a custom BIO, whose two queues are freed whenever they are
 * empty, so an idle connection holds no buffers (OpenSSL's memory BIOs keep
 * their largest size).
 *
 * Peers are always verified: chain, validity and name. This cannot be disabled;
 * ca_file adds trust in a private authority.
 *
 * The module uses nothing from libchela, so that it also works in programs that
 * link libchela statically. */
#include <dirent.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chela/sys/module.h"
#include "chela/sys/tls.h"
#include "net/tls/bundle.h"

/* Limit for unsent protocol data of a peer that does not read. */
#define OUT_MAX ((size_t)1024 * 1024)

struct chela_tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *bio;
    X509_LOOKUP_METHOD *bundle; /* bundle.h */
    int (*may_h2)(void *user); /* callback of a server identity; NULL: no HTTP/2 */
    void *user;
};

struct queue {
    char *p; /* owned; NULL while empty */
    size_t at, n, cap;
};

struct chela_tls {
    SSL *ssl;
    struct queue in, out;
    char *host; /* owned; for messages */
};

static int openssl_fail(struct chela_error *err, const char *fmt, ...) CHELA_PRINTF(2, 3);

static int openssl_fail(struct chela_error *err, const char *fmt, ...) {
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(err->message, sizeof(err->message), fmt, ap);
        va_end(ap);
        err->code = CHELA_ETLS;
    }
    return CHELA_ETLS;
}

/* --- queues and the BIO over them */

static int openssl_queue_add(struct queue *q, const void *data, size_t n) {
    if (q->n + n > q->cap) {
        size_t cap = q->n + n > 2 * q->cap ? q->n + n : 2 * q->cap;
        char *p = OPENSSL_realloc(q->p, cap);
        if (!p)
            return -1;
        q->p = p;
        q->cap = cap;
    }
    memcpy(q->p + q->n, data, n);
    q->n += n;
    return 0;
}

static size_t openssl_queue_take(struct queue *q, void *out, size_t max) {
    size_t n = q->n - q->at < max ? q->n - q->at : max;
    if (n)
        memcpy(out, q->p + q->at, n);
    q->at += n;
    if (q->at == q->n) {
        OPENSSL_free(q->p);
        *q = (struct queue){0};
    }
    return n;
}

static int bio_write(BIO *bio, const char *data, int n) {
    struct chela_tls *t = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (n <= 0 || t->out.n - t->out.at > OUT_MAX || openssl_queue_add(&t->out, data, (size_t)n) < 0)
        return -1;
    return n;
}

static int bio_read(BIO *bio, char *out, int max) {
    struct chela_tls *t = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    size_t n = max > 0 ? openssl_queue_take(&t->in, out, (size_t)max) : 0;
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    return (int)n;
}

static long bio_ctrl(BIO *bio, int command, long n, void *p) {
    (void)bio, (void)n, (void)p;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_bio_method(void) {
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | 127, "chela");
    if (m) {
        BIO_meth_set_write(m, bio_write);
        BIO_meth_set_read(m, bio_read);
        BIO_meth_set_ctrl(m, bio_ctrl);
    }
    return m;
}

/* --- trust */

/* A directory made by `openssl rehash` has names like 1d3472b9.0. */
static int is_hash_name(const char *name) {
    return strspn(name, "0123456789abcdef") == 8 && name[8] == '.' && name[9] >= '0' &&
           name[9] <= '9';
}

static int is_hashed(const char *path) {
    int found = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    for (struct dirent *e; !found && (e = readdir(dir));)
        found = is_hash_name(e->d_name);
    closedir(dir);
    return found;
}

/* As SSL_CTX_set_default_verify_paths: a file or directory that is missing is no error. */
static int load_named_trust(struct chela_tls_context *ctx) {
    const char *file = secure_getenv(X509_get_default_cert_file_env());
    if (!file)
        file = X509_get_default_cert_file();
    if (access(file, R_OK) == 0)
        ch_tls_bundle_load(ctx->ssl, ctx->bundle, file);
    return SSL_CTX_set_default_verify_dir(ctx->ssl);
}

/* The hashed directory costs microseconds, because only the needed issuer is
 * read. A bundle has to be split, which costs more (bundle.h), and is the
 * fallback. The environment's setting has precedence over both. */
static int load_system_trust(struct chela_tls_context *ctx, struct chela_error *err) {
    static const char *const bundles[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Alpine */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
        "/etc/ssl/ca-bundle.pem",             /* openSUSE */
        "/etc/ssl/cert.pem",                  /* BSDs, macOS */
    };
    const char *dir = X509_get_default_cert_dir();

    if (secure_getenv(X509_get_default_cert_file_env()) ||
        secure_getenv(X509_get_default_cert_dir_env())) {
        if (load_named_trust(ctx))
            return CHELA_OK;
        return openssl_fail(err, "the trust store named by %s or %s cannot be read",
                            X509_get_default_cert_file_env(), X509_get_default_cert_dir_env());
    }
    if (is_hashed(dir) && SSL_CTX_load_verify_dir(ctx->ssl, dir))
        return CHELA_OK;
    if (access(X509_get_default_cert_file(), R_OK) == 0 &&
        ch_tls_bundle_load(ctx->ssl, ctx->bundle, X509_get_default_cert_file()))
        return CHELA_OK;
    for (size_t i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++)
        if (access(bundles[i], R_OK) == 0 &&
            ch_tls_bundle_load(ctx->ssl, ctx->bundle, bundles[i]))
            return CHELA_OK;
    return openssl_fail(err, "no CA certificates found: install ca-certificates or set a CA file");
}

static int load_trust(struct chela_tls_context *ctx, const char *ca_file,
                      struct chela_error *err) {
    if (!ca_file)
        return load_system_trust(ctx, err);
    if (ch_tls_bundle_load(ctx->ssl, ctx->bundle, ca_file))
        return CHELA_OK;
    return openssl_fail(err, "no CA certificates could be read from %s", ca_file);
}

/* --- contexts */

static void context_free(struct chela_tls_context *ctx) {
    if (!ctx)
        return;
    SSL_CTX_free(ctx->ssl);
    BIO_meth_free(ctx->bio);
    X509_LOOKUP_meth_free(ctx->bundle);
    OPENSSL_free(ctx);
}

static int openssl_set_up(SSL_CTX *ssl) {
    static const unsigned char alpn[] = "\x08http/1.1";

    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    return SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) &&
           SSL_CTX_set_alpn_protos(ssl, alpn, sizeof(alpn) - 1) == 0;
}

static int context_new(const char *ca_file, struct chela_tls_context **out,
                       struct chela_error *err) {
    struct chela_tls_context *ctx = OPENSSL_zalloc(sizeof(*ctx));
    int rc = CHELA_ETLS;

    if (ctx) {
        ctx->ssl = SSL_CTX_new(TLS_client_method());
        ctx->bio = make_bio_method();
        ctx->bundle = ch_tls_bundle_method();
    }
    if (!ctx || !ctx->ssl || !ctx->bio || !ctx->bundle || !openssl_set_up(ctx->ssl))
        openssl_fail(err, "OpenSSL cannot be set up");
    else
        rc = load_trust(ctx, ca_file, err);
    ERR_clear_error();
    if (rc < 0)
        context_free(ctx);
    else
        *out = ctx;
    return rc;
}

/* Server identities. */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *outlen,
                           const unsigned char *in, unsigned inlen, void *user) {
    static const unsigned char second[] = "\x02h2", old[] = "\x08http/1.1\x08http/1.0";
    struct chela_tls_context *ctx = user;
    unsigned char **to = (unsigned char **)(void *)out;
    (void)ssl;
    int rc = SSL_select_next_proto(to, outlen, second, sizeof(second) - 1, in, inlen);
    if (rc != OPENSSL_NPN_NEGOTIATED || !ctx->may_h2 || !ctx->may_h2(ctx->user))
        rc = SSL_select_next_proto(to, outlen, old, sizeof(old) - 1, in, inlen);
    return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* Session tickets are disabled: a ticket would outlive a replaced certificate.
 * A client that reconnects makes a full handshake. */
static int set_up_identity(struct chela_tls_context *ctx) {
    SSL_CTX *ssl = ctx->ssl;
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, ctx);
    return SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) && SSL_CTX_set_num_tickets(ssl, 0) &&
           SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM:ECDHE+CHACHA20");
}

static int load_identity(SSL_CTX *ssl, const char *cert, const char *key, struct chela_error *err) {
    if (SSL_CTX_use_certificate_chain_file(ssl, cert) != 1)
        return openssl_fail(err, "no certificate could be read from %s", cert);
    if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1)
        return openssl_fail(err, "%s holds no key, or not that of the certificate in %s", key,
                            cert);
    return CHELA_OK;
}

/* Encrypted keys are not supported, because there is no person to enter a password. */
static int no_password(char *buf, int size, int writes, void *user) {
    (void)buf, (void)size, (void)writes, (void)user;
    return -1;
}

static int identity_new(const char *cert, const char *key, struct chela_tls_context **out,
                        struct chela_error *err) {
    struct chela_tls_context *ctx = OPENSSL_zalloc(sizeof(*ctx));
    int rc = CHELA_ETLS;

    if (ctx) {
        ctx->ssl = SSL_CTX_new(TLS_server_method());
        ctx->bio = make_bio_method();
    }
    if (ctx && ctx->ssl)
        SSL_CTX_set_default_passwd_cb(ctx->ssl, no_password);
    if (!ctx || !ctx->ssl || !ctx->bio || !set_up_identity(ctx))
        openssl_fail(err, "OpenSSL cannot be set up");
    else
        rc = load_identity(ctx->ssl, cert, key, err);
    ERR_clear_error();
    if (rc < 0)
        context_free(ctx);
    else
        *out = ctx;
    return rc;
}

static void offer_h2(struct chela_tls_context *ctx, int (*may)(void *user), void *user) {
    ctx->may_h2 = may;
    ctx->user = user;
}

/* --- connections */

static void tls_close(struct chela_tls *t) {
    if (!t)
        return;
    SSL_free(t->ssl); /* and its BIO */
    OPENSSL_free(t->in.p);
    OPENSSL_free(t->out.p);
    OPENSSL_free(t->host);
    OPENSSL_free(t);
}

/* An IP address is verified as an address and is not sent as a server name. */
static int set_peer(SSL *ssl, const char *host) {
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    if (X509_VERIFY_PARAM_set1_ip_asc(param, host))
        return 1;
    ERR_clear_error();
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) && SSL_set_tlsext_host_name(ssl, host);
}

/* host: the peer's name for messages. */
static struct chela_tls *new_tls(struct chela_tls_context *ctx, const char *host) {
    struct chela_tls *t = OPENSSL_zalloc(sizeof(*t));
    BIO *bio = BIO_new(ctx->bio);

    if (t) {
        t->ssl = SSL_new(ctx->ssl);
        t->host = OPENSSL_strdup(host);
    }
    if (!t || !bio || !t->ssl || !t->host) {
        BIO_free(bio);
        tls_close(t);
        return NULL;
    }
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    SSL_set_bio(t->ssl, bio, bio);
    return t;
}

static int tls_open(struct chela_tls_context *ctx, const char *host, struct chela_tls **out,
                    struct chela_error *err) {
    struct chela_tls *t = new_tls(ctx, host);

    if (!t || !set_peer(t->ssl, host)) {
        tls_close(t);
        return openssl_fail(err, "OpenSSL cannot open a connection to %s", host);
    }
    SSL_set_connect_state(t->ssl);
    *out = t;
    return CHELA_OK;
}

static int tls_accept(struct chela_tls_context *ctx, struct chela_tls **out,
                      struct chela_error *err) {
    struct chela_tls *t = new_tls(ctx, "a client");

    if (!t)
        return openssl_fail(err, "OpenSSL cannot accept a connection");
    SSL_set_accept_state(t->ssl);
    *out = t;
    return CHELA_OK;
}

static void tls_end(struct chela_tls *t) {
    ERR_clear_error();
    SSL_shutdown(t->ssl);
}

static int tls_feed(struct chela_tls *t, const void *data, size_t n, struct chela_error *err) {
    return openssl_queue_add(&t->in, data, n) < 0 ? openssl_fail(err, "out of memory") : CHELA_OK;
}

static int openssl_explain(struct chela_tls *t, struct chela_error *err) {
    unsigned long e = ERR_peek_last_error();
    long verdict = SSL_get_verify_result(t->ssl);
    const char *reason = ERR_reason_error_string(e);

    if (ERR_GET_REASON(e) == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK)
        return openssl_fail(err, "TLS with %s: certificate verify failed: %s", t->host,
                            X509_verify_cert_error_string(verdict));
    if (ERR_GET_REASON(e) == SSL_R_WRONG_VERSION_NUMBER)
        return openssl_fail(err, "TLS with %s: the peer does not speak TLS (is it plain http?)",
                            t->host);
    return openssl_fail(err, "TLS with %s: %s", t->host, reason ? reason : "protocol failure");
}

static int tls_handshake(struct chela_tls *t, struct chela_error *err) {
    ERR_clear_error();
    int rc = SSL_do_handshake(t->ssl);
    if (rc == 1)
        return 1;
    if (SSL_get_error(t->ssl, rc) == SSL_ERROR_WANT_READ)
        return 0;
    return openssl_explain(t, err);
}

static long tls_read(struct chela_tls *t, void *out, size_t max, int *eof,
                     struct chela_error *err) {
    ERR_clear_error();
    int n = SSL_read(t->ssl, out, max > INT_MAX ? INT_MAX : (int)max);
    if (n > 0)
        return n;
    switch (SSL_get_error(t->ssl, n)) {
    case SSL_ERROR_WANT_READ:
        /* RELEASE_BUFFERS does not free the buffers that waiting for data or a
         * session ticket allocated: 16 KB each. */
        SSL_free_buffers(t->ssl);
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        *eof = 1;
        return 0;
    }
    return openssl_explain(t, err);
}

static int tls_write(struct chela_tls *t, const void *data, size_t n, struct chela_error *err) {
    size_t written;

    ERR_clear_error();
    if (n == 0 || SSL_write_ex(t->ssl, data, n, &written))
        return CHELA_OK; /* without partial writes, everything was written */
    return openssl_explain(t, err);
}

static long tls_drain(struct chela_tls *t, void *out, size_t max) {
    return (long)openssl_queue_take(&t->out, out, max);
}

/* --- a single cipher */

static long aes_decrypt(const unsigned char key[32], const unsigned char iv[16], const void *in,
                        size_t n, void *out) {
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int some = 0, rest = 0;

    ERR_clear_error();
    bool fine = ctx && n <= INT_MAX &&
                EVP_DecryptInit_ex(ctx, EVP_aes_256_cbc(), NULL, key, iv) == 1 &&
                EVP_DecryptUpdate(ctx, out, &some, in, (int)n) == 1 &&
                EVP_DecryptFinal_ex(ctx, (unsigned char *)out + some, &rest) == 1;
    EVP_CIPHER_CTX_free(ctx);
    return fine ? (long)some + rest : -1;
}

static long aes_blocks(int encrypt, const unsigned char key[32], const unsigned char iv[16],
                       const void *in, size_t n, void *out) {
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int some = 0, rest = 0;

    ERR_clear_error();
    bool fine = ctx && n <= INT_MAX && n % 16 == 0 &&
                EVP_CipherInit_ex(ctx, EVP_aes_256_cbc(), NULL, key, iv, encrypt) == 1 &&
                EVP_CIPHER_CTX_set_padding(ctx, 0) == 1 &&
                EVP_CipherUpdate(ctx, out, &some, in, (int)n) == 1 &&
                EVP_CipherFinal_ex(ctx, (unsigned char *)out + some, &rest) == 1;
    EVP_CIPHER_CTX_free(ctx);
    return fine ? (long)some + rest : -1;
}

static int ed25519_verify(const unsigned char key[32], const unsigned char signature[64],
                          const void *text, size_t n) {
    ERR_clear_error();
    EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    int genuine = pkey && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey) == 1 &&
                  EVP_DigestVerify(ctx, signature, 64, text, n) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(pkey);
    return genuine;
}

static int signature_verify(const void *key, size_t nkey, int hashed, const void *signature,
                            size_t nsignature, const void *text, size_t n) {
    const unsigned char *p = key;

    ERR_clear_error();
    EVP_PKEY *pkey = nkey <= LONG_MAX ? d2i_PUBKEY(NULL, &p, (long)nkey) : NULL;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    int genuine =
        pkey && ctx && p == (const unsigned char *)key + nkey &&
        EVP_DigestVerifyInit(ctx, NULL, hashed ? EVP_sha256() : NULL, NULL, pkey) == 1 &&
        EVP_DigestVerify(ctx, signature, nsignature, text, n) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(pkey);
    ERR_clear_error();
    return genuine;
}

static const struct chela_tls_ops ops = {
    .name = "openssl",
    .context_new = context_new,
    .context_free = context_free,
    .open = tls_open,
    .close = tls_close,
    .feed = tls_feed,
    .handshake = tls_handshake,
    .read = tls_read,
    .write = tls_write,
    .drain = tls_drain,
    .aes_decrypt = aes_decrypt,
    .identity_new = identity_new,
    .accept = tls_accept,
    .end = tls_end,
    .offer_h2 = offer_h2,
    .aes_blocks = aes_blocks,
    .ed25519_verify = ed25519_verify,
    .signature_verify = signature_verify,
};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "tls", "tls", &ops};

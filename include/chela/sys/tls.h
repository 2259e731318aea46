/* tls.h -- the vtable of a TLS module.
 *
 * The module encrypts and decrypts in memory; the library moves the bytes. All functions
 * are called on the loop thread. */
#ifndef CHELA_SYS_TLS_H
#define CHELA_SYS_TLS_H
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

struct chela_tls_context; /* trust settings, shared by connections */
struct chela_tls;         /* one connection */

/* The functions of the module. */
struct chela_tls_ops {
    const char *name; /* "openssl" */

    /* Create trust settings. ca_file NULL: the system's trust store. */
    int (*context_new)(const char *ca_file, struct chela_tls_context **out,
                       struct chela_error *err);
    void (*context_free)(struct chela_tls_context *ctx);

    /* Open a client connection. The certificate of the peer is verified for host, a DNS name
     * or an IP address. */
    int (*open)(struct chela_tls_context *ctx, const char *host, struct chela_tls **out,
                struct chela_error *err);
    void (*close)(struct chela_tls *tls);

    /* Process bytes of the network. All bytes are consumed. */
    int (*feed)(struct chela_tls *tls, const void *data, size_t n, struct chela_error *err);

    /* Continue the handshake. Returns 1: complete; 0: more bytes are needed; negative: the
     * handshake failed. */
    int (*handshake)(struct chela_tls *tls, struct chela_error *err);

    /* Write decrypted bytes to out. Returns their number; 0: none now; negative: the
     * connection failed. *eof is set if the peer closed the connection properly. */
    long (*read)(struct chela_tls *tls, void *out, size_t max, int *eof, struct chela_error *err);

    /* Encrypt all of data. */
    int (*write)(struct chela_tls *tls, const void *data, size_t n, struct chela_error *err);

    /* Write bytes for the network to out. Returns their number; 0: none now. */
    long (*drain)(struct chela_tls *tls, void *out, size_t max);

    /* Decrypt AES-256-CBC with PKCS #7 padding, without a connection. Writes at most n bytes
     * to out and returns their number; negative: key, iv or data is wrong. */
    long (*aes_decrypt)(const unsigned char key[32], const unsigned char iv[16], const void *in,
                        size_t n, void *out);

    /* For servers. identity_new: read a certificate with its chain, and its key, both PEM
     * files. accept: open the connection of a client. end: send the close notification, which
     * proves that nothing was cut off. */
    int (*identity_new)(const char *cert_file, const char *key_file,
                        struct chela_tls_context **out, struct chela_error *err);
    int (*accept)(struct chela_tls_context *ctx, struct chela_tls **out, struct chela_error *err);
    void (*end)(struct chela_tls *tls);

    /* Of an identity: accept HTTP/2 (ALPN `h2`) of a client that offers it, if `may` returns
     * a value other than 0. Without this call all connections use HTTP/1.1. */
    void (*offer_h2)(struct chela_tls_context *ctx, int (*may)(void *user), void *user);

    /* One AES-256-CBC operation on whole blocks, without padding: n is a multiple of 16, out
     * has room for n bytes. Returns n; negative: failed. */
    long (*aes_blocks)(int encrypt, const unsigned char key[32], const unsigned char iv[16],
                       const void *in, size_t n, void *out);
    /* Nonzero: the Ed25519 signature is genuine. */
    int (*ed25519_verify)(const unsigned char key[32], const unsigned char signature[64],
                          const void *text, size_t n);
    /* Nonzero: the signature is genuine. key: SubjectPublicKeyInfo in DER. hashed nonzero: a
     * signature of the SHA-256 digest, by RSA (PKCS #1 v1.5) or ECDSA (in DER); 0: Ed25519. */
    int (*signature_verify)(const void *key, size_t nkey, int hashed, const void *signature,
                            size_t nsignature, const void *text, size_t n);
};

CHELA_END_DECLS
#endif

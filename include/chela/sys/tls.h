/* tls.h -- the vtable of a TLS module.
 *
 * The module encrypts and decrypts in memory; net/ moves the bytes. All calls
 * happen on the loop thread. */
#ifndef CHELA_SYS_TLS_H
#define CHELA_SYS_TLS_H
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

struct chela_tls_context; /* trust settings, shared by connections */
struct chela_tls;         /* one connection */

struct chela_tls_ops {
    const char *name; /* "openssl" */

    /* ca_file NULL: the system's trust store. */
    int (*context_new)(const char *ca_file, struct chela_tls_context **out,
                       struct chela_error *err);
    void (*context_free)(struct chela_tls_context *ctx);

    /* A client connection that will verify the peer's certificate for host
     * (a DNS name or an IP address). */
    int (*open)(struct chela_tls_context *ctx, const char *host, struct chela_tls **out,
                struct chela_error *err);
    void (*close)(struct chela_tls *tls);

    /* Bytes from the network. They are consumed whole. */
    int (*feed)(struct chela_tls *tls, const void *data, size_t n, struct chela_error *err);

    /* Progress the handshake: 1 done, 0 wants more bytes, negative failed. */
    int (*handshake)(struct chela_tls *tls, struct chela_error *err);

    /* Decrypted bytes: > 0 count, 0 none now, negative failed. *eof is set
     * when the peer closed properly. */
    long (*read)(struct chela_tls *tls, void *out, size_t max, int *eof, struct chela_error *err);

    /* Encrypt all of data. */
    int (*write)(struct chela_tls *tls, const void *data, size_t n, struct chela_error *err);

    /* Bytes for the network: > 0 count, 0 none now. */
    long (*drain)(struct chela_tls *tls, void *out, size_t max);

    /* Not of a connection, but of the same library: AES-256-CBC with PKCS #7
     * padding. Writes at most n bytes to out; the number of them, or negative:
     * this is not what the key and iv were used for. */
    long (*aes_decrypt)(const unsigned char key[32], const unsigned char iv[16], const void *in,
                        size_t n, void *out);

    /* The other side of it: a certificate of ours with what it is signed by, and
     * its key, both in PEM; a connection of somebody who came; and the last word
     * on a connection, which says that nothing was cut off. */
    int (*identity_new)(const char *cert_file, const char *key_file,
                        struct chela_tls_context **out, struct chela_error *err);
    int (*accept)(struct chela_tls_context *ctx, struct chela_tls **out, struct chela_error *err);
    void (*end)(struct chela_tls *tls);

    /* Of an identity: a client that offers HTTP/2 (ALPN `h2`) is promised it if
     * `may` says so then. Without this call it is HTTP/1.1 for all. */
    void (*offer_h2)(struct chela_tls_context *ctx, int (*may)(void *user), void *user);
};

CHELA_END_DECLS
#endif

/* shared.h -- data shared by all connections of one client: the loop, the
 * resolver, the read buffers and the TLS settings.
 *
 * Read callbacks use all data before they return, so one buffer serves all
 * connections and an idle connection needs no buffer. The client and each
 * connection hold a reference, because the last callbacks of a closed
 * connection come after the client is gone. */
#ifndef CH_NET_SHARED_H
#define CH_NET_SHARED_H
#include "chela/sys/tls.h"
#include "io/loop.h"
#include "net/resolve.h"

#define CH_READ_SIZE ((size_t)64 * 1024)
#define CH_PLAIN_SIZE ((size_t)16 * 1024)  /* one TLS record */
#define CH_CIPHER_SIZE ((size_t)20 * 1024) /* one encrypted TLS record */

struct ch_shared {
    unsigned refs;
    struct ch_loop *loop;
    struct ch_resolver *resolver; /* owned */
    char *in;                     /* owned: CH_READ_SIZE bytes from a socket */
    char *plain;                  /* owned: decrypted bytes; NULL until TLS is used */
    char *cipher;                 /* owned: encrypted bytes to send; NULL until TLS is used */
    char *ca_file, *module_path;  /* owned; may be NULL */
    const struct chela_tls_ops *tls;
    struct chela_tls_context *tls_context; /* owned */
};

struct ch_shared *ch_shared_new(struct ch_loop *loop, const char *ca_file, const char *module_path);
struct ch_shared *ch_shared_ref(struct ch_shared *s);
void ch_shared_unref(struct ch_shared *s);

/* Load the TLS module and the trust store, once per client. */
int ch_shared_need_tls(struct ch_shared *s, struct chela_error *err);

#endif

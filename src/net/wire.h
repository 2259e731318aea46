/* wire.h -- the socket of somebody who connected to us, with TLS or without.
 *
 * What comes is handed over as it was meant, decrypted if need be; what is sent
 * goes to the kernel at once as far as it takes it, and the rest is kept and
 * counted. Who owns a wire says how much may be kept, and for how long. */
#ifndef CH_NET_WIRE_H
#define CH_NET_WIRE_H
#include <stdbool.h>
#include <uv.h>

#include "base/buf.h"
#include "chela/sys/tls.h"
#include "io/loop.h"

#define CH_WIRE_READ ((size_t)64 * 1024)

/* Who we are to those who connect: a certificate, its key, and the module that
 * knows what to do with them. Shared by the wires that were opened with it. */
struct ch_identity;
/* Both files in PEM; the first may hold a chain. path: of modules, may be NULL. */
int ch_identity_new(const char *cert, const char *key, const char *path, struct ch_identity **out,
                    struct chela_error *err);
void ch_identity_unref(struct ch_identity *id);
/* To clients that offer HTTP/2 it is promised if `may` says so; it is asked then. */
void ch_identity_offer_h2(struct ch_identity *id, int (*may)(void *user), void *user);

struct ch_wire;

/* None is called from inside a call below. */
struct ch_wire_ops {
    void (*bytes)(struct ch_wire *w, struct ch_sv bytes);
    void (*lost)(struct ch_wire *w);   /* they closed it, or it failed */
    void (*moved)(struct ch_wire *w);  /* some of what was kept went out */
    void (*closed)(struct ch_wire *w); /* after ch_wire_close: it is not used any more */
};

struct ch_wire {
    struct ch_loop *loop;
    uv_tcp_t tcp;
    uv_shutdown_t shutdown;
    const struct ch_wire_ops *ops;
    char *room;             /* borrowed: CH_WIRE_READ bytes to read into */
    struct ch_identity *id; /* a reference; NULL: no TLS */
    struct chela_tls *tls;  /* owned; NULL likewise */
    size_t replies;         /* bytes of TLS itself that wait since all was sent last */
    bool secure, deaf, closed; /* hands were shaken; it was told to be */
};

/* Take the next connection of a listener and read from it. When this fails,
 * `closed` follows all the same. */
int ch_wire_accept(struct ch_wire *w, struct ch_loop *loop, uv_stream_t *listener,
                   struct ch_identity *id, struct chela_error *err);
void ch_wire_close(struct ch_wire *w);

void ch_wire_send(struct ch_wire *w, struct ch_sv bytes);
size_t ch_wire_unsent(const struct ch_wire *w);
/* Nothing more is sent. */
int ch_wire_end(struct ch_wire *w);
/* Nothing more is read: neither `bytes` nor `lost` is called any more. */
void ch_wire_deaf(struct ch_wire *w);

#endif

/* wire.h -- the socket of a server connection, with or without TLS.
 *
 * Received data is delivered decrypted. Data to send goes to the kernel at once
 * as far as possible; the rest is buffered and counted. The owner of a wire
 * limits the amount and the time of buffered data. */
#ifndef CH_NET_WIRE_H
#define CH_NET_WIRE_H
#include <stdbool.h>
#include <uv.h>

#include "base/buf.h"
#include "chela/sys/tls.h"
#include "io/loop.h"

#define CH_WIRE_READ ((size_t)64 * 1024)

/* The server's identity: a certificate, its key, and the TLS module. All wires
 * opened with it share it. */
struct ch_identity;
/* Both files are PEM; cert may hold a chain. path: module directories, may be
 * NULL. */
int ch_identity_new(const char *cert, const char *key, const char *path, struct ch_identity **out,
                    struct chela_error *err);
void ch_identity_unref(struct ch_identity *id);
/* Negotiate HTTP/2 with clients that offer it if `may` returns true; called for
 * each handshake. */
void ch_identity_offer_h2(struct ch_identity *id, int (*may)(void *user), void *user);

struct ch_wire;

/* No callback is called from inside a function of this header. */
struct ch_wire_ops {
    void (*bytes)(struct ch_wire *w, struct ch_sv bytes);
    void (*lost)(struct ch_wire *w);   /* the peer closed, or the connection failed */
    void (*moved)(struct ch_wire *w);  /* some buffered data was sent */
    void (*closed)(struct ch_wire *w); /* after ch_wire_close: w may be freed */
};

struct ch_wire {
    struct ch_loop *loop;
    uv_tcp_t tcp;
    const struct ch_wire_ops *ops;
    char *room;             /* borrowed: CH_WIRE_READ bytes to read into */
    struct ch_identity *id; /* a reference; NULL: no TLS */
    struct chela_tls *tls;  /* owned; NULL: no TLS */
    size_t replies;         /* bytes of TLS protocol data since everything was sent */
    bool secure, deaf, closed; /* TLS handshake done; ch_wire_deaf called; closed */
    bool held;                 /* ch_wire_hold stopped reading */
};

/* Accept the next connection of a listener, or take over the connected socket fd unless it is -1,
 * and read from it. `closed` follows even on failure. */
int ch_wire_accept(struct ch_wire *w, struct ch_loop *loop, uv_stream_t *listener, int fd,
                   struct ch_identity *id, struct chela_error *err);
void ch_wire_close(struct ch_wire *w);

void ch_wire_send(struct ch_wire *w, struct ch_sv bytes);
size_t ch_wire_unsent(const struct ch_wire *w);
/* Send nothing more (half-close). */
int ch_wire_end(struct ch_wire *w);
/* Stop reading, or continue: the peer must wait before it can send more. Data that was
 * already read may still be delivered. */
void ch_wire_hold(struct ch_wire *w, bool on);
/* Read nothing more: `bytes` and `lost` are no longer called. */
void ch_wire_deaf(struct ch_wire *w);

#endif

/* dial.h -- from host and port to a connected TCP socket.
 *
 * Literal addresses and localhost need no lookup; see resolve.h for the rest.
 * The addresses are tried in turn, IPv6 and IPv4 alternating; the next attempt starts when one
 * fails or has been silent for a quarter of a second, and the first to connect wins (RFC 8305, the
 * simple part). There is no timeout here: whoever dials gives up with ch_dial_cancel. */
#ifndef CH_NET_DIAL_H
#define CH_NET_DIAL_H
#include <uv.h>

#include "io/loop.h"
#include "net/resolve.h"
#include "net/transport.h"

struct ch_dial;

/* tcp is the caller's and set to TCP_NODELAY; NULL on failure,
 * when err says why. Called exactly once, unless cancelled, and never from
 * inside ch_dial_start; the dial is gone by then. */
typedef void ch_dial_fn(uv_tcp_t *tcp, const struct chela_error *err, void *user);

struct ch_dial_opts {
    struct ch_loop *loop;
    struct ch_resolver *resolver; /* must outlive the dial */
    const char *host;             /* copied */
    uint16_t port;
    const char *what; /* static; put before the host in messages: "proxy " or "" */
    const struct ch_address_filter *filter; /* may be NULL; must outlive the dial */
};

struct ch_dial *ch_dial_start(const struct ch_dial_opts *opts, ch_dial_fn *fn, void *user);
void ch_dial_cancel(struct ch_dial *d);

#endif

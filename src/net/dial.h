/* dial.h -- connect a TCP socket to a host and port.
 *
 * Literal addresses and localhost need no lookup; see resolve.h for the rest.
 * The addresses are tried in turn, alternating between IPv6 and IPv4. The next
 * attempt starts when one fails or has been pending for a quarter of a second;
 * the first to connect wins (a subset of RFC 8305). There is no timeout here:
 * the caller ends the dial with ch_dial_cancel. */
#ifndef CH_NET_DIAL_H
#define CH_NET_DIAL_H
#include <uv.h>

#include "io/loop.h"
#include "net/resolve.h"
#include "net/transport.h"

struct ch_dial;

/* The result: tcp belongs to the callee and has TCP_NODELAY set. On failure tcp
 * is NULL and err holds the reason. Called exactly once, unless cancelled, and
 * never from inside ch_dial_start; the dial is already freed. */
typedef void ch_dial_fn(uv_tcp_t *tcp, const struct chela_error *err, void *user);

struct ch_dial_opts {
    struct ch_loop *loop;
    struct ch_resolver *resolver; /* must outlive the dial */
    const char *host;             /* copied */
    uint16_t port;
    const char *what; /* static; precedes the host in messages: "proxy " or "" */
    const struct ch_address_filter *filter; /* may be NULL; must outlive the dial */
    int socket; /* above 0: connected already; taken over */
};

struct ch_dial *ch_dial_start(const struct ch_dial_opts *opts, ch_dial_fn *fn, void *user);
void ch_dial_cancel(struct ch_dial *d);

#endif

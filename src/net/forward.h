/* forward.h -- a forward proxy for programs that have no other network.
 *
 * Serves one listening socket: CONNECT, which makes a tunnel, and requests for http:// URLs, one
 * for each connection. The owner judges each destination by its name before the name is looked up,
 * and each address before it is connected to: what was judged is what is dialled. A destination
 * that is not allowed gets 403 with the owner's text at once.
 *
 * A request is understood strictly (http1.h) and sent on rewritten, so that the server cannot read
 * another one. All functions are for the loop thread. */
#ifndef CH_NET_FORWARD_H
#define CH_NET_FORWARD_H
#include "base/buf.h"
#include "io/loop.h"
#include "net/url.h"

struct ch_forward;
struct sockaddr;

struct ch_forward_opts {
    struct ch_loop *loop;
    int socket; /* listens; taken over, also on failure */
    /* Whether a program may reach the destination. Otherwise append the reason to why: one line.
     * *named: as in ch_egress_refuses. Never called from inside ch_forward_new. */
    bool (*allows)(const struct ch_url *to, bool *named, struct ch_buf *why, void *user);
    /* NULL, or the kind of an address that must not be connected to; static. */
    const char *(*refuses)(const struct ch_url *to, const struct sockaddr *at, bool named,
                           void *user);
    void *user;
};

int ch_forward_new(const struct ch_forward_opts *opts, struct ch_forward **out,
                   struct chela_error *err);
/* Close all connections. No callback after this. NULL is a no-op. The loop must run once more. */
void ch_forward_close(struct ch_forward *f);

#endif

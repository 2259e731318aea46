/* conn.h -- one connection: dial, tunnel, encrypt; then bytes both ways.
 *
 *   DIALING --tcp--> TUNNEL --2xx--> HANDSHAKE --done--> OPEN
 *      \______________/_______________/__________________/
 *       each step but the first and last only where wanted
 *   any --failure or end--> events->gone, once;  any --ch_conn_close--> CLOSED
 *
 * A connection moves bytes for whoever holds it, and knows nothing of
 * requests and responses. Its holder may change (call, pool, next call). Memory
 * that libuv still needs lives until libuv has closed the socket, so a holder
 * may close the connection from any of its events. */
#ifndef CH_NET_CONN_H
#define CH_NET_CONN_H
#include "base/buf.h"
#include "net/dial.h"
#include "net/proxy.h"
#include "net/shared.h"

struct ch_conn;

/* No event fires from inside ch_conn_open or ch_conn_send. */
struct ch_conn_events {
    void (*ready)(struct ch_conn *c, void *user); /* may send now */
    void (*sent)(struct ch_conn *c, void *user);  /* all is with the kernel */
    void (*bytes)(struct ch_conn *c, struct ch_sv bytes, void *user);
    /* Nothing more will come; err is NULL when the peer ended the stream in
     * the proper way. The holder must close c, here or later. */
    void (*gone)(struct ch_conn *c, const struct chela_error *err, void *user);
};

/* Where a connection leads; equal routes can share connections. */
struct ch_conn_route {
    struct ch_sv host;
    uint16_t port;
    bool tls;
    const struct ch_proxy *proxy; /* borrowed; NULL: direct */
    const struct ch_address_filter *filter; /* borrowed until connected; may be NULL */
};

enum ch_conn_state {
    CH_CONN_DIALING,
    CH_CONN_TUNNEL,
    CH_CONN_HANDSHAKE,
    CH_CONN_OPEN,
    CH_CONN_CLOSED,
};

struct ch_conn {
    enum ch_conn_state state;
    bool sending;                  /* the holder's message is not yet all with the kernel */
    struct ch_conn_write *writing; /* what libuv still has to write; owned */
    struct ch_shared *shared;      /* a reference */
    const struct ch_conn_events *events;
    void *user;

    char *host; /* owned */
    uint16_t port;
    bool wants_tls;
    const struct ch_proxy *proxy;
    char *label; /* owned: "host:port" for messages */

    struct ch_dial *dial;     /* while DIALING */
    struct ch_tunnel *tunnel; /* while TUNNEL; owned */
    uv_tcp_t *tcp;            /* afterwards; owned */
    struct chela_tls *tls;    /* from HANDSHAKE on, if wanted; owned */

    struct ch_buf head;       /* what is being sent: a head of our own and */
    const struct ch_sv *body; /* a borrowed list of body pieces */
    size_t nbody;
    size_t piece, offset; /* TLS: how far it is encrypted; piece 0 is the head */

    struct ch_conn *prev, *next; /* pool.c: the list of idle connections */
    int64_t idle_since;          /* pool.c */
};

/* Open a connection along a route. The module for TLS is loaded here; that can
 * fail, and then *out is untouched. */
int ch_conn_open(struct ch_shared *shared, const struct ch_conn_route *route,
                 const struct ch_conn_events *events, void *user, struct ch_conn **out,
                 struct chela_error *err);

/* Close at once. No event after this; NULL is a no-op. */
void ch_conn_close(struct ch_conn *c);

/* Hand the connection to another holder. */
void ch_conn_hold(struct ch_conn *c, const struct ch_conn_events *events, void *user);

/* Send head (taken) and the pieces of body, which must stay until `sent` or
 * ch_conn_close. One message at a time. A failure to send is not reported by
 * itself: the peer may have answered first, so reading decides. */
void ch_conn_send(struct ch_conn *c, struct ch_buf *head, const struct ch_sv *body, size_t nbody);

/* An idle connection does not keep the loop running. */
void ch_conn_set_idle(struct ch_conn *c, bool idle);

bool ch_conn_leads_to(const struct ch_conn *c, const struct ch_conn_route *route);

#endif

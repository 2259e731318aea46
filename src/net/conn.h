/* conn.h -- one client connection: dial, tunnel, TLS handshake; then bytes in
 * both directions.
 *
 *   DIALING --tcp--> TUNNEL --2xx--> HANDSHAKE --done--> OPEN
 *      \______________/_______________/__________________/
 *       TUNNEL and HANDSHAKE only where required
 *   any --failure or end--> events->gone, once;  any --ch_conn_close--> CLOSED
 *
 * A connection moves bytes for its holder and knows nothing of requests and
 * responses. The holder may change (call, pool, next call). Memory that libuv
 * needs lives until libuv has closed the socket, so a holder may close the
 * connection from any of its events. */
#ifndef CH_NET_CONN_H
#define CH_NET_CONN_H
#include "base/buf.h"
#include "base/list.h"
#include "net/dial.h"
#include "net/proxy.h"
#include "net/shared.h"

struct ch_conn;

/* No event fires from inside ch_conn_open or ch_conn_send. */
struct ch_conn_events {
    void (*ready)(struct ch_conn *c, void *user); /* may send now */
    void (*sent)(struct ch_conn *c, void *user);  /* the kernel has taken everything */
    /* The holder may overwrite the bytes. */
    void (*bytes)(struct ch_conn *c, char *bytes, size_t n, void *user);
    /* The connection has ended; err is NULL if the peer closed it properly. The
     * holder must close c, now or later. */
    void (*gone)(struct ch_conn *c, const struct chela_error *err, void *user);
};

/* The route of a connection; connections with equal routes can be shared. */
struct ch_conn_route {
    struct ch_sv host;
    uint16_t port;
    bool tls;
    const struct ch_proxy *proxy; /* borrowed; NULL: direct */
    const struct ch_address_filter *filter; /* borrowed until connected; may be NULL */
    int socket; /* above 0: connected already; taken over, and not shared */
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
    bool sending;                  /* the kernel has not taken the whole message yet */
    bool wants_tls;
    uint16_t port;
    struct ch_conn_write *writing; /* data that libuv still has to write; owned */
    struct ch_shared *shared;      /* a reference */
    const struct ch_conn_events *events;
    void *user;

    const char *host, *label; /* in `names`; label: "host:port" for messages */
    const struct ch_proxy *proxy;

    struct ch_dial *dial;     /* while DIALING */
    struct ch_tunnel *tunnel; /* while TUNNEL; owned */
    uv_tcp_t *tcp;            /* afterwards; owned */
    struct chela_tls *tls;    /* from HANDSHAKE on, if wanted; owned */

    struct ch_buf head;       /* message being sent: the head (owned) and */
    const struct ch_sv *body; /* a borrowed list of body pieces */
    size_t nbody;
    size_t piece, offset; /* TLS: position up to which it is encrypted; piece 0 is the head */

    struct ch_link link; /* pool.c: in the list of idle connections */
    int64_t idle_since;  /* pool.c */
    char names[];
};

/* Open a connection along a route. Loads the TLS module if needed; if that
 * fails, *out is unchanged. */
int ch_conn_open(struct ch_shared *shared, const struct ch_conn_route *route,
                 const struct ch_conn_events *events, void *user, struct ch_conn **out,
                 struct chela_error *err);

/* Close at once. No event after this; NULL is a no-op. */
void ch_conn_close(struct ch_conn *c);

/* Pass the connection to another holder. */
void ch_conn_hold(struct ch_conn *c, const struct ch_conn_events *events, void *user);

/* Send head (taken over) and the pieces of body, which must stay valid until
 * `sent` or ch_conn_close. One message at a time. A send failure is not
 * reported: the peer may have answered before it closed, so the result of
 * reading decides. */
void ch_conn_send(struct ch_conn *c, struct ch_buf *head, const struct ch_sv *body, size_t nbody);

/* Mark the connection as idle: an idle connection does not keep the loop
 * running. */
void ch_conn_set_idle(struct ch_conn *c, bool idle);

bool ch_conn_leads_to(const struct ch_conn *c, const struct ch_conn_route *route);

#endif

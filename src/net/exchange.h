/* exchange.h -- a connection of a server, and the server as its connections see
 * it. Between server.c, which knows how many there are, and exchange.c, which
 * knows what is said on one. */
#ifndef CH_NET_EXCHANGE_H
#define CH_NET_EXCHANGE_H
#include "base/list.h"
#include "net/server.h"
#include "net/wire.h"

struct ch_server {
    struct ch_loop *loop;
    struct ch_server_opts opts;
    uv_tcp_t tcp;
    struct ch_identity *identity; /* a reference; NULL: no TLS */
    char *address;                /* owned */
    char *bytes;            /* owned: what is read lies here, for all of them */
    struct ch_list clients; /* all */
    struct ch_list unknown; /* of those, which have not shown a request; oldest first */
    size_t nclients, nunknown;
    size_t room; /* how many there may be */
    bool draining, closed;
    unsigned handles; /* that libuv still has to close */
    char peer[INET6_ADDRSTRLEN]; /* of the one that was asked about last */
};

enum ch_phase { CH_READ_HEAD, CH_READ_BODY, CH_ANSWER, CH_STREAM, CH_LAST_WORDS, CH_CLOSED };

struct ch_exchange {
    struct ch_server *server;
    struct ch_link link, waiting; /* in clients; in unknown */
    struct ch_wire wire;
    enum ch_phase phase;
    struct ch_inbound in;
    struct ch_buf ahead; /* bytes that came before their turn */
    struct ch_buf headers;
    struct ch_timer deadline;
    struct ch_task next; /* goes on after an answer, or tells `gone` */
    void (*gone)(struct ch_exchange *x, void *user);
    void *user;
    bool keep, chunked, headless;
    bool left;    /* by the client, or dropped: `gone` is due */
    bool trusted; /* its owner has taken a request of it */
    unsigned char from[16]; /* the address of the other end; of IPv4 mapped into IPv6 */
};

/* --- exchange.c */
/* Take the listener's next connection. When this fails it is dropped. */
int ch_exchange_begin(struct ch_exchange *x, struct chela_error *err);
/* Close it without another word; the owner is not told. */
void ch_exchange_drop(struct ch_exchange *x);

/* --- server.c */
/* It asks for something; it asks for nothing, not yet or not any more, and may be
 * dropped at once to make room. */
void ch_server_known(struct ch_exchange *x);
void ch_server_unknown(struct ch_exchange *x);
void ch_server_forget(struct ch_exchange *x); /* it is being closed */
void ch_server_closed_one(struct ch_server *s); /* and is */

#endif

/* exchange.h -- a request and its answer as the server's own files see them: who
 * they came from, and what carries them.
 *
 * Three things meet here. server.c knows the clients: how many there are, who may
 * stay. exchange.c knows what the owner of a server is promised about an exchange,
 * whatever carries it. A carrier (h1.c, h2.c) knows how it is said. */
#ifndef CH_NET_EXCHANGE_H
#define CH_NET_EXCHANGE_H
#include "base/list.h"
#include "chela/sys/http2.h"
#include "net/server.h"
#include "net/wire.h"

struct ch_server {
    struct ch_loop *loop;
    struct ch_server_opts opts;
    uv_tcp_t tcp;
    struct ch_identity *identity; /* a reference; NULL: no TLS */
    char *address;                /* owned */
    char *bytes;            /* owned: what is read lies here, for all of them */
    const struct chela_http2_ops *h2; /* NULL until a client speaks it */
    bool no_h2;                   /* it cannot be loaded; that was said */
    char *frames;                 /* owned: of HTTP/2, on their way out; NULL likewise */
    size_t nstreams;              /* of HTTP/2, of all clients */
    struct ch_list clients; /* all */
    struct ch_list unknown; /* of those, which have not shown a request; oldest first */
    size_t nclients, nunknown;
    size_t room; /* how many there may be */
    bool draining, closed;
    unsigned handles; /* that libuv still has to close */
    char peer[INET6_ADDRSTRLEN]; /* of the one that was asked about last */
};

struct ch_client;

/* What a protocol does with a connection. */
struct ch_client_ops {
    void (*drop)(struct ch_client *c);  /* close it without a word; no owner is told */
    void (*drain)(struct ch_client *c); /* the server takes no new requests */
};

/* A connection. What a protocol adds to it has this as its first member. */
struct ch_client {
    struct ch_server *server;
    const struct ch_client_ops *ops;
    struct ch_link link, waiting; /* in clients; in unknown */
    struct ch_wire wire;
    struct ch_h2 *h2;       /* of who speaks HTTP/2; owned by h2.c */
    bool trusted;           /* the owner has taken a request of it */
    unsigned char from[16]; /* the address of the other end; of IPv4 mapped into IPv6 */
};

enum ch_phase { CH_READ_HEAD, CH_READ_BODY, CH_ANSWER, CH_STREAM, CH_LAST_WORDS, CH_CLOSED };

/* How the answer of one exchange goes out. exchange.c has looked that it may: the
 * client is there, the phase is right, the bound holds. */
struct ch_carrier {
    void (*respond)(struct ch_exchange *x, int status, const char *type, struct ch_sv body);
    void (*stream)(struct ch_exchange *x, int status, const char *type);
    void (*write)(struct ch_exchange *x, struct ch_sv bytes);
    void (*end)(struct ch_exchange *x);
    void (*upgrade)(struct ch_exchange *x); /* say 101; NULL: it cannot be left */
    void (*proceed)(struct ch_exchange *x); /* the client waits to hear 100 */
    size_t (*lag)(const struct ch_exchange *x); /* bytes that the client has yet to take */
    void (*hush)(struct ch_exchange *x);    /* nothing more is heard of it: it ends soon */
    void (*drop)(struct ch_exchange *x);    /* it ends, and what carries nothing else too */
};

struct ch_exchange {
    struct ch_client *client;
    const struct ch_carrier *carrier;
    enum ch_phase phase;
    struct ch_inbound in;
    struct ch_buf headers; /* of the answer: "Name: value\r\n" each */
    struct ch_timer deadline;
    struct ch_task next; /* goes on after an answer, or tells `gone` */
    void (*gone)(struct ch_exchange *x, void *user);
    void *user;
    /* Where its bytes go once it has left HTTP; NULL: it has not. */
    void (*heard)(struct ch_exchange *x, struct ch_sv bytes, void *user);
    void *hearer;
    bool headless; /* it asked for the head of an answer alone */
    bool left;     /* by the client, or dropped: `gone` is due */
};

/* --- exchange.c, for carriers */
void ch_exchange_init(struct ch_exchange *x, struct ch_client *c, const struct ch_carrier *carrier);
void ch_exchange_release(struct ch_exchange *x); /* it is closed */
void ch_exchange_wait(struct ch_exchange *x, int64_t ms);
/* Show the owner the head; then, unless they answered that, all of it. */
void ch_exchange_show_head(struct ch_exchange *x);
void ch_exchange_show_request(struct ch_exchange *x);
/* Answer in the owner's place. */
void ch_exchange_refuse(struct ch_exchange *x, int status, const char *why);
void ch_exchange_answered(struct ch_exchange *x); /* all of the answer was said */
/* The client left: the owner, if they are at work on it, hears of it first. */
void ch_exchange_leave(struct ch_exchange *x);
void ch_exchange_leave_soon(struct ch_exchange *x);
void ch_exchange_add_date(const struct ch_exchange *x, struct ch_buf *out);

/* --- h1.c */
struct ch_client *ch_h1_new(struct ch_server *s);
/* Take the listener's next connection. When this fails it is dropped. */
int ch_h1_accept(struct ch_client *c, struct chela_error *err);

/* --- h2.c */
/* Can HTTP/2 be spoken? The first who asks has its module loaded. */
bool ch_h2_available(struct ch_server *s);
/* Speak it on a connection of which these were the first bytes. */
void ch_h2_begin(struct ch_client *c, struct ch_sv bytes);

/* --- server.c */
const char *ch_server_peer(struct ch_client *c); /* see ch_exchange_peer */
/* It asks for something; it asks for nothing, not yet or not any more, and may be
 * dropped at once to make room. */
void ch_server_known(struct ch_client *c);
void ch_server_unknown(struct ch_client *c);
void ch_server_forget(struct ch_client *c); /* it is being closed */
void ch_server_closed(struct ch_client *c); /* and is; it is freed */

#endif

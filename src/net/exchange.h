/* exchange.h -- a request and its answer, as the server's own files see them.
 *
 * Three parts meet here. server.c manages the clients: their number, and which
 * may stay connected. exchange.c implements the contract of server.h for an
 * exchange, independent of the protocol. A carrier (h1.c, h2.c) implements the
 * protocol. */
#ifndef CH_NET_EXCHANGE_H
#define CH_NET_EXCHANGE_H
#include "base/list.h"
#include "chela/sys/http2.h"
#include "net/server.h"
#include "net/wire.h"

struct ch_server {
    struct ch_loop *loop;
    struct ch_server_opts opts;
    union {
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe; /* another process accepts: see ch_server_opts.listen */
    } listener;
    uv_poll_t shared; /* the listening socket of all workers; watched in the turn of this one */
    int shared_fd;    /* owned; -1: none */
    bool lent;        /* the listening socket is another program's, which keeps it open */
    size_t turn_clients; /* at the beginning of the turn */
    unsigned turn_left;  /* connections that this turn may still accept */
    uint64_t accepted;   /* connections, in all turns */
    struct ch_identity *identity; /* a reference; NULL: no TLS */
    char *address;                /* owned */
    char *bytes;            /* owned: read buffer shared by all clients */
    const struct chela_http2_ops *h2; /* NULL until a client uses HTTP/2 */
    bool no_h2;                   /* the HTTP/2 module cannot be loaded; logged once */
    char *frames;                 /* owned: HTTP/2 frames to send; NULL until used */
    size_t nstreams;              /* HTTP/2 streams of all clients */
    struct ch_list clients; /* all */
    struct ch_list unknown; /* clients without a request in progress; oldest first */
    struct ch_list busy;    /* clients that are not trusted, with a request in progress */
    size_t nclients, nunknown, nbusy;
    size_t bodies; /* buffered bytes of the bodies of clients that are not trusted */
    size_t room; /* maximum number of clients */
    bool draining, closed;
    unsigned handles; /* handles that libuv has not closed yet */
    char peer[INET6_ADDRSTRLEN]; /* result of the last ch_server_peer */
};

struct ch_client;

/* The list of the server that holds a client, besides the list of all clients. */
enum ch_standing { CH_CLIENT_APART, CH_CLIENT_UNKNOWN, CH_CLIENT_BUSY };

/* What a protocol does with a connection. */
struct ch_client_ops {
    void (*drop)(struct ch_client *c);  /* close silently; the owner is not notified */
    void (*drain)(struct ch_client *c); /* the server accepts no new connections */
    bool (*asks)(const struct ch_client *c); /* a request comes, or may come; NULL: never */
};

/* A connection. A protocol's own struct has this as its first member. */
struct ch_client {
    struct ch_server *server;
    const struct ch_client_ops *ops;
    struct ch_link link;  /* in clients */
    struct ch_link among; /* in unknown or busy, as `standing` says */
    struct ch_wire wire;
    struct ch_h2 *h2;       /* HTTP/2 only; owned by h2.c */
    enum ch_standing standing;
    bool relayed;           /* ch_server_pass of another worker; has no TLS */
    bool trusted;           /* the owner knows who this client is: ch_exchange_trust */
    bool served;            /* the owner has its whole request, and has not answered yet */
    unsigned char from[16]; /* peer address; IPv4 mapped into IPv6 */
    unsigned char network[16]; /* see ch_exchange_network */
};

enum ch_phase { CH_READ_HEAD, CH_READ_BODY, CH_ANSWER, CH_STREAM, CH_LAST_WORDS, CH_CLOSED };

/* How a protocol sends the answer of an exchange. exchange.c has checked that
 * the client is connected, the phase is right, and the bounds hold. */
struct ch_carrier {
    void (*respond)(struct ch_exchange *x, int status, const char *type, struct ch_sv body);
    void (*stream)(struct ch_exchange *x, int status, const char *type);
    void (*write)(struct ch_exchange *x, struct ch_sv bytes);
    void (*end)(struct ch_exchange *x);
    void (*upgrade)(struct ch_exchange *x); /* send 101; NULL: upgrades are not supported */
    void (*proceed)(struct ch_exchange *x); /* send 100 Continue */
    size_t (*lag)(const struct ch_exchange *x); /* bytes that the client has not taken yet */
    void (*hush)(struct ch_exchange *x);    /* stop reading: the exchange ends soon */
    void (*drop)(struct ch_exchange *x);    /* end the exchange, and its connection if unshared */
};

/* The part of an exchange that ends when the answer begins. Most connections are idle or
 * have a stream, and do without. */
struct ch_opening {
    struct ch_inbound in;
    struct ch_buf headers; /* response headers, "Name: value\r\n" each */
    size_t charged;        /* bytes of the body that count in server->bodies */
};

struct ch_exchange {
    struct ch_client *client;
    const struct ch_carrier *carrier;
    enum ch_phase phase;
    bool headless; /* a HEAD request: the answer has no body */
    bool left;     /* the client left or was dropped: `gone` is pending */
    struct ch_opening *opening; /* owned; NULL: no request came yet, or the answer has begun */
    struct ch_timer deadline;
    struct ch_task next; /* continues after an answer, or calls `gone` */
    void (*gone)(struct ch_exchange *x, void *user);
    void *user;
    /* Receives the bytes after an upgrade; NULL: not upgraded. */
    void (*on_bytes)(struct ch_exchange *x, struct ch_sv bytes, void *user);
    void *on_bytes_user;
};

/* --- server.c, for carriers */
/* Has the client sent bytes that were not read yet? Its request may be among them. */
bool ch_client_has_unread(const struct ch_client *c);

/* --- exchange.c, for carriers */
void ch_exchange_init(struct ch_exchange *x, struct ch_client *c, const struct ch_carrier *carrier);
void ch_exchange_release(struct ch_exchange *x); /* x is closed */
/* The request, made if no byte of it came before. Valid until the answer begins. */
struct ch_inbound *ch_exchange_begin(struct ch_exchange *x);
bool ch_exchange_has_begun(const struct ch_exchange *x); /* bytes of a head have come */
struct ch_sv ch_exchange_headers(const struct ch_exchange *x); /* headers of the response */
void ch_exchange_wait(struct ch_exchange *x, int64_t ms);
/* Show the owner the head of a request; then, unless the owner has answered,
 * the whole request. */
void ch_exchange_show_head(struct ch_exchange *x);
void ch_exchange_show_request(struct ch_exchange *x);
/* More of the body was buffered: refuses the request (in.refused) if the bodies of unknown
 * clients pass their bound. */
void ch_exchange_charge_body(struct ch_exchange *x);
/* Answer with an error instead of the owner. */
void ch_exchange_refuse(struct ch_exchange *x, int status, const char *why);
void ch_exchange_answered(struct ch_exchange *x); /* the whole answer was written */
/* The client left: if the owner is working on the exchange, `gone` is called
 * first. */
void ch_exchange_leave(struct ch_exchange *x);
void ch_exchange_leave_soon(struct ch_exchange *x);
void ch_exchange_add_date(const struct ch_exchange *x, struct ch_buf *out);

/* --- h1.c */
struct ch_client *ch_h1_new(struct ch_server *s);
/* Accept the listener's next connection, or take over the connected socket fd unless it is -1. On
 * failure the connection is dropped. */
int ch_h1_accept(struct ch_client *c, int fd, struct chela_error *err);

/* --- h2.c */
/* Whether HTTP/2 is available. The first call loads its module. */
bool ch_h2_available(struct ch_server *s);
/* Speak HTTP/2 on a connection; bytes are the first bytes it sent. */
void ch_h2_begin(struct ch_client *c, struct ch_sv bytes);

/* --- server.c */
const char *ch_server_peer(struct ch_client *c); /* see ch_exchange_peer */
/* ch_server_known: a request is in progress. ch_server_unknown: no request is
 * in progress; the client may be dropped at once to make room. */
void ch_server_known(struct ch_client *c);
/* A request begins. If too many clients of this network that are not trusted have a request in
 * progress, the oldest one that still sends its request, or has its answer, is dropped; false:
 * the owner works on all of them. */
bool ch_server_admit(struct ch_client *c);
void ch_server_unknown(struct ch_client *c);
void ch_server_forget(struct ch_client *c); /* c is being closed */
void ch_server_closed(struct ch_client *c); /* c is closed; frees c */

#endif

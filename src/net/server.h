/* server.h -- the HTTP server: HTTP/1.1 and HTTP/2, with TLS if there is a
 * certificate.
 *
 * A server listens and reads requests; its owner interprets them. An exchange
 * is one request and its answer; with HTTP/2 each stream is an exchange. The
 * owner gets an exchange twice: when the head is complete (answering then
 * avoids reading the body) and when the whole request is complete. From then on
 * the owner holds the exchange until the answer is complete, or until `gone`
 * reports that the client left; afterwards the pointer is invalid.
 *
 *   READ head, body --request--> ANSWER --respond, end--> READ the next one
 *      any --deadline, bound, client left--> closed       (a stream: closed)
 *
 * Slow clients: each phase has its own deadline, which a trickle of bytes does
 * not extend. Connections without a request in progress are bounded in number,
 * in total and per address; the oldest is dropped to make room. A client that
 * lags behind its stream by more than a bound is dropped; other clients are not
 * affected.
 *
 * All functions are for the loop thread. */
#ifndef CH_NET_SERVER_H
#define CH_NET_SERVER_H
#include <stdatomic.h>

#include "io/loop.h"
#include "net/inbound.h"

struct ch_server;
struct ch_exchange;
struct ch_identity; /* wire.h */

struct ch_server_opts {
    /* "127.0.0.1:8787", "[::1]:8787", "localhost:0"; "fd:3": an inherited
     * socket with that descriptor number, already bound; "pipe:3": an inherited
     * Unix socket, over which another process sends the connections that it
     * accepts, each as SCM_RIGHTS with a byte of value 0. A byte of value 1
     * marks a connection of ch_server_pass. "pipe:3+4": also an inherited
     * listening socket, which becomes the server's. The server accepts its
     * connections after a byte of value 2 without a connection, until the
     * server sends the byte 't'. "pipe:3+fd:4": another program keeps that
     * socket open, as it does with "fd:3". */
    const char *listen;
    _Atomic uint64_t *taken; /* counts connections; may be NULL; borrowed */
    const char *module_path; /* see io/module.h; may be NULL; borrowed */
    /* All are called on the loop thread, never from inside a function of this
     * header. refuse: answers a request with a complete head that the server
     * refuses, such as one with too large a body; NULL: the answer is text. */
    void (*head)(struct ch_exchange *x, void *user);
    void (*request)(struct ch_exchange *x, void *user);
    void (*refuse)(struct ch_exchange *x, int status, const char *why, void *user);
    void *user;
};

/* CHELA_EINVAL: invalid form of address; CHELA_EIO: cannot listen there. */
int ch_server_new(struct ch_loop *loop, const struct ch_server_opts *opts, struct ch_server **out,
                  struct chela_error *err);
/* 0 if listen has the form of an address, else CHELA_EINVAL. listen: as above, without "pipe:". */
int ch_server_check_address(const char *listen, struct chela_error *err);
/* Bind and listen for a process that passes connections on. listen: as above, without
 * "pipe:". The caller closes *fd and frees *address, which has the actual port. */
int ch_server_listen(const char *listen, int *fd, char **address, struct chela_error *err);
/* With "pipe:": send the socket fd to the other process, as SCM_RIGHTS with a byte of value
 * `to`. The other process sends the socket to the worker of that number, which serves it
 * without TLS as a trusted client. fd stays the caller's. False: nothing was sent. */
bool ch_server_pass(struct ch_server *s, unsigned char to, int fd);
/* The address it listens on, with the actual port: "127.0.0.1:8787". With "pipe:" the
 * text of the option. */
const char *ch_server_address(const struct ch_server *s);
/* Use TLS for new connections; takes over the reference. NULL: no TLS. */
void ch_server_identify(struct ch_server *s, struct ch_identity *id);
/* Accept no new connections. Those that wait in the listening socket are accepted, unless another
 * program keeps the socket open. Answers in progress continue, and each connection is closed after
 * its answer. A new connection may still send a request, within CH_LIMIT_INBOUND_LAST_MS. */
void ch_server_drain(struct ch_server *s);
/* True if a client sends a request, or may send one after ch_server_drain. HTTP/1.1 only: other
 * clients learn which of their requests were not accepted. */
bool ch_server_asked(const struct ch_server *s);
size_t ch_server_clients(const struct ch_server *s);
/* Close all connections; no callback after this. The loop must run once more. */
void ch_server_close(struct ch_server *s);

/* --- an exchange: the request. The request and its texts are borrowed until
 * the answer begins. */
const struct ch_inbound *ch_exchange_inbound(const struct ch_exchange *x);
/* The peer's address without its port; valid until the next call. */
const char *ch_exchange_peer(struct ch_exchange *x);
/* The peer's network: its IPv4 address, mapped into IPv6, or the first 64 bits of its IPv6
 * address, of which one customer usually has all. 16 bytes. */
const unsigned char *ch_exchange_network(const struct ch_exchange *x);
/* The client has shown who it is, with a token or a signature. The bounds for clients that
 * have not are lower: see CH_LIMIT_*_UNKNOWN. */
void ch_exchange_trust(struct ch_exchange *x);

/* Notify an owner that answers later when the client leaves. Not called once
 * the answer is complete. */
void ch_exchange_attach(struct ch_exchange *x, void (*gone)(struct ch_exchange *x, void *user),
                        void *user);

/* --- an exchange: the answer. Headers must be added before respond or stream. */
void ch_exchange_header(struct ch_exchange *x, const char *name, const char *value);
bool ch_exchange_has_header(const struct ch_exchange *x, const char *name);
/* The whole answer. type: content type; NULL: no content. */
void ch_exchange_respond(struct ch_exchange *x, int status, const char *type, struct ch_sv body);
/* A streamed answer: begin, write, end. */
void ch_exchange_stream(struct ch_exchange *x, int status, const char *type);
/* CHELA_ELIMIT: the client lags too far behind; `gone` follows. */
int ch_exchange_write(struct ch_exchange *x, struct ch_sv bytes);
void ch_exchange_end(struct ch_exchange *x);
/* Bytes of the answer that the client has not taken yet. */
size_t ch_exchange_lag(const struct ch_exchange *x);
/* Upgrade: answer 101 with the headers added so far. Afterwards write sends
 * bytes as they are, without a bound: the caller watches the lag. Received
 * bytes go to `on_bytes`, which may end the exchange. Only possible where the
 * connection carries one exchange: not over HTTP/2. */
bool ch_exchange_can_upgrade(const struct ch_exchange *x);
void ch_exchange_upgrade(struct ch_exchange *x,
                         void (*on_bytes)(struct ch_exchange *x, struct ch_sv bytes, void *user),
                         void *user);
/* Close the client's connection; `gone` follows. */
void ch_exchange_expel(struct ch_exchange *x);
/* Abort an incomplete answer. `gone` is not called. */
void ch_exchange_abort(struct ch_exchange *x);

#endif

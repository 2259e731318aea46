/* server.h -- HTTP for those who call us, over TLS if we have a certificate:
 * HTTP/2 for who speaks it, a stream being an exchange like any other; else
 * HTTP/1.1.
 *
 * A server listens and reads requests; what they mean is its owner's business.
 * An exchange is one request and its answer. It is handed to the owner twice:
 * when its head is there (an answer given then spares reading the body) and
 * when all of it is. From then on it is the owner's, until they answered it in
 * whole, or `gone` says that the client left: afterwards the pointer means
 * nothing.
 *
 *   READ head, body --request--> ANSWER --respond, end--> READ the next one
 *      any --deadline, bound, client left--> closed       (a stream: closed)
 *
 * Slow clients: each phase has a deadline of its own that no trickle of bytes
 * extends. Connections that show no request, not yet or not any more, are bounded
 * in number, in all and from one address, and the oldest of them makes room. A
 * reader that lags behind its stream by more than a bound is dropped, alone. */
#ifndef CH_NET_SERVER_H
#define CH_NET_SERVER_H
#include "io/loop.h"
#include "net/inbound.h"

struct ch_server;
struct ch_exchange;
struct ch_identity; /* wire.h */

struct ch_server_opts {
    /* "127.0.0.1:8787", "[::1]:8787", "localhost:0"; "fd:3": the socket that
     * this process was given under that number, bound already. */
    const char *listen;
    const char *module_path; /* see io/module.h; may be NULL; borrowed */
    /* Both are called on the loop thread, never from inside a call below. */
    void (*head)(struct ch_exchange *x, void *user);
    void (*request)(struct ch_exchange *x, void *user);
    void *user;
};

/* CHELA_EINVAL: no such form of address; CHELA_EIO: cannot listen there. */
int ch_server_new(struct ch_loop *loop, const struct ch_server_opts *opts, struct ch_server **out,
                  struct chela_error *err);
/* Where it listens, with the port that the system chose: "127.0.0.1:8787". */
const char *ch_server_address(const struct ch_server *s);
/* Speak TLS with who connects from now on; the reference is taken. NULL: do not. */
void ch_server_identify(struct ch_server *s, struct ch_identity *id);
/* Take no new connections; what is being answered goes on, and each connection
 * is closed after its answer. */
void ch_server_drain(struct ch_server *s);
size_t ch_server_clients(const struct ch_server *s);
/* Close everything; no callback after this. The loop must run once more. */
void ch_server_close(struct ch_server *s);

/* --- an exchange: what was asked. Texts are borrowed until the answer begins. */
const struct ch_inbound *ch_exchange_inbound(const struct ch_exchange *x);
/* The address of the other end, without its port; until the next call. */
const char *ch_exchange_peer(struct ch_exchange *x);

/* Tell who answers later that the client left. Not called once the answer is
 * complete. */
void ch_exchange_attach(struct ch_exchange *x, void (*gone)(struct ch_exchange *x, void *user),
                        void *user);

/* --- its answer. A header of it, before respond or stream. */
void ch_exchange_header(struct ch_exchange *x, const char *name, const char *value);
/* All of it. type: of the content; NULL: there is none. */
void ch_exchange_respond(struct ch_exchange *x, int status, const char *type, struct ch_sv body);
/* In pieces: begin, write, end. */
void ch_exchange_stream(struct ch_exchange *x, int status, const char *type);
/* CHELA_ELIMIT: the client lags too far behind; `gone` follows. */
int ch_exchange_write(struct ch_exchange *x, struct ch_sv bytes);
void ch_exchange_end(struct ch_exchange *x);
/* Bytes of the answer that the client has yet to take. */
size_t ch_exchange_lag(const struct ch_exchange *x);
/* Leave HTTP, in place of an answer: 101 with the headers so far. From then on write
 * sends bytes as they are, however many wait: who lags is their matter. What comes
 * is told to `heard`, which may end the exchange. Only where the connection carries
 * nothing else: not over HTTP/2. */
bool ch_exchange_can_upgrade(const struct ch_exchange *x);
void ch_exchange_upgrade(struct ch_exchange *x,
                         void (*heard)(struct ch_exchange *x, struct ch_sv bytes, void *user),
                         void *user);
/* Hang up on the client; `gone` follows. */
void ch_exchange_expel(struct ch_exchange *x);
/* Cut it off: what was said is not whole. `gone` is not called. */
void ch_exchange_abort(struct ch_exchange *x);

#endif

/* ws_peer.h -- a WebSocket that a client of our server asked for (RFC 6455).
 *
 *   request --101--> OPEN --goodbye, ours or theirs--> CLOSING --> gone
 *
 * It stands on an exchange that has left HTTP; whoever answers that exchange owns
 * both. Pings are answered here, and a client that is silent is asked whether it
 * is there. A message is a whole text: no frames, no binary, no extensions. What
 * a client may do wrong it is told with a code, and then hung up on. */
#ifndef CH_NET_WS_PEER_H
#define CH_NET_WS_PEER_H
#include "net/server.h"
#include "net/ws_codec.h"

/* --- the request */

/* Does it ask for a WebSocket as it should? 0, or the status to refuse it with. */
int ch_ws_peer_check(const struct ch_inbound *in, const char **why);
bool ch_ws_peer_offers(const struct ch_inbound *in, const char *protocol);
/* What follows `prefix` in a subprotocol that is offered, the first one that begins
 * so; p NULL: there is none. */
struct ch_sv ch_ws_peer_offer(const struct ch_inbound *in, const char *prefix);

/* --- the socket */

struct ch_ws_peer;

/* Neither fires from inside a call below. */
struct ch_ws_peer_events {
    void (*message)(struct ch_ws_peer *p, struct ch_sv text, void *user);
    /* It is over; once. The owner ends the exchange, and frees p. If the client
     * leaves without a word the exchange's own `gone` tells it, and this does not. */
    void (*gone)(struct ch_ws_peer *p, unsigned code, void *user);
};

/* Answer a request that was found good. protocol: the one chosen, or NULL.
 * CHELA_ESTATE: this connection cannot leave HTTP, nothing was answered. */
int ch_ws_peer_accept(struct ch_loop *loop, struct ch_exchange *x, const char *protocol,
                      const struct ch_ws_peer_events *events, void *user, struct ch_ws_peer **out);

bool ch_ws_peer_is_open(const struct ch_ws_peer *p); /* nobody has said goodbye */
/* CHELA_ESTATE: goodbye was said. CHELA_ELIMIT: the client lags too far behind, and
 * is told goodbye. */
int ch_ws_peer_send(struct ch_ws_peer *p, struct ch_sv text);
/* Say goodbye; `gone` follows when the client has said so too, or had its time.
 * why: at most 123 bytes. */
void ch_ws_peer_close(struct ch_ws_peer *p, enum ch_ws_code code, const char *why);
/* No event after this; NULL is a no-op. */
void ch_ws_peer_free(struct ch_ws_peer *p);

#endif

/* ws_peer.h -- server side of a WebSocket (RFC 6455).
 *
 *   request --101--> OPEN --close frame of either side--> CLOSING --> gone
 *
 * The WebSocket uses an upgraded exchange; the owner of the exchange owns both.
 * Pings are answered here, and a silent client is pinged. A message is a whole
 * text: no binary messages, no extensions. On a protocol error the client gets
 * a close frame with a code, and the connection is closed. */
#ifndef CH_NET_WS_PEER_H
#define CH_NET_WS_PEER_H
#include "net/server.h"
#include "net/ws_codec.h"

/* --- the request */

/* Whether the request is a valid WebSocket upgrade: 0, or the status to refuse
 * it with. */
int ch_ws_peer_check(const struct ch_inbound *in, const char **why);
bool ch_ws_peer_offers(const struct ch_inbound *in, const char *protocol);
/* The rest of the first offered subprotocol that begins with `prefix`; p NULL:
 * none. */
struct ch_sv ch_ws_peer_offer(const struct ch_inbound *in, const char *prefix);

/* --- the socket */

struct ch_ws_peer;

/* No event fires from inside a function of this header. */
struct ch_ws_peer_events {
    void (*message)(struct ch_ws_peer *p, struct ch_sv text, void *user);
    /* The WebSocket has ended; called once. The owner ends the exchange and
     * frees p. If the client disconnects without a close frame, only the
     * exchange's own `gone` is called. */
    void (*gone)(struct ch_ws_peer *p, unsigned code, void *user);
};

/* Answer a request that passed ch_ws_peer_check. protocol: the chosen
 * subprotocol, or NULL. CHELA_ESTATE: this connection cannot be upgraded; no
 * answer was sent. */
int ch_ws_peer_accept(struct ch_loop *loop, struct ch_exchange *x, const char *protocol,
                      const struct ch_ws_peer_events *events, void *user, struct ch_ws_peer **out);

bool ch_ws_peer_is_open(const struct ch_ws_peer *p); /* no close frame was sent or received */
/* CHELA_ESTATE: a close frame was sent or received. CHELA_ELIMIT: the client
 * lags too far behind; a close frame is sent. */
int ch_ws_peer_send(struct ch_ws_peer *p, struct ch_sv text);
/* Send a close frame; `gone` follows when the client has answered it or after a
 * timeout. why: at most 123 bytes. */
void ch_ws_peer_close(struct ch_ws_peer *p, enum ch_ws_code code, const char *why);
/* No event after this; NULL is a no-op. */
void ch_ws_peer_free(struct ch_ws_peer *p);

#endif

/* ws.h -- WebSocket client (RFC 6455), using the connections, TLS settings and
 * proxies of the HTTP client.
 *
 *   OPENING --tcp, tls--> ASKING --101--> OPEN --close, failure--> gone
 *
 * Pings and close frames of the peer are answered here. A silent peer is not
 * detected: the caller knows how often data should arrive. */
#ifndef CH_NET_WS_H
#define CH_NET_WS_H
#include "net/http.h"
#include "net/ws_codec.h"

struct ch_ws;

/* No event fires from inside a function of this header. Arguments are borrowed. */
struct ch_ws_events {
    void (*open)(struct ch_ws *w, void *user);
    void (*message)(struct ch_ws *w, enum ch_ws_kind kind, struct ch_sv data, void *user);
    /* The WebSocket has ended; called once. err always holds the reason:
     * CHELA_ENET if the peer sent a close frame. The owner must close w, now or
     * later. */
    void (*gone)(struct ch_ws *w, const struct chela_error *err, void *user);
    /* Optional. A frame of any kind arrived: a pong, too. Called before `message`. */
    void (*alive)(struct ch_ws *w, void *user);
    /* Optional. All messages that had arrived were handed on. */
    void (*drained)(struct ch_ws *w, void *user);
};

struct ch_ws_opts {
    const char *url;    /* "wss://host/path?query", or ws:// */
    int64_t connect_ms; /* until it is open; 0: CH_DEFAULT_CONNECT_MS */
    /* Additional ones of the request; one with a control character is left out. */
    const struct ch_header *headers;
    size_t nheaders;
};

/* CHELA_EINVAL: bad URL; also the errors of a proxy or the TLS module. On
 * failure *out is unchanged. */
int ch_ws_open(struct ch_http *h, const struct ch_ws_opts *opts, const struct ch_ws_events *events,
               void *user, struct ch_ws **out, struct chela_error *err);

/* CHELA_ESTATE: not open. CHELA_ELIMIT: the send queue is full. */
int ch_ws_send(struct ch_ws *w, enum ch_ws_kind kind, struct ch_sv data);
/* The same for a message in n parts. */
int ch_ws_send_parts(struct ch_ws *w, enum ch_ws_kind kind, const struct ch_sv *parts, size_t n);

/* Close the connection. No event after this; NULL is a no-op. */
void ch_ws_close(struct ch_ws *w);
/* The same; an open WebSocket sends the code to its peer. */
void ch_ws_close_with(struct ch_ws *w, unsigned code);

/* Inside `gone`: the code of the peer's close frame, CH_WS_UNSAID if it had none, CH_WS_LOST
 * if no close frame arrived; 0: the WebSocket was never open. */
unsigned ch_ws_close_code(const struct ch_ws *w);

/* Inside `gone`: a header of the HTTP response that refused the upgrade;
 * {NULL,0}: none. */
struct ch_sv ch_ws_refusal(const struct ch_ws *w, const char *name);

#endif

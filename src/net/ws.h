/* ws.h -- a WebSocket to a server (RFC 6455), on the connections of the HTTP
 * client: its TLS, its trust store, its proxies.
 *
 *   OPENING --tcp, tls--> ASKING --101--> OPEN --close, failure--> gone
 *
 * Pings are answered here. A peer that says goodbye is answered, and is gone. One
 * that says nothing is not noticed: that is for who knows how often it should. */
#ifndef CH_NET_WS_H
#define CH_NET_WS_H
#include "net/http.h"
#include "net/ws_codec.h"

struct ch_ws;

/* None fires from inside a call of ours. What is passed in is borrowed. */
struct ch_ws_events {
    void (*open)(struct ch_ws *w, void *user);
    void (*message)(struct ch_ws *w, enum ch_ws_kind kind, struct ch_sv data, void *user);
    /* Nothing more will come; once. err always says why: CHELA_ENET when the peer
     * said goodbye. The owner must close w, here or later. */
    void (*gone)(struct ch_ws *w, const struct chela_error *err, void *user);
};

struct ch_ws_opts {
    const char *url;    /* "wss://host/path?query", or ws:// */
    int64_t connect_ms; /* until it is open; 0: CH_DEFAULT_CONNECT_MS */
};

/* CHELA_EINVAL for a bad URL, and what a proxy or the TLS module may say. On
 * failure *out is untouched. */
int ch_ws_open(struct ch_http *h, const struct ch_ws_opts *opts, const struct ch_ws_events *events,
               void *user, struct ch_ws **out, struct chela_error *err);

/* CHELA_ESTATE: it is not open. CHELA_ELIMIT: the peer takes nothing. */
int ch_ws_send(struct ch_ws *w, enum ch_ws_kind kind, struct ch_sv data);

/* Hang up. No event after this; NULL is a no-op. */
void ch_ws_close(struct ch_ws *w);

/* A header of the answer that was no WebSocket, in `gone`; {NULL,0}: none. */
struct ch_sv ch_ws_refusal(const struct ch_ws *w, const char *name);

#endif

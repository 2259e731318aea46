/* ws_codec.h -- the bytes of a WebSocket, on either side (RFC 6455): the request
 * that asks for one, the answer, and frames. A client's frames are masked, a
 * server's are not.
 *
 *   frame: FIN RSV(3) opcode(4) | MASK length(7) | 0, 2 or 8 bytes of length
 *          | 4 bytes of mask, from a client | payload
 *
 * Pure: no socket, no clock, no randomness. The reader gives the same messages,
 * and the same failure at the same place, however the bytes are split; a message
 * in fragments is delivered whole, control frames between them at once. What
 * follows a failure is not looked at. There are no extensions: a frame that uses
 * one is refused. */
#ifndef CH_NET_WS_CODEC_H
#define CH_NET_WS_CODEC_H
#include <stdint.h>

#include "base/buf.h"
#include "net/url.h"

enum ch_ws_kind { /* as on the wire */
    CH_WS_TEXT = 1,
    CH_WS_BINARY = 2,
    CH_WS_CLOSE = 8,
    CH_WS_PING = 9,
    CH_WS_PONG = 10,
};

enum ch_ws_code { /* why a WebSocket is closed, as on the wire */
    CH_WS_DONE = 1000,
    CH_WS_AWAY = 1001,      /* the server stops, a page is left */
    CH_WS_BROKEN = 1002,    /* no frame that the protocol knows */
    CH_WS_NO_BINARY = 1003, /* a kind of message that is not taken */
    CH_WS_UNSAID = 1005,    /* never sent: the peer gave no reason */
    CH_WS_LOST = 1006,      /* never sent: it did not say goodbye */
    CH_WS_NO_TEXT = 1007,   /* a text that is not UTF-8 */
    CH_WS_POLICY = 1008,
    CH_WS_TOO_BIG = 1009,
    CH_WS_LATER = 1013, /* it cannot be kept up with, try again */
};

#define CH_WS_NONCE 16 /* bytes, at random, for each connection */

/* --- asking for one */

/* Append the request; `key` gets what it shows, for ch_ws_accepted. */
void ch_ws_add_request(struct ch_buf *out, const struct ch_url *url,
                       const unsigned char nonce[CH_WS_NONCE], const char *user_agent,
                       char key[25]);

/* How long the head of the answer is, its empty line included; 0: there is more
 * to come. */
size_t ch_ws_head_size(struct ch_sv bytes);

/* Is the head that of a peer that speaks WebSocket with whoever showed key?
 * Otherwise CHELA_EPROTO; err->http_status says what else it answered. */
int ch_ws_accepted(struct ch_sv head, const char *key, struct chela_error *err);

/* The value of a header of a head; {NULL,0}: it has none. */
struct ch_sv ch_ws_header(struct ch_sv head, const char *name);

/* --- being asked for one */

/* Append what answers the key that a client shows. */
void ch_ws_add_accept(struct ch_buf *out, struct ch_sv key);

/* --- frames */

/* Append a whole message as one frame. mask: a client's; NULL for a server. */
void ch_ws_add_frame(struct ch_buf *out, enum ch_ws_kind kind, struct ch_sv payload,
                     const unsigned char mask[4]);

/* payload is borrowed until fn returns. false: stop, what follows is not read. */
typedef bool ch_ws_fn(enum ch_ws_kind kind, struct ch_sv payload, void *user);

struct ch_ws_reader {
    ch_ws_fn *fn;
    void *user;
    bool of_client;         /* it reads what a client sends: all of it is masked */
    unsigned char head[14]; /* of the frame that is being read */
    unsigned nhead;
    bool in_payload, stopped;
    unsigned mask_at;         /* of its mask: where in it the next byte is */
    unsigned fragments;       /* of the message that comes in them */
    enum ch_ws_code verdict;  /* after a failure: why to close */
    uint64_t left;            /* of its payload */
    enum ch_ws_kind kind;     /* of the message whose fragments come; 0: none */
    struct ch_buf message;    /* as far as it has come */
    struct ch_buf control;    /* payload of a control frame */
};

/* Of what a server sends; set of_client for the other side. */
void ch_ws_reader_init(struct ch_ws_reader *r, ch_ws_fn *fn, void *user);
void ch_ws_reader_release(struct ch_ws_reader *r);

/* 0; CHELA_EPROTO for what no such peer may send, CHELA_ELIMIT for a message
 * larger than CH_LIMIT_WS_MESSAGE, or in too many fragments. */
int ch_ws_feed(struct ch_ws_reader *r, struct ch_sv bytes, struct chela_error *err);

#endif

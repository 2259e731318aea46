/* ws_codec.h -- the bytes of a WebSocket for both sides (RFC 6455): the upgrade
 * request, the answer, and frames. A client's frames are masked, a server's are
 * not.
 *
 *   frame: FIN RSV(3) opcode(4) | MASK length(7) | 0, 2 or 8 bytes of length
 *          | 4 bytes of mask, from a client | payload
 *
 * No socket, no clock, no randomness. The same bytes give the same messages,
 * and the same failure at the same place, however they are split. A fragmented
 * message is delivered whole, control frames between fragments at once. Data
 * after a failure is ignored. Extensions are not supported: a frame that uses
 * one is refused. */
#ifndef CH_NET_WS_CODEC_H
#define CH_NET_WS_CODEC_H
#include <stdint.h>

#include "base/buf.h"
#include "net/url.h"

enum ch_ws_kind { /* opcodes */
    CH_WS_TEXT = 1,
    CH_WS_BINARY = 2,
    CH_WS_CLOSE = 8,
    CH_WS_PING = 9,
    CH_WS_PONG = 10,
};

enum ch_ws_code { /* close codes */
    CH_WS_DONE = 1000,
    CH_WS_AWAY = 1001,      /* the server stops, or the page was left */
    CH_WS_BROKEN = 1002,    /* protocol error */
    CH_WS_NO_BINARY = 1003, /* unsupported kind of message */
    CH_WS_UNSAID = 1005,    /* never sent: the peer gave no code */
    CH_WS_LOST = 1006,      /* never sent: no close frame came */
    CH_WS_NO_TEXT = 1007,   /* text that is not UTF-8 */
    CH_WS_POLICY = 1008,
    CH_WS_TOO_BIG = 1009,
    CH_WS_LATER = 1013, /* try again later: the peer lags too far behind */
};

#define CH_WS_NONCE 16 /* random bytes for each connection */

/* --- client side of the upgrade */

/* Append the request; `key` receives the Sec-WebSocket-Key, for ch_ws_accepted. */
void ch_ws_add_request(struct ch_buf *out, const struct ch_url *url,
                       const unsigned char nonce[CH_WS_NONCE], char key[25]);

/* The length of the response head including its empty line; 0: incomplete. */
size_t ch_ws_head_size(struct ch_sv bytes);

/* 0 if the response head accepts the WebSocket for key, else CHELA_EPROTO;
 * err->http_status is the status of the response. */
int ch_ws_accepted(struct ch_sv head, const char *key, struct chela_error *err);

/* The value of a header in a head; {NULL,0}: none. */
struct ch_sv ch_ws_header(struct ch_sv head, const char *name);

/* --- server side of the upgrade */

/* Append the Sec-WebSocket-Accept value for a client's key. */
void ch_ws_add_accept(struct ch_buf *out, struct ch_sv key);

/* --- frames */

/* Append a whole message as one frame. mask: set for a client, NULL for a
 * server. */
void ch_ws_add_frame(struct ch_buf *out, enum ch_ws_kind kind, struct ch_sv payload,
                     const unsigned char mask[4]);
/* The same for a message in n parts. */
void ch_ws_add_parts(struct ch_buf *out, enum ch_ws_kind kind, const struct ch_sv *parts, size_t n,
                     const unsigned char mask[4]);

/* payload is borrowed until fn returns. Return false to stop: following data is
 * not read. */
typedef bool ch_ws_fn(enum ch_ws_kind kind, struct ch_sv payload, void *user);

struct ch_ws_reader {
    ch_ws_fn *fn;
    void *user;
    bool of_client;         /* reads a client's frames, which must be masked */
    unsigned char head[14]; /* header of the current frame */
    unsigned nhead;
    bool in_payload, stopped;
    unsigned mask_at;         /* position in the mask of the next byte */
    unsigned fragments;       /* fragments of the current message */
    enum ch_ws_code verdict;  /* after a failure: the close code to send */
    uint64_t left;            /* payload bytes left in the frame */
    enum ch_ws_kind kind;     /* kind of the fragmented message; 0: none */
    struct ch_buf message;    /* the message so far */
    struct ch_buf control;    /* payload of a control frame */
};

/* For frames of a server; set of_client for frames of a client. */
void ch_ws_reader_init(struct ch_ws_reader *r, ch_ws_fn *fn, void *user);
void ch_ws_reader_release(struct ch_ws_reader *r);

/* Returns 0; CHELA_EPROTO for a protocol violation, CHELA_ELIMIT for a message
 * larger than CH_LIMIT_WS_MESSAGE or with too many fragments. */
int ch_ws_feed(struct ch_ws_reader *r, struct ch_sv bytes, struct chela_error *err);

#endif

/* h2_meter.h -- rate limits for the frames of an HTTP/2 client.
 *
 * Frames are cheap to send and some are expensive to receive: a stream reset as
 * soon as it began (CVE-2023-44487), endless headers (CVE-2024-27316),
 * settings, pings and empty frames that each need an answer or processing, a
 * byte that refers to a large header field (CVE-2016-1544), a window that opens
 * by one byte at a time (CVE-2019-9511). The meter reads the 9-byte header of
 * each frame, however the bytes are split, and keeps three accounts that refill
 * with time up to a bound:
 *
 *   requests  a request costs one and gets it back when its answer is complete:
 *             an answered request costs nothing, a reset one costs one,
 *             whichever side sends the reset;
 *   control   any frame that is neither a request nor body data costs one; each
 *             frame of an answer earns some, because clients acknowledge it with
 *             window updates. A frame that the client's window has made tiny
 *             earns nothing.
 *   decoded   a decoded byte of a header costs one; a complete answer earns what
 *             the headers of an ordinary request cost.
 *
 * Parsing and arithmetic only: no clock, no allocation, no check of
 * well-formedness. */
#ifndef CH_NET_H2_METER_H
#define CH_NET_H2_METER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"

#define CH_H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct ch_h2_meter {
    unsigned char head[9]; /* header of the current frame */
    size_t head_n;
    size_t skip;          /* bytes until the next frame; first the preface */
    bool in_block;        /* a header block has begun and not ended */
    size_t block, pieces; /* its bytes as sent; its frames */
    uint64_t blocks;      /* header blocks begun so far */
    int64_t requests, control, decoded; /* balances, in thousandths */
    int64_t at;           /* time of the last refill */
};

void ch_h2_meter_init(struct ch_h2_meter *m, int64_t now_ms);
/* Inspect bytes before they are processed. Returns NULL, or the kind of frames
 * in excess (static): the connection must be closed then. */
const char *ch_h2_meter_feed(struct ch_h2_meter *m, struct ch_sv bytes, int64_t now_ms);
/* A field was decoded; size and block as in chela/sys/http2.h. Returns as ch_h2_meter_feed. */
const char *ch_h2_meter_decoded(struct ch_h2_meter *m, size_t size, size_t block);
void ch_h2_meter_answered(struct ch_h2_meter *m); /* a request was answered completely */
/* A frame of an answer was sent. n: its bytes; more: the client's window holds back others. */
void ch_h2_meter_sent(struct ch_h2_meter *m, size_t n, bool more);

#endif

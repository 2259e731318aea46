/* h2_meter.h -- what a client of HTTP/2 asks of us besides requests, counted.
 *
 * Frames are cheap to send and some are dear to receive: a stream that is reset
 * as soon as it began (CVE-2023-44487), headers that never end (CVE-2024-27316),
 * settings, pings and empty frames that want an answer or a look each. The meter
 * reads the 9 bytes before each frame, wherever they are split, and keeps two
 * accounts, which fill up with time to a bound:
 *
 *   requests  a request costs one and has it back when its answer is complete,
 *             so who is served pays nothing and who resets pays each time,
 *             whichever side sends the reset;
 *   control   any frame that is neither a request nor bytes of a body costs one;
 *             what we send earns some, because it is answered with windows.
 *
 * A parser and arithmetic: no clock, no memory, no opinion about well-formedness. */
#ifndef CH_NET_H2_METER_H
#define CH_NET_H2_METER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"

#define CH_H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct ch_h2_meter {
    unsigned char head[9]; /* of the frame that begins */
    size_t head_n;
    size_t skip;          /* bytes until the next frame; at first the preface */
    bool in_block;        /* a request's headers have begun and not ended */
    size_t block, pieces; /* bytes of them, as they were sent; frames */
    uint64_t blocks;      /* that have begun */
    int64_t requests, control; /* thousandths */
    int64_t at;           /* when both were filled last */
};

void ch_h2_meter_init(struct ch_h2_meter *m, int64_t now_ms);
/* Look at bytes before anybody else does. NULL, or what there is too much of
 * (static): the client is not to be listened to any more. */
const char *ch_h2_meter_feed(struct ch_h2_meter *m, struct ch_sv bytes, int64_t now_ms);
void ch_h2_meter_answered(struct ch_h2_meter *m); /* a request, to its end */
void ch_h2_meter_sent(struct ch_h2_meter *m);     /* some of an answer */

#endif

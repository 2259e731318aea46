/* h2_head.h -- the head of a request as HTTP/2 tells it: a list of fields.
 *
 * What comes out is the same struct ch_inbound that HTTP/1.1 gives, so that
 * nobody above sees a difference: ":authority" is the header Host. A request that
 * would mean something else once it is written as HTTP/1.1 is refused (RFC 9113,
 * 8.2 and 8.3): names with capitals, values with line breaks, headers about the
 * connection, fields that come twice or at the wrong place, two hosts, a length
 * that is not true. Pure; the bounds are those of inbound.h. */
#ifndef CH_NET_H2_HEAD_H
#define CH_NET_H2_HEAD_H
#include "net/inbound.h"

struct ch_h2_head {
    struct ch_inbound *in; /* borrowed; initialised */
    unsigned seen;         /* pseudo headers */
    bool regular;          /* an ordinary one came: no more of those */
    uint64_t length;       /* of the body, if it was told */
    bool has_length;
};

/* After each of these the request may be refused: in->refused. */
void ch_h2_head_field(struct ch_h2_head *h, struct ch_sv name, struct ch_sv value);
void ch_h2_head_end(struct ch_h2_head *h, bool last); /* last: no body follows */
void ch_h2_head_body(struct ch_h2_head *h, struct ch_sv bytes);
void ch_h2_head_whole(struct ch_h2_head *h);

#endif

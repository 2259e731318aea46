/* h2_head.h -- the head of an HTTP/2 request: a list of fields.
 *
 * The result is the struct ch_inbound that HTTP/1.1 also gives, so that higher
 * layers see no difference: ":authority" becomes the header Host. A request
 * that would have another meaning as HTTP/1.1 is refused (RFC 9113, 8.2 and
 * 8.3): names with capitals, values with line breaks, connection headers,
 * repeated or misplaced fields, two hosts, a wrong length. No I/O; the bounds
 * are those of inbound.h. */
#ifndef CH_NET_H2_HEAD_H
#define CH_NET_H2_HEAD_H
#include "net/inbound.h"

struct ch_h2_head {
    struct ch_inbound *in; /* borrowed; initialised */
    unsigned seen;         /* bits of the pseudo headers seen */
    bool regular;          /* a regular field came: no more pseudo headers */
    uint64_t length;       /* body length, if given */
    bool has_length;
    bool has_host; /* a field "host" came */
};

/* After each call in->refused tells whether the request is refused. */
void ch_h2_head_field(struct ch_h2_head *h, struct ch_sv name, struct ch_sv value);
void ch_h2_head_end(struct ch_h2_head *h, bool last); /* last: no body follows */
void ch_h2_head_body(struct ch_h2_head *h, struct ch_sv bytes);
void ch_h2_head_whole(struct ch_h2_head *h);

#endif

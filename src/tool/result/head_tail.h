/* head_tail.h -- the two ends of an output that may be long: its first bytes and its
 * last ones, in bounded memory, however much there was. */
#ifndef CH_TOOL_HEAD_TAIL_H
#define CH_TOOL_HEAD_TAIL_H
#include <stdint.h>

#include "base/buf.h"

struct ch_ends { /* zeroed: empty, with CH_LIMIT_OUTPUT_END for each */
    struct ch_buf head;
    char *ring;     /* owned; what came after the head, the newest of it */
    size_t at, n;   /* where the next byte goes; bytes in the ring */
    uint64_t total; /* bytes that came */
};

void ch_ends_add(struct ch_ends *e, struct ch_sv data);
void ch_ends_release(struct ch_ends *e);

/* Append what was kept, with a note where something is missing. */
void ch_ends_text(const struct ch_ends *e, struct ch_buf *out);

#endif

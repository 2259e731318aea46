/* head_tail.h -- keeps the first and the last bytes of an output of any length in bounded
 * memory. */
#ifndef CH_TOOL_HEAD_TAIL_H
#define CH_TOOL_HEAD_TAIL_H
#include <stdint.h>

#include "base/buf.h"

struct ch_ends { /* zeroed: empty, with CH_LIMIT_OUTPUT_END bytes per end */
    struct ch_buf head;
    char *ring;     /* owned; the newest bytes after the head */
    size_t at, n;   /* position of the next byte; bytes in the ring */
    uint64_t total; /* bytes added in total */
};

void ch_ends_add(struct ch_ends *e, struct ch_sv data);
void ch_ends_release(struct ch_ends *e);

/* Append the kept bytes, with a note where bytes are missing. */
void ch_ends_text(const struct ch_ends *e, struct ch_buf *out);

#endif

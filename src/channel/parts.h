/* parts.h -- Markdown in parts that a chat service takes, for channels.
 *
 * A text is cut between lines; a block of code that would fit into a part is not
 * cut, and one that would not is closed at the cut and opened again behind it.
 * A line that is too long is cut at a space, if it has one. Pure. */
#ifndef CH_CHANNEL_PARTS_H
#define CH_CHANNEL_PARTS_H
#include "base/buf.h"

struct ch_parts_ops {
    size_t most; /* bytes that a part may have at all */
    /* May `more` be added to the part? */
    bool (*fits)(struct ch_sv part, struct ch_sv more);
    /* Optional. Add a line that is no code as the service shows it best; rest:
     * what follows it. NULL: as it is. */
    void (*add_line)(struct ch_buf *part, struct ch_sv line, struct ch_sv rest);
};

struct ch_parts {
    struct ch_sv text;  /* what is left; borrowed */
    struct ch_sv fence; /* of the block that the last part was cut in; n 0: none */
};

/* Append the next part; false: there is none. */
bool ch_parts_next(struct ch_parts *rest, const struct ch_parts_ops *ops, struct ch_buf *part);

/* --- lines and blocks of code, for who reads a part */

struct ch_sv ch_line_first(struct ch_sv text); /* with its end */
bool ch_line_is_blank(struct ch_sv line);
/* Does text begin with the line that opens a block? */
bool ch_fence_opens(struct ch_sv text);
/* "```": what a fence is made of; n 0: it is none. */
struct ch_sv ch_fence_marks(struct ch_sv line);
bool ch_fence_closes(struct ch_sv line, struct ch_sv fence);

#endif

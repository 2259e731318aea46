/* parts.h -- splits Markdown into parts that a chat service accepts.
 *
 * A text is split between lines. A code block or a table that fits into one part is not
 * split. A longer code block is closed at the split and reopened in the next part; a longer
 * table is split between rows, and its head is repeated. A line that is too long is split at
 * a space or after the punctuation of Chinese and Japanese, if possible, and never inside a
 * character that consists of several code points. Pure. */
#ifndef CH_CHANNEL_PARTS_H
#define CH_CHANNEL_PARTS_H
#include "base/buf.h"

struct ch_parts_ops {
    size_t most; /* maximum bytes of a part */
    /* True if `more` can be added to the part. NULL: if together they measure at most
     * `units`. */
    bool (*fits)(struct ch_sv part, struct ch_sv more);
    size_t (*measure)(struct ch_sv text);
    size_t units;
    /* Optional. Add a line outside of code in the service's preferred form; rest: the
     * following text. NULL: unchanged. */
    void (*add_line)(struct ch_buf *part, struct ch_sv line, struct ch_sv rest);
};

struct ch_parts {
    struct ch_sv text;  /* remaining text; borrowed */
    struct ch_sv fence; /* fence of the code block in which the last part was split; n 0: none */
    struct ch_sv head;  /* the same for a table: its first two lines */
};

/* Append the next part; false at the end. */
bool ch_parts_next(struct ch_parts *rest, const struct ch_parts_ops *ops, struct ch_buf *part);

/* --- lines and code blocks */

struct ch_sv ch_line_first(struct ch_sv text); /* including its line end */
bool ch_line_is_blank(struct ch_sv line);
/* True if text begins with an opening fence line. */
bool ch_fence_opens(struct ch_sv text);
/* The fence characters of a line, "```"; n 0: not a fence. */
struct ch_sv ch_fence_marks(struct ch_sv line);
bool ch_fence_closes(struct ch_sv line, struct ch_sv fence);

#endif

/* line_diff.h -- the difference of two texts by lines, and its hunks. */
#ifndef CH_LAYER_LINE_DIFF_H
#define CH_LAYER_LINE_DIFF_H
#include "base/arena.h"
#include "base/buf.h"

struct ch_lines {
    struct ch_sv *v; /* in the arena; each with its newline, which the last line may lack */
    size_t n;
};
void ch_lines_split(struct ch_arena *a, struct ch_sv text, struct ch_lines *out);

/* Lines [from, from + n) of a text, which replace those of the other one. */
struct ch_line_edit {
    size_t old_from, old_n, new_from, new_n;
};

/* Edits that are closer than the context of a patch. Positions include the context. */
struct ch_line_hunk {
    size_t first, n; /* edits */
    size_t old_from, old_n, new_from, new_n;
    size_t added, removed; /* lines */
};

struct ch_line_diff {
    struct ch_lines old, new;
    struct ch_line_edit *edits; /* in the arena */
    size_t nedits;
    struct ch_line_hunk *hunks; /* in the arena */
    size_t nhunks;
};

/* The texts are borrowed. Texts that differ in more than CH_LIMIT_LAYER_EDITS lines are one edit
 * between their common start and end. */
void ch_line_diff(struct ch_arena *a, struct ch_sv old, struct ch_sv new, struct ch_line_diff *out);

/* Append a hunk as in a unified diff. */
void ch_hunk_write(const struct ch_line_diff *d, const struct ch_line_hunk *h, struct ch_buf *out);
/* Append the line "@@ -1,3 +1,4 @@", without its end. */
void ch_hunk_head(const struct ch_line_hunk *h, struct ch_buf *out);

/* Append the old text with the hunks that are `taken`. */
void ch_line_diff_apply(const struct ch_line_diff *d, const bool *taken, struct ch_buf *out);

#endif

/* patch.h -- a change as a patch that `git apply` takes. */
#ifndef CH_LAYER_PATCH_H
#define CH_LAYER_PATCH_H
#include "layer/changes.h"
#include "layer/line_diff.h"

/* The two contents of a change. */
struct ch_content {
    struct ch_buf before, after; /* owned */
    bool binary;                 /* one of them is no text: there are no hunks */
    bool large;                  /* beyond CH_LIMIT_LAYER_DIFF: not read */
};

int ch_content_read(const struct ch_work_layer *l, const struct ch_layer_change *c,
                    struct ch_content *out, struct chela_error *err);
void ch_content_release(struct ch_content *c);

/* True if a change can have hunks: a file that is a text before and after. */
bool ch_change_has_hunks(const struct ch_layer_change *c, const struct ch_content *content);

/* Append the patch of a change; diff: NULL, or that of its contents if it has hunks. Nothing for a
 * directory, a repository, or a large file. */
void ch_patch_write(const struct ch_layer_change *c, const struct ch_content *content,
                    const struct ch_line_diff *diff, struct ch_buf *out);

#endif

/* review.h -- the changes of a session as a list for people, and their decision about it. */
#ifndef CH_LAYER_REVIEW_H
#define CH_LAYER_REVIEW_H
#include "layer/layer.h"

struct ch_review_opts {
    const char *session;
    const char *workspace; /* absolute; NULL: of the only layer of the session */
    /* Paths of changes, or of directories with changes, relative to the workspace; NULL: all that
     * nobody needs to name. */
    const char *const *files;
    const unsigned *hunks; /* of the only file, from 1; NULL: the whole file */
    size_t nhunks;
};

/* Append the review as JSON: {session, workspace, apply, files: [{path, status, added, removed,
 * binary, hunks: [{n, header, added, removed}], ask, conflict}], repositories: [{path, files,
 * refs}], patch}. */
int ch_review_show(const struct ch_review_opts *opts, struct ch_buf *json, struct chela_error *err);

/* Make the changes real, and append {applied: [PATH], left: [{path, why}]}. CHELA_EINVAL: a file
 * or hunk is not among the changes, or the layer only gives a patch. CHELA_ESTATE: a file changed
 * underneath; nothing was applied. */
int ch_review_apply(const struct ch_review_opts *opts, struct ch_buf *json,
                    struct chela_error *err);

/* Drop all changes, or those of the named files, and append {discarded: [PATH]}. */
int ch_review_discard(const struct ch_review_opts *opts, struct ch_buf *json,
                      struct chela_error *err);

#endif

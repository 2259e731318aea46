/* covered.h -- the files of the workspace as they were when the layer covered them.
 *
 * Overlayfs keeps no copy of a file that it covers. So after each call the layer's new names are
 * recorded with the identity of the file below (inode, size, times) and a digest of a small file.
 * A file that changed after the record, or while the call ran, has changed underneath: the layer's
 * version of it was made from another text. */
#ifndef CH_LAYER_COVERED_H
#define CH_LAYER_COVERED_H
#include <sys/stat.h>

#include "layer/layer.h"

/* Records what the layer has covered since the last mark, and sets the next mark. Nothing may
 * change the layer before `mark` without a later call of this function. */
int ch_covered_note(struct ch_work_layer *l, struct chela_error *err);

/* The records of a layer, by path. */
struct ch_covered;
int ch_covered_read(struct ch_work_layer *l, struct ch_covered **out, struct chela_error *err);
void ch_covered_free(struct ch_covered *c);

/* True if the file of the workspace, which dir and name lead to, is the recorded one: lower is its
 * state, NULL: it does not exist. */
bool ch_covered_same(const struct ch_covered *c, const char *path, int dir, const char *name,
                     const struct stat *lower);

/* Records the present state of a path of the workspace: the layer's version now builds on it. */
void ch_covered_add(struct ch_buf *out, const char *path, int dir, const char *name,
                    const struct stat *lower, bool known);
int ch_covered_append(struct ch_work_layer *l, struct ch_sv records, struct chela_error *err);

/* The identity of a file as a word; of NULL, "-". */
void ch_covered_identity(struct ch_buf *out, const struct stat *st);

/* A path in a line of text: white space, % and control characters as %XX. */
void ch_layer_escape(struct ch_buf *out, const char *path);
char *ch_layer_unescape(struct ch_arena *a, struct ch_sv text);

#endif

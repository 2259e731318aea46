/* rollback.h -- takes back the steps of a commit that cannot be finished.
 *
 * The directory `undo` of the layer keeps the files that the steps replaced, and a list of what the
 * steps did. While the journal exists, the next process goes on with an interrupted commit. When
 * the journal is gone and `undo` exists, the next process takes the steps back. */
#ifndef CH_LAYER_ROLLBACK_H
#define CH_LAYER_ROLLBACK_H
#include "layer/layer.h"

#define CH_ROLLBACK "undo"

struct ch_rollback {
    struct ch_work_layer *layer;
    int dir, list; /* owned; -1: not open */
};

/* Before the first step of a commit, or of its rest. Returns 0 or -errno. */
int ch_rollback_begin(struct ch_rollback *r, struct ch_work_layer *l);

/* Give the file `fresh` of an open directory the name `name`, and keep the file that had the name.
 * fresh: NULL: only remove the file. path: of the name, in the workspace. Returns 0 or -errno. */
int ch_rollback_replace(struct ch_rollback *r, const char *path, int dir, const char *name,
                        const char *fresh);

/* Note the state of a directory before a step. mode: < 0: it did not exist. */
int ch_rollback_note(struct ch_rollback *r, const char *path, int mode);

/* Take all steps back, the last one first. Returns 0 or -errno; *path: of the name that failed. */
int ch_rollback_run(struct ch_rollback *r, struct ch_arena *a, const char **path);

/* Remove what was kept; the steps stay as they are. */
void ch_rollback_forget(struct ch_rollback *r);
void ch_rollback_close(struct ch_rollback *r);

#endif

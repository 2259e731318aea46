/* layer.h -- the place of a layer: the changes of a session to a workspace that are not real yet.
 *
 * A layer is a directory below chela's state directory, one for each workspace and session:
 *
 *     layer.json   the workspace, the session, and what happens to the changes
 *     upper, work  directories of overlayfs; the sandbox mounts them over the workspace
 *     covered      files of the workspace as they were when the layer covered them (covered.h)
 *     journal      changes on their way into the workspace (commit.h); absent: none
 *     undo         files that such changes replaced (rollback.h); absent: none
 *     lock         locked while a process uses the layer
 *
 * The directories of overlayfs are read here only while nothing writes to the layer. All functions
 * block. A layer belongs to one thread at a time. */
#ifndef CH_LAYER_LAYER_H
#define CH_LAYER_LAYER_H
#include "base/arena.h"
#include "base/buf.h"
#include "chela/error.h"

/* What happens to the changes: a person accepts them, or they only become a patch. */
enum ch_layer_apply { CH_LAYER_REVIEW, CH_LAYER_NEVER };

struct ch_work_layer {
    struct ch_arena arena;
    const char *dir;                 /* absolute, in the arena */
    const char *workspace, *session; /* the workspace without links; in the arena */
    enum ch_layer_apply apply;
    const char *const *protect; /* paths that a person must name to accept a change; in the arena */
    int fd, lock;               /* owned: the directory, and the locked file */
    int upper, real;            /* owned: the directory of the changes, and the workspace */
};

struct ch_layer_opts {
    const char *workspace; /* absolute, or NULL: of the only layer of the session */
    const char *session;
    enum ch_layer_apply apply;  /* of a new layer */
    const char *const *protect; /* of a new layer; relative paths and absolute ones; may be NULL */
    bool create;                /* make the layer if there is none */
};

/* Opens and locks a layer. CHELA_ENOENT: there is none. CHELA_EBUSY: another process uses the
 * layer. Finishes a commit that was interrupted. */
int ch_layer_open(const struct ch_layer_opts *opts, struct ch_work_layer **out,
                  struct chela_error *err);
void ch_layer_close(struct ch_work_layer *l); /* accepts NULL */

/* True if the session has a layer over the workspace, and what happens to its changes. */
bool ch_layer_exists(const char *workspace, const char *session, enum ch_layer_apply *apply);

/* Removes the directory of the layer, with all changes. The layer must still be closed. */
int ch_layer_remove(struct ch_work_layer *l, struct chela_error *err);

/* The directory of all layers; NULL: neither XDG_STATE_HOME nor HOME is set. */
const char *ch_layer_home(struct ch_arena *a);
/* The same for another part of chela's state directory. */
const char *ch_state_part(struct ch_arena *a, const char *part);
/* Makes the directories of a path that do not exist, for the user alone. Returns 0 or -errno. */
int ch_state_make(const char *path);

/* Finishes the commits of all layers that were interrupted. Says so in the log. */
void ch_layers_recover(void);

/* For each layer: dir, and whether a process uses the layer. */
typedef void ch_layer_fn(const char *dir, bool in_use, void *user);
void ch_layers_each(ch_layer_fn *fn, void *user);

#endif

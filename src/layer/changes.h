/* changes.h -- what a layer changed, compared with the workspace as it is now. */
#ifndef CH_LAYER_CHANGES_H
#define CH_LAYER_CHANGES_H
#include <stdint.h>

#include "layer/layer.h"

enum ch_node_type { CH_NODE_NONE, CH_NODE_FILE, CH_NODE_LINK, CH_NODE_DIRECTORY, CH_NODE_OTHER };

struct ch_layer_change {
    const char *path;                /* relative to the workspace */
    enum ch_node_type before, after; /* in the workspace, and in the layer */
    unsigned before_mode, after_mode;
    int64_t before_size, after_size;
    const char *before_id; /* identity of the file of the workspace (covered.h) */
    const char *ask;   /* why a person must name the change to accept it; NULL: nothing special */
    const char *asked; /* the path to name: the change's own, or a directory above */
    bool repository;   /* a part of a Git repository, which `asked` is */
    bool conflict;     /* the file of the workspace changed underneath */
    bool gone;         /* the layer's content equals the workspace's again: nothing to do */
};

struct ch_layer_changes {
    struct ch_layer_change
        *v; /* in the order of the walk (walk.h); owned; its texts are in the arena */
    size_t n, cap;
};

/* The layer must not be mounted. The changes are in the arena. CHELA_ELIMIT: too many. */
int ch_changes_find(struct ch_work_layer *l, struct ch_arena *a, struct ch_layer_changes *out,
                    struct chela_error *err);
void ch_changes_free(struct ch_layer_changes *changes);

/* The content of a file, or the target of a link, below an open directory, without following a
 * link: of a CH_NODE_NONE, nothing. CHELA_ELIMIT: more than max bytes. */
int ch_change_read(int root, const char *path, enum ch_node_type type, size_t max,
                   struct ch_buf *out, struct chela_error *err);

/* "added", "deleted", "modified", "mode" (of a directory) or "type". */
const char *ch_change_status(const struct ch_layer_change *c);

#endif

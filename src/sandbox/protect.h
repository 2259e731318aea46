/* protect.h -- keep paths read-only inside writable directories.
 *
 * Protected are files that programs outside the box will trust later: Git's hooks and
 * configuration, chela.yaml, keys. They are mounted over themselves, read-only. The
 * directories above them are mounted over themselves too, because a mount point cannot be
 * renamed. For an absent path an empty directory, the stand-in, is created as a mount point
 * while the command runs; Git ignores empty directories. */
#ifndef CH_SANDBOX_PROTECT_H
#define CH_SANDBOX_PROTECT_H
#include "sandbox/view.h"

struct ch_box_guard {
    int lock;                  /* the workspace with a shared lock; -1: none */
    struct ch_paths stand_ins; /* directories created for absent paths */
    const char *refused;       /* a path with a symbolic link: not protected */
};

/* Add the steps for every protected path to view. Returns NULL, or the path
 * that cannot be protected although box->strict requires it. */
const char *ch_guard_set(struct ch_box_guard *g, struct ch_box_view *view,
                         const struct ch_box *box);

/* Called when the box is empty: remove the stand-ins, unless another command in
 * this workspace still needs them; that command removes them. */
void ch_guard_lift(struct ch_box_guard *g);

#endif

/* protect.h -- paths that stay read-only inside what is writable.
 *
 * Git's hooks and configuration, chela.yaml, keys: files that somebody outside
 * of the box will trust later. They are mounted over themselves, read-only;
 * the directories above them are mounted over themselves too, because what is
 * a mount point cannot be renamed away. One that is absent needs something to
 * mount on: an empty directory, which git does not see, is made for as long as
 * the command runs. */
#ifndef CH_SANDBOX_PROTECT_H
#define CH_SANDBOX_PROTECT_H
#include "sandbox/view.h"

struct ch_box_guard {
    int lock;                  /* the workspace, share-locked; -1: none */
    struct ch_paths stand_ins; /* directories that take an absent path's place */
    const char *refused;       /* a link on the way: not protected */
};

/* Add the steps for every protected path to view. NULL, or the path that
 * cannot be protected and had to be (box->strict). */
const char *ch_guard_set(struct ch_box_guard *g, struct ch_box_view *view,
                         const struct ch_box *box);

/* Everything in the box is gone: take the stand-ins away, unless another
 * command in this workspace still needs them; then it does that. */
void ch_guard_lift(struct ch_box_guard *g);

#endif

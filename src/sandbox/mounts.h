/* mounts.h -- create namespaces and mounts without bubblewrap. */
#ifndef CH_SANDBOX_MOUNTS_H
#define CH_SANDBOX_MOUNTS_H
#include "sandbox/view.h"

/* As fork, but the child is process 1 of new namespaces. Returns 0 in the
 * child, a pid in the caller, or -errno. */
pid_t ch_namespaces_fork(const struct ch_box *box);

/* In that child: create the new root from the view, and an empty network. */
void ch_mounts_make(const struct ch_box *box, const struct ch_box_view *view);

/* Whether namespaces can be created without a user namespace. */
bool ch_is_privileged(void);

/* Whether root must keep its rights to other users' files: the workspace
 * belongs to another user. */
bool ch_needs_dac(const struct ch_box *box);

#endif

/* mounts.h -- namespaces and mounts without bubblewrap. */
#ifndef CH_SANDBOX_MOUNTS_H
#define CH_SANDBOX_MOUNTS_H
#include "sandbox/outer.h"

/* Like fork, but the child is process 1 of new namespaces. Returns 0 in it, a
 * pid in the caller, or -errno. */
pid_t ch_namespaces_fork(const struct ch_box *box);

/* In that child: a new root after the view, and a network of its own. */
void ch_mounts_make(const struct ch_box *box, const struct ch_box_view *view);

/* Whether namespaces can be made without a user namespace. */
bool ch_is_privileged(void);

/* Root keeps the rights to other users' files if the workspace is full of
 * them: it could not work there otherwise. */
bool ch_needs_dac(const struct ch_box *box);

#endif

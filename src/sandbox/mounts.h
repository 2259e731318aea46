/* mounts.h -- create namespaces and mounts without bubblewrap. */
#ifndef CH_SANDBOX_MOUNTS_H
#define CH_SANDBOX_MOUNTS_H
#include "sandbox/view.h"

/* As fork, but the child is process 1 of new namespaces. Returns 0 in the
 * child, a pid in the caller, or -errno. */
pid_t ch_namespaces_fork(const struct ch_box *box);

/* Move this process to a mount namespace of its own, in which it may mount. */
void ch_namespaces_enter(void);

/* In that child: create the new root from the view, and an empty network. */
void ch_mounts_make(const struct ch_box *box, const struct ch_box_view *view);

/* The attributes of mount_setattr. */
struct ch_mount_attributes {
    uint64_t set, clear, propagation, owners;
};
#define CH_MOUNT_RDONLY 1
#define CH_MOUNT_NOSUID 2
#define CH_MOUNT_NODEV 4
#define CH_MOUNT_OWNERS 0x100000 /* of the user namespace `owners` */

/* Set the attributes of the mount at a path, or of a descriptor with flags (AT_*) and "". Returns
 * 0 or -errno. */
int ch_mount_set(int at, const char *path, unsigned flags, const struct ch_mount_attributes *a);

/* Whether namespaces can be created without a user namespace. */
bool ch_is_privileged(void);

/* Whether root must keep its rights to other users' files: the workspace
 * belongs to another user. */
bool ch_needs_dac(const struct ch_box *box);

#endif

/* unowned.h -- a directory as a mount in which every file belongs to nobody.
 *
 * A command of root may read what belongs to root, whatever its mode is. In such a mount, no
 * owner and no group has a number: for all processes, root's too, the rights of others decide,
 * and capabilities are no use. The kernel looks at the mode when a file is opened, so nothing has
 * to be searched before. */
#ifndef CH_SANDBOX_UNOWNED_H
#define CH_SANDBOX_UNOWNED_H

/* A user namespace that gives no file an owner, for ch_unowned_mount. -1: not possible here. */
int ch_unowned_open(void);

/* The directory with all mounts below it as a read-only mount that has no place yet; a
 * descriptor, or -1: the kernel or a file system does not support this, or the path is none of a
 * directory. The caller has all rights of root. */
int ch_unowned_mount(int owners, const char *path);

#endif

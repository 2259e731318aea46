/* move.h -- moves a directory of a layer.
 *
 * Overlayfs refuses to rename a directory that exists below the layer (EXDEV), which few programs
 * expect inside one directory. So the files get a second name in a new directory, that directory
 * gets the place of the old one, and then the old names are removed: at every moment one of the two
 * trees is complete. */
#ifndef CH_SANDBOX_MOVE_H
#define CH_SANDBOX_MOVE_H

/* One name of a rename: a path relative to a directory, without slashes at its end. */
struct ch_move_end {
    int dir; /* or AT_FDCWD */
    const char *path;
};

/* What renameat2 does to a directory within one file system. flags: RENAME_NOREPLACE or 0. Returns
 * 0 or -errno; -EXDEV: the directory contains mounts, or the two places are on different ones. */
int ch_move_directory(const struct ch_move_end *from, const struct ch_move_end *to,
                      unsigned flags);

#endif

/* closed.h -- files of the system that a command must not read.
 *
 * A command of root has the rights of root as the owner of files. So the system's places become
 * mounts in which nobody owns a file (unowned.h). Where this is not possible, files that only root
 * may read are found and hidden. */
#ifndef CH_SANDBOX_CLOSED_H
#define CH_SANDBOX_CLOSED_H
#include "sandbox/box.h"

#define CH_CLOSED_PLACES 4

struct ch_closed {
    struct ch_paths paths; /* owned array */
    struct {
        const char *path;
        int mount; /* -1: none; the caller's */
    } places[CH_CLOSED_PLACES];
};

/* Paths below the system's directories: fixed ones, and, for root, files and directories that
 * others may not read. may_mount: the caller puts the mounts into their places. */
struct ch_closed ch_closed_find(const struct ch_box *box, bool may_mount);

/* Add what others may not read below a directory, as far as `levels` of directories below it.
 * sure: directories beyond a limit of entries are added, too. */
void ch_closed_below(struct ch_paths *out, const struct ch_box *box, const char *path,
                     unsigned levels, bool sure);

#endif

/* closed.h -- files of the system that a command must not read.
 *
 * A command of root has the rights of root as the owner of files. So files that only root may read
 * are found and hidden. */
#ifndef CH_SANDBOX_CLOSED_H
#define CH_SANDBOX_CLOSED_H
#include "sandbox/box.h"

/* Paths below the system's directories: fixed ones, and, for root, files and directories that
 * others may not read. */
struct ch_paths ch_closed_paths(const struct ch_box *box);

/* Add what others may not read below a directory, as far as `levels` of directories below it.
 * sure: directories beyond a limit of entries are added, too. */
void ch_closed_below(struct ch_paths *out, const struct ch_box *box, const char *path,
                     unsigned levels, bool sure);

#endif

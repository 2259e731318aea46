/* unsearched.h -- directories whose search after a command failed.
 *
 * What such a directory holds is not known, so no further command runs in or around it until the
 * search succeeds. A file at the top of each directory that was searched tells other processes,
 * also those of other machines: they repeat the search themselves, as far as it concerns files that
 * changed since the command started, and remove the file. The file counts only where it was made:
 * it holds its own inode number and that of the directory. Commands cannot run while it is there,
 * and file tools do not write it. All functions may be called from any thread, and block. */
#ifndef CH_TOOL_UNSEARCHED_H
#define CH_TOOL_UNSEARCHED_H
#include "guard/repositories.h"

#define CH_UNSEARCHED_MARK ".chela-unsearched"

/* Remember a failed search, with the arguments of ch_repositories_hold. */
void ch_unsearched_keep(const char *const *tops, enum ch_file_kind least,
                        const struct ch_repositories *before, const struct timespec *since);

/* Repeat the failed searches of directories that are, hold, or are below one of `tops`. Files that
 * were set aside are appended to out. The last failure is out->unsearched; NULL: commands may
 * run. */
void ch_unsearched_retry(struct ch_arena *arena, const char *const *tops,
                         struct ch_held_list *out);

/* Append the files of a list to another one. */
void ch_held_append(struct ch_arena *arena, struct ch_held_list *to,
                    const struct ch_held_list *more);

#endif

/* repositories_private.h -- shared by repositories.c, hold.c and git_config.c. */
#ifndef CH_GUARD_REPOSITORIES_PRIVATE_H
#define CH_GUARD_REPOSITORIES_PRIVATE_H
#include <sys/types.h>

#include "base/limits.h"
#include "guard/repositories.h"

#define CH_GUARD_FILE_MAX (64 * CH_KB) /* bytes of a file of Git that is read */

/* Files of a repository from which Git takes commands. */
#define CH_REPOSITORY_PARTS 4
extern const char *const ch_repository_parts[CH_REPOSITORY_PARTS];

/* since: the start of the command; NULL: before a command, with limits. */
void ch_repositories_search(struct ch_arena *arena, const char *const *tops,
                            enum ch_file_kind least, const struct timespec *since,
                            struct ch_repositories *out);

/* The entry of the path in r->paths, or NULL. The list must be complete, and therefore sorted. */
const char **ch_repositories_has(const struct ch_repositories *r, const char *path);
int ch_special_by_path(const void *a, const void *b); /* for bsearch */

/* Contents of a small regular file; false: there is none. Links are not followed. */
bool ch_guard_read_small(int dir, const char *name, struct ch_buf *out);
bool ch_guard_is_below_any(const char *path, const char *const *tops);
bool ch_guard_is_at_or_after(const struct timespec *time, const struct timespec *since);

/* Add permissions for the user to an open directory. */
bool ch_guard_permit(int fd, mode_t more);

#endif

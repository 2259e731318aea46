/* repositories.h -- the Git repositories below the directories that a command may write.
 *
 * Git executes commands that a repository's files name: hooks, core.fsmonitor, filters. The
 * sandbox keeps these files read-only in the repositories that exist when a command starts.
 * A repository that a command makes is found afterwards. If the repository provably names no
 * command, it stays as it is. Otherwise its configuration and hooks are set aside: each file
 * is renamed to NAME.held, until a person agrees to it.
 *
 * All functions block and may be called from any thread. */
#ifndef CH_TOOL_REPOSITORIES_H
#define CH_TOOL_REPOSITORIES_H
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"

/* Absolute paths of directories that hold a repository, and of .git files that name one. */
struct ch_repositories {
    const char **paths; /* NULL-terminated, in the arena */
    size_t n;
    bool cut; /* a limit was reached; repositories near the top come first */
    const char **sockets; /* Unix sockets, through which a program would reach another one;
                             NULL-terminated, in the arena */
    size_t nsockets;
};

/* Search below these directories (absolute, resolved, NULL-terminated) for what a command
 * must find read-only. Links are not followed. */
void ch_repositories_find(struct ch_arena *arena, const char *const *tops,
                          struct ch_repositories *out);

/* A file that was set aside. */
struct ch_held {
    const char *dir;        /* absolute, in the arena */
    const char *name, *now; /* of the file, before and after */
    const char *why;        /* "core.fsmonitor", "hooks/post-checkout" */
};
struct ch_held_list {
    struct ch_held *v; /* in the arena */
    size_t n, cap;
    bool cut; /* not all directories were looked at */
};

/* Set aside what names commands in the repositories that are not in `before`. A repository
 * that `before` missed because of its limit counts as made if its files changed at or after
 * `since` (clock CLOCK_REALTIME_COARSE, which files use). */
void ch_repositories_hold(struct ch_arena *arena, const char *const *tops,
                          const struct ch_repositories *before, const struct timespec *since,
                          struct ch_held_list *out);

/* Append one line per file for a model or a person. list may be NULL; paths in the workspace
 * are shown relative to it. */
void ch_held_text(const struct ch_held_list *list, const char *workspace, struct ch_buf *out);

/* Put a file back under its own name: 0 or -errno. */
int ch_held_restore(const struct ch_held *h);

/* True if a Git configuration file names no command, another file or another place. The
 * first setting that may is written to why. */
bool ch_git_config_is_plain(struct ch_sv text, struct ch_buf *why);

#endif

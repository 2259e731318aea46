/* repositories.h -- finds files that programs outside of the sandbox execute or obey, below
 * the directories that a command may write: Git repositories, and files of a special kind
 * (file_kind.h).
 *
 * Git executes commands that a repository's files name: hooks, core.fsmonitor, filters. The
 * sandbox keeps these files read-only in the repositories that exist when a command starts.
 * A repository, or a missing file of one, that a command makes is found afterwards. If the
 * repository provably names no command, it is left unchanged. Otherwise its configuration and
 * hooks are set aside: each file is renamed to NAME.held, until a person agrees to it.
 *
 * Files of a special kind are treated in the same way. Those at the top of a directory are
 * read-only in the sandbox. Elsewhere, and where none existed, a file that a command wrote
 * is set aside afterwards. Directories of installed packages are not searched for them:
 * packages are code, and contain such files by the hundred. Files that the command could not
 * write stay: another program wrote them, and may have them open, as chela its store in a
 * home directory.
 *
 * Protected and hidden paths that did not exist when the command started are set aside, too.
 *
 * All functions block and may be called from any thread. */
#ifndef CH_GUARD_REPOSITORIES_H
#define CH_GUARD_REPOSITORIES_H
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "guard/file_kind.h"

/* A file or directory of a special kind. */
struct ch_special {
    const char *path; /* absolute, in the arena */
    const char *why;  /* static: the effect of the file on other programs */
    uint64_t id[4];   /* changes when the file, or the file that a link names, changes */
    bool at_top;      /* no symbolic link, and directly in one of the directories */
    bool linked;      /* the file has other names, too */
};

/* Absolute paths of directories that hold a repository, and of .git files that name one. */
struct ch_repositories {
    const char **paths; /* NULL-terminated, in the arena */
    size_t n;
    unsigned char *lacks; /* for each path: files of a repository that do not exist, a bit each */
    bool cut; /* a limit was reached; repositories near the top come first */
    const char *unsearched; /* after a command: a directory that could not be searched; or NULL */
    int unsearched_error;
    const char **sockets; /* Unix sockets, through which a program would reach another one;
                             NULL-terminated, in the arena */
    size_t nsockets;
    struct ch_special *special; /* in the arena, sorted by path */
    size_t nspecial;
    bool linked;  /* a file from which Git takes commands has other names, too */
    bool unknown; /* nothing is known: the search before the command is missing */
    bool loose;         /* the sandbox of the command could not keep `fixed` read-only */
    /* Absolute paths; NULL: none. Read-only for the command, of ch_repositories_kept; and
     * neither readable nor writable. */
    const char *const *kept, *const *hidden;
    /* The same for paths that did not exist, of ch_repositories_absent. A program made whatever is
     * there now; but a hidden file that a process has open belongs to that process. */
    const char *const *absent, *const *absent_hidden;
    const char **fixed; /* paths of the special files at_top; NULL-terminated, in the arena */
};

/* Search below these directories (absolute, resolved, NULL-terminated) for files that must
 * be read-only for a command. least: special files of lower kinds are ignored. Links are not
 * followed. */
void ch_repositories_find(struct ch_arena *arena, const char *const *tops,
                          enum ch_file_kind least, struct ch_repositories *out);

/* A file that was set aside. */
struct ch_held {
    const char *dir;        /* absolute, in the arena */
    const char *name, *now; /* name of the file before and after; now NULL: the file was not
                             * renamed */
    const char *why;        /* "Git runs commands from it (core.fsmonitor)" */
    uint64_t id;            /* changes when the file, or a file below the directory, changes */
};
struct ch_held_list {
    struct ch_held *v; /* in the arena */
    size_t n, cap;
    size_t more; /* files that were set aside, too, but are beyond the limit of the list */
    const char *unsearched; /* a directory that could not be searched, in the arena; or NULL */
    int unsearched_error;   /* E2BIG: too many directories wait to be searched */
};

/* Set aside files that name commands in the repositories that are not in `before`, and
 * special files that are not in `before` or were changed. A repository or file that `before`
 * missed because of its limit counts as new if its files changed at or after `since` (clock
 * CLOCK_REALTIME_COARSE, which files use). */
void ch_repositories_hold(struct ch_arena *arena, const char *const *tops,
                          enum ch_file_kind least, const struct ch_repositories *before,
                          const struct timespec *since, struct ch_held_list *out);

/* A copy in the arena, for a search that is repeated. */
struct ch_repositories *ch_repositories_copy(struct ch_arena *arena,
                                             const struct ch_repositories *before);

/* Those of the paths (absolute, or below top; NULL-terminated or NULL) that exist, without a
 * link on the way. The path of "name?" is name. */
const char *const *ch_repositories_kept(struct ch_arena *arena, const char *top,
                                        const char *const *paths);

/* The other ones, which do not exist. */
const char *const *ch_repositories_absent(struct ch_arena *arena, const char *top,
                                          const char *const *paths);

/* Between these two calls, files that are set aside are remembered: a command that runs at the same
 * time found them there, and may have made another file in their place. */
void ch_holds_begin(void);
void ch_holds_end(void);

/* Put a file back under its own name: 0 or -errno; -ESTALE: it was changed after it was set
 * aside. */
int ch_held_restore(const struct ch_held *h);

/* True if a Git configuration file names no command, another file or another place. The
 * first setting that may is written to why. */
bool ch_git_config_is_plain(struct ch_sv text, struct ch_buf *why);

#endif

/* file_kind.h -- classifies workspace files by the effect they have on other programs.
 *
 * Some files are not data: Git executes commands that a repository's configuration names, a
 * shell executes its start files, an editor executes the tasks of a folder, and a later run
 * obeys AGENTS.md. The kinds are found by name at any depth, without regard to case, because
 * a file system may ignore case. All functions may be called from any thread. */
#ifndef CH_GUARD_FILE_KIND_H
#define CH_GUARD_FILE_KIND_H
#include <stdbool.h>

enum ch_file_kind {
    CH_KIND_PLAIN,
    CH_KIND_INSTRUCTIONS, /* a later run obeys the file: ask, unless the user allowed it */
    CH_KIND_EXECUTED,     /* another program executes the file: always ask */
    CH_KIND_REPOSITORY,   /* Git's own data: file tools never write it */
};

/* The kind of a path below the workspace, normalized, without links. *why (may be NULL) is
 * set to a static text for a person, such as "direnv executes it on entering the directory";
 * NULL for CH_KIND_PLAIN. */
enum ch_file_kind ch_file_kind(const char *path, const char **why);

/* The same for a file or directory that a command left in `dir` (relative to the workspace,
 * "" for its top): PLAIN, INSTRUCTIONS or EXECUTED. A directory has the kind of the files
 * below it, and so has a link that may replace it. Data that commands write in ordinary
 * work, such as the history in .hg, is PLAIN. *why is set unless the kind is PLAIN. Fast for
 * ordinary names. */
enum ch_left_form { CH_LEFT_FILE, CH_LEFT_DIRECTORY, CH_LEFT_LINK };
enum ch_file_kind ch_file_kind_left(const char *dir, const char *name, enum ch_left_form form,
                                    const char **why);

/* True if a file system may take this name for ".git". */
bool ch_file_is_dot_git(const char *name);

/* True if Git would use the open directory as a repository, or would do so once an entry
 * `name` (may be NULL) exists in it: HEAD, and either commondir, or objects and refs. */
bool ch_file_is_repository(int dir, const char *name);

#endif

/* file_kind.h -- classifies workspace files by what happens when somebody else reads them.
 *
 * Some files are not data: Git executes what a repository's configuration names, a shell
 * executes its start files, an editor executes the tasks of a folder, and a later run obeys
 * AGENTS.md. The kinds are found by name at any depth, without regard to case, because a
 * file system may ignore case. All functions may be called from any thread. */
#ifndef CH_TOOL_FILE_KIND_H
#define CH_TOOL_FILE_KIND_H
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

/* True if a file system may take this name for ".git". */
bool ch_file_is_dot_git(const char *name);

/* True if Git would use the open directory as a repository, or would do so once an entry
 * `name` (may be NULL) exists in it: HEAD, and either commondir, or objects and refs. */
bool ch_file_is_repository(int dir, const char *name);

#endif

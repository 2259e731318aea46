/* bound_files.h -- the files of a workspace that a command names, and those that these name.
 *
 * What `make t`, `. ./s.sh`, `cat s.sh | sh` or `npm test` executes is in files, which name others.
 * Nobody can know in advance which of them a shell or a build tool reads. So every word of the
 * command, and of each file found, that is the path of a file counts, and so do the files that
 * build tools read by themselves. The list is longer than what is executed, never than the
 * limit. */
#ifndef CH_TOOL_CALL_BOUND_FILES_H
#define CH_TOOL_CALL_BOUND_FILES_H
#include "base/arena.h"

struct ch_bound_files {
    const char **v; /* absolute paths in the arena, in the order of their discovery */
    size_t n;
};

/* cwd, workspace: absolute; cwd is in the workspace, otherwise the list is empty. Blocks. */
void ch_bound_files_find(struct ch_arena *a, struct ch_sv command, const char *cwd,
                         const char *workspace, struct ch_bound_files *out);

#endif

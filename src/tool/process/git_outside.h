/* git_outside.h -- the repository of a workspace that is a linked worktree or a submodule. */
#ifndef CH_TOOL_GIT_OUTSIDE_H
#define CH_TOOL_GIT_OUTSIDE_H
#include "base/arena.h"

/* The .git of such a workspace is a file that names a directory elsewhere. Returns that
 * directory, for a worktree the repository's common one: an absolute path without links, in the
 * arena. NULL: the workspace has no such file, the directory is inside of the workspace, or it
 * does not name the workspace in return. So a .git file that somebody put there shows a command
 * no other directory. Blocks. */
const char *ch_git_outside(struct ch_arena *arena, const char *workspace);

#endif

/* executable.h -- finding a program, and knowing which ones run others. */
#ifndef CH_TOOL_EXECUTABLE_H
#define CH_TOOL_EXECUTABLE_H
#include "base/arena.h"

/* The file that `name` would run: a path is taken from cwd, a bare name is
 * looked for in the absolute entries of path (NULL: the usual ones). Links are
 * not followed. NULL when there is no such file, or it cannot be executed. */
const char *ch_executable_find(struct ch_arena *arena, const char *name, const char *path,
                               const char *cwd);

/* Interpreters (sh, python, awk), wrappers (env, sudo, xargs), and programs
 * with a way out to a shell (ssh, vi, find -exec): what they do is in their
 * arguments, in files, or on their stdin, so a rule or a memory about them
 * says nothing. file is what the program is called, or the file it really is;
 * words, with the program first, may be NULL. */
bool ch_executable_runs_others(const char *file, const char *const *words);

#endif

/* executable.h -- finds a program, and knows which programs run other programs. */
#ifndef CH_TOOL_EXECUTABLE_H
#define CH_TOOL_EXECUTABLE_H
#include "base/arena.h"

/* The file that `name` would execute: a path is relative to cwd, a bare name is looked up
 * in the absolute entries of path (NULL: the default). Links are not resolved. NULL if no
 * such executable exists. */
const char *ch_executable_find(struct ch_arena *arena, const char *name, const char *path,
                               const char *cwd);

/* True for interpreters (sh, python, awk), wrappers (env, sudo, xargs), and programs with a
 * shell escape (ssh, vi, find -exec): their effect depends on their arguments, on files or
 * on stdin, so a rule or a remembered approval cannot cover them. file: name of the
 * program, or the resolved file; words, program first, may be NULL. */
bool ch_executable_runs_others(const char *file, const char *const *words);

/* True for build tools (make, npm, cargo): they run commands that files of the project name,
 * but no command from their arguments. */
bool ch_executable_runs_project(const char *file);

/* True if the command provably changes no file: a program that only reads, with no option
 * that writes or runs others. words: program first. */
bool ch_executable_only_reads(const char *const *words);

/* The files from which a program takes commands or settings, other than the files that its
 * arguments name: static text for a person. */
const char *ch_executable_reads(const char *file);

#endif

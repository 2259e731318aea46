/* guarded_files.h -- files of the runtime that the tools of its agents must not touch.
 *
 * Stores, cassettes and keys are hidden from tools and from their programs. The programs of
 * tools are read-only for other programs, and a file tool changes them only if a person
 * agrees. Loop thread only. */
#ifndef CH_AGENT_GUARDED_FILES_H
#define CH_AGENT_GUARDED_FILES_H
#include "agent/handle/agent.h"

/* Hide a file from the tools of all agents, present and future. path is copied; a relative
 * path counts from the current directory. */
void ch_runtime_hide_file(chela_runtime *rt, const char *path);
/* The same for an SQLite database with the files that belong to it. */
void ch_runtime_hide_database(chela_runtime *rt, const char *path);
void ch_runtime_release_hidden(chela_runtime *rt);

/* Apply the list of the runtime to a new agent. */
void ch_agent_hide_files(chela_agent *a);

/* Guard the program of a command tool and the scripts among its arguments: paths, and the
 * names of existing files if the program is an interpreter. A folder that holds the workspace or
 * cwd is not guarded: every file of the tools is in it. */
void ch_agent_guard_program(chela_agent *a, const char *const *argv, const char *cwd);

#endif

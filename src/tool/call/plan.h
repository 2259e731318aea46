/* plan.h -- the program that a call would run, said before it runs.
 *
 * Rules and people judge a call by what it does to the machine, which for a
 * tool that runs programs is not in its arguments: it is the program they
 * lead to, and the directory it works in. Such a tool says so through
 * ch_tool.plan; approval_binding.c makes the plan concrete and holds the call to
 * it. */
#ifndef CH_TOOL_PLAN_H
#define CH_TOOL_PLAN_H
#include "base/sv.h"

/* Texts live as long as the call (its arena, or its tool). */
struct ch_plan {
    /* The command in the model's own words, for a shell. Empty: argv says what
     * runs, and the operator chose it. */
    struct ch_sv command;
    const char *const *argv; /* NULL-terminated; only without a command */
    const char *cwd;         /* absolute; NULL: the workspace */
    const char *path;        /* the PATH of the program; NULL: the usual one */
    /* The arguments of the call say nothing about the program but its command,
     * cwd and time limits: no variables, no terminal. Only then can a rule
     * about the command speak for the whole call. */
    bool plain;
};

#endif

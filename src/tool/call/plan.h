/* plan.h -- describes the program that a call would run, before it runs.
 *
 * Rules and people decide about a call by its effect on the machine. For a tool that runs
 * programs, the effect depends on the resolved program and the working directory, not only
 * on the arguments. Such a tool fills a plan through ch_tool.plan; approval_binding.c
 * resolves the plan and binds the approval to it. */
#ifndef CH_TOOL_PLAN_H
#define CH_TOOL_PLAN_H
#include "base/sv.h"

/* Texts live as long as the call (its arena, or its tool). */
struct ch_plan {
    /* The model's command, as shell text. Empty: the operator chose the program, and argv
     * holds it. */
    struct ch_sv command;
    const char *const *argv; /* NULL-terminated; only without a command */
    const char *cwd;         /* absolute; NULL: the workspace */
    const char *path;        /* PATH for the program lookup; NULL: the default */
    /* True if the call's arguments set nothing but command, cwd and time limits: no
     * variables, no terminal. Only then can a rule about the command cover the whole call. */
    bool plain;
};

#endif

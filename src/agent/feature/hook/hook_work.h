/* hook_work.h -- runs the programs of one event, side by side, and puts their verdicts together.
 *
 * The programs are the user's own: they run outside of the sandbox, with the environment that
 * programs of tools get and the variables CLAUDE_PROJECT_DIR and CHELA_PROJECT_DIR. A program whose
 * files have changed since they were trusted does not run. Loop thread only. */
#ifndef CH_AGENT_HOOK_WORK_H
#define CH_AGENT_HOOK_WORK_H
#include "agent/feature/hook/hook_verdict.h"

struct ch_hook_work;

/* All programs have ended. The work is freed when the callback returns; the callback may take the
 * texts of v, and may free the session. Never called from inside ch_hook_work_start. */
typedef void ch_hook_done_fn(struct ch_hook_verdict *v, void *user);

/* Starts the programs whose expressions match one of the names. NULL: there is none, and done is
 * not called. input: a JSON object. Texts are copied. */
struct ch_hook_work *ch_hook_work_start(const chela_agent *agent, enum ch_hook_event event,
                                        const char *name, const char *other, struct ch_sv input,
                                        ch_hook_done_fn *done, void *user);
/* Kills the programs: no callback after this. NULL is allowed. */
void ch_hook_work_close(struct ch_hook_work *w);

/* A program that nobody waits for. */
struct ch_hook_launch;

/* The programs of the event, to be started later; NULL: there is none. */
struct ch_hook_launch *ch_hook_launch_new(const chela_agent *agent, enum ch_hook_event event,
                                          const char *name, struct ch_sv input);
/* Starts them and lets them run on their own, also when this process ends; their time limits hold.
 * Frees the launch. Blocks for some milliseconds. */
void ch_hook_launch_go(struct ch_hook_launch *l);

#endif

/* child_run.h -- child runs: an agent as a tool of another agent, and a step of a plan that
 * is a separate run.
 *
 *   run --- calls `researcher` ---> child session, a run of the same machine
 *    ^                                | events, questions, usage: up
 *    |<---- result of the call -------' cancel, answers, budgets: down
 *
 * A child has its own session, whose key is derived from the call. A call that is repeated
 * after a crash therefore finds its child, and continues it or takes its answer. A child is
 * limited to the remaining limits of every run above it (run/parent.h).
 *
 * A child that waits for people lets its call rest (ch_call_rest), so that its parent waits,
 * too. Every run above the child asks the child's questions and stores them: a person who
 * answers need not know about the child. */
#ifndef CH_AGENT_CHILD_RUN_H
#define CH_AGENT_CHILD_RUN_H
#include "agent/run/parent.h"

/* Functions of ch_tool_ops for calls that are child runs. `start` opens a child, or
 * continues the child in call->doing. Each call leads to a result. */
void ch_child_run_open(const struct ch_child_kind *kind, chela_call *call, chela_run *run,
                       chela_agent *to);
void ch_child_run_go_on(chela_call *call);
void ch_child_run_refuse(chela_call *call, const char *type, const char *why);
void ch_child_run_cancel(chela_call *call);
void ch_child_run_abandon(chela_call *call);

#endif

/* child_run.h -- runs below a run: an agent as a tool of another, and a step of a
 * plan that is a run of its own.
 *
 *   run --- calls `researcher` ---> child session, a run of the same machine
 *    ^                                | events, questions, what it used: up
 *    |<---- result of the call -------' cancel, answers, budgets: down
 *
 * A child has a session of its own whose key is made from the call's, so that a
 * call which is made again after a crash finds the child where it stood, goes on
 * with it, or takes the answer that it gave. It may use what is left of the
 * limits of everybody above it, looked at before each of its steps, so that
 * children side by side share them too.
 *
 * A child that waits for people lets its call rest (ch_call_rest), and its caller
 * waits in turn. What it asks is asked in the name of every run above it, and
 * stored there: whoever answers need not know that there is a child. */
#ifndef CH_AGENT_CHILD_RUN_H
#define CH_AGENT_CHILD_RUN_H
#include "agent/run/parent.h"

/* For the ch_tool_ops of calls that are runs, which wind down. In `start`: open
 * one, or go on with the one that call->doing is. Each leads to a result. */
void ch_child_run_open(const struct ch_child_kind *kind, chela_call *call, chela_run *run,
                       chela_agent *to);
void ch_child_run_go_on(chela_call *call);
void ch_child_run_refuse(chela_call *call, const char *type, const char *why);
void ch_child_run_cancel(chela_call *call);
void ch_child_run_abandon(chela_call *call);

#endif

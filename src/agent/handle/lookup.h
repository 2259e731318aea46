/* lookup.h -- finds agents, sessions and runs of a runtime by name. */
#ifndef CH_AGENT_LOOKUP_H
#define CH_AGENT_LOOKUP_H
#include "agent/handle/agent.h"

/* The newest open agent with this id that is no override; NULL: none. */
chela_agent *ch_agent_find(const chela_runtime *rt, const char *id);
/* The agent at the end of a's chain of bases, or `a` itself. It outlives `a`. */
chela_agent *ch_agent_root(chela_agent *a);
/* The open session with this key; NULL: none. */
chela_session *ch_session_find(const chela_runtime *rt, struct ch_sv key);
/* The run with this id, if it is the run of the open session with this key; NULL: none. */
chela_run *ch_run_find(const chela_runtime *rt, const char *session, const char *id);

/* Counts work in progress up (busy) or down. The loop is held while the count is not 0. */
void ch_runtime_busy(chela_runtime *rt, bool busy);
/* Schedules ch_runtime_free_closed for the loop's next turn. */
void ch_runtime_free_soon(chela_runtime *rt);

#endif

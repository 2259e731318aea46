/* lookup.h -- finding agents, sessions and runs of a runtime by name, and making
 * names. */
#ifndef CH_AGENT_LOOKUP_H
#define CH_AGENT_LOOKUP_H
#include "agent/handle/agent.h"

/* The newest agent with this id that is not derived from another; NULL. */
chela_agent *ch_agent_find(const chela_runtime *rt, const char *id);
/* The agent that `a` was derived from in the end, which outlives it; or a itself. */
chela_agent *ch_agent_root(chela_agent *a);
/* The open session with this key; NULL. */
chela_session *ch_session_find(const chela_runtime *rt, const char *key);
/* The run with this id, of any open session; NULL. */
chela_run *ch_run_find(const chela_runtime *rt, const char *id);

/* One more thing, or one less, is in progress: the loop is held meanwhile. */
void ch_runtime_busy(chela_runtime *rt, bool busy);
/* Have ch_runtime_free_closed called on the loop's next turn. */
void ch_runtime_free_soon(chela_runtime *rt);

/* "run_3f9c..." from the system's random source; out holds 24 bytes. */
void ch_random_id(const char *prefix, char out[24]);

#endif

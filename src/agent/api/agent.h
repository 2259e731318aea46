/* agent.h -- agents made from options, and the end of an agent.
 *
 * chela_agent_close marks an agent. The agent is closed when no session, no derived
 * agent and no hold uses it. Loop thread only. */
#ifndef CH_AGENT_API_AGENT_H
#define CH_AGENT_API_AGENT_H
#include "agent/handle/agent.h"

/* chela_agent_new with options that were read. */
int ch_agent_open(chela_runtime *rt, const struct ch_agent_opts *opts, chela_agent **out,
                  struct chela_error *err);

/* Keep an agent in use although chela_agent_close was called, and end that. */
void ch_agent_hold(chela_agent *agent);
void ch_agent_release(chela_agent *agent);

/* Closes the agents that chela_agent_close marked and that nothing uses any more. */
void ch_agents_close_unused(chela_runtime *rt);

#endif

/* agent_parts.h -- parts of an agent that derived agents need too: the form of the
 * answer, and freeing all of it. */
#ifndef CH_AGENT_AGENT_PARTS_H
#define CH_AGENT_AGENT_PARTS_H
#include "agent/handle/agent.h"

/* The final answer has this JSON schema (NULL: any form); by: how the
 * model is told. */
int ch_agent_output(chela_agent *a, const char *schema, enum chela_output_by by,
                    struct chela_error *err);

/* Closes the agent's sessions at once; the memory goes with ch_runtime_free_closed, after
 * that of agents closed before it. So an agent is closed after those derived from it. */
void ch_agent_close(chela_agent *a);
void ch_agent_free(chela_agent *a); /* by ch_runtime_free_closed alone */

#endif

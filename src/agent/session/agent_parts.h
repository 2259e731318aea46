/* agent_parts.h -- parts of an agent that derived agents need too: the form of the
 * answer, and freeing all of it. */
#ifndef CH_AGENT_AGENT_PARTS_H
#define CH_AGENT_AGENT_PARTS_H
#include "agent/handle/agent.h"

/* The final answer has this JSON schema (NULL: any form); by: "native", "tool" or
 * NULL for whichever the model has. */
int ch_agent_output(chela_agent *a, const char *schema, const char *by, struct chela_error *err);

/* Closes the agent's sessions. Not from inside a callback. */
void ch_agent_free(chela_agent *a);

#endif

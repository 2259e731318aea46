/* agent_parts.h -- parts that agents and overrides share: the schema of the answer, closing
 * and freeing. */
#ifndef CH_AGENT_AGENT_PARTS_H
#define CH_AGENT_AGENT_PARTS_H
#include "agent/handle/agent.h"

/* Sets the JSON Schema of the final answer (NULL: free text). by: how the schema reaches
 * the model. */
int ch_agent_output(chela_agent *a, const char *schema, enum chela_output_by by,
                    struct chela_error *err);

/* Closes the agent's sessions at once. ch_runtime_free_closed frees the memory in the order
 * of closing, so overrides must be closed before their base. */
void ch_agent_close(chela_agent *a);
void ch_agent_free(chela_agent *a); /* called by ch_runtime_free_closed only */

#endif

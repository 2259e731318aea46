/* agent_override.h -- an agent for one conversation. */
#ifndef CH_AGENT_AGENT_OVERRIDE_H
#define CH_AGENT_AGENT_OVERRIDE_H
#include "agent/handle/agent.h"

struct ch_agent_override { /* NULL, 0: as the base has it */
    const char *system; /* added to the system prompt */
    const char *tool_choice;
    const double *temperature, *top_p;
    const int64_t *seed;
    int64_t max_output_tokens;
    enum chela_reasoning reasoning;
    const char *const *stop; /* NULL-terminated */
    const char *output_schema;
    const char *model; /* tried before the base's */
    struct ch_bounds bounds;
};
int ch_agent_override_new(chela_agent *base, const struct ch_agent_override *p, chela_agent **out,
                          struct chela_error *err);
/* A tool that the other side of the conversation runs; it takes the place of
 * one of the same name. Only for a derived agent. */
int ch_agent_override_client_tool(chela_agent *a, const struct chela_tool_opts *tool,
                                  struct chela_error *err);

#endif

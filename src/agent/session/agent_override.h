/* agent_override.h -- an agent for one conversation. */
#ifndef CH_AGENT_AGENT_OVERRIDE_H
#define CH_AGENT_AGENT_OVERRIDE_H
#include "agent/handle/agent.h"

struct ch_agent_override { /* NULL or 0: the base's setting */
    const char *system; /* appended to the system prompt */
    const char *tool_choice;
    const double *temperature, *top_p;
    const int64_t *seed;
    int64_t max_output_tokens, top_k;
    enum chela_reasoning reasoning;
    const char *const *stop; /* NULL-terminated */
    const char *output_schema;
    const char *model; /* put in front of the base's chain */
    /* Members for the body of a request in the protocol `passed_api`: `"a":1,"b":2`. */
    const char *passed, *passed_api;
    bool one_call;     /* the model is told to make one tool call at a time */
    struct ch_bounds bounds;
};
int ch_agent_override_new(chela_agent *base, const struct ch_agent_override *p, chela_agent **out,
                          struct chela_error *err);
/* Adds a tool that the client of the conversation runs. It replaces a tool of the agent with the
 * same name. CHELA_EINVAL: the client has another tool with that name. Only for overrides. */
int ch_agent_override_client_tool(chela_agent *a, const struct chela_tool_opts *tool,
                                  struct chela_error *err);

#endif

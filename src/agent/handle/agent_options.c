/* agent_options.c -- see agent_options.h. */
#include "agent/handle/agent_options.h"

#include "base/opts.h"

/* X(member): members with the same type in both structs. */
#define PLAIN(X)                                                                                   \
    X(id)                                                                                          \
    X(description)                                                                                 \
    X(model)                                                                                       \
    X(fallbacks)                                                                                   \
    X(base_url)                                                                                    \
    X(api_key)                                                                                     \
    X(api_key_env)                                                                                 \
    X(system)                                                                                      \
    X(workspace)                                                                                   \
    X(mode)                                                                                        \
    X(tools)                                                                                       \
    X(allow)                                                                                       \
    X(deny)                                                                                        \
    X(tool_choice)                                                                                 \
    X(approve)                                                                                     \
    X(permission)                                                                                  \
    X(reasoning)                                                                                   \
    X(max_output_tokens)                                                                           \
    X(temperature)                                                                                 \
    X(output_schema)                                                                               \
    X(sandbox)                                                                                     \
    X(heartbeat)

/* X(member, struct): members that the public struct has as pointers. */
#define GROUPS(X)                                                                                  \
    X(limits, chela_limits)                                                                        \
    X(loop_guard, chela_loop_guard)                                                                \
    X(request, chela_request_opts)                                                                 \
    X(prompt, chela_prompt_opts)                                                                   \
    X(toolset, chela_toolset_opts)                                                                 \
    X(approvals, chela_approval_opts)                                                              \
    X(queue, chela_queue_opts)                                                                     \
    X(compaction, chela_compaction_opts)                                                           \
    X(planning, chela_planning_opts)                                                               \
    X(team, chela_team_opts)                                                                       \
    X(gateway, chela_agent_gateway_opts)

int ch_agent_opts_read(const struct chela_agent_opts *given, struct ch_agent_opts *out,
                       struct chela_error *err) {
    struct chela_agent_opts o;
    int rc = CH_OPTS_READ(chela_agent_opts, &o, given, err);
    *out = (struct ch_agent_opts){0};
#define COPY(member) out->member = o.member;
    PLAIN(COPY)
#undef COPY
#define READ(member, type) \
    if (rc == 0)           \
        rc = CH_OPTS_READ(type, &out->member, o.member, err);
    GROUPS(READ)
#undef READ
    return rc;
}

void ch_agent_opts_write(const struct ch_agent_opts *from, struct ch_arena *a,
                         struct chela_agent_opts *out) {
    *out = (struct chela_agent_opts)CHELA_AGENT_OPTS(.id = NULL);
#define COPY(member) out->member = from->member;
    PLAIN(COPY)
#undef COPY
#define WRITE(member, type)                                        \
    {                                                              \
        struct type *group = ch_arena_alloc(a, sizeof(*group));    \
        *group = from->member;                                     \
        group->size = sizeof(*group);                              \
        out->member = group;                                       \
    }
    GROUPS(WRITE)
#undef WRITE
}

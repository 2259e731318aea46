/* agent_options.c -- see agent_options.h. */
#include "agent/handle/agent_options.h"

#include <math.h>

#include "base/error.h"
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
    X(apply)                                                                                       \
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

/* A number of the options. NaN is in no range. */
struct number {
    const char *name;
    double value;
};

/* A limit that a program computes, such as the rest of a budget, can become negative: that is
 * not the absence of a limit. */
static int check_limits(const struct ch_agent_opts *o, struct chela_error *err) {
    const struct chela_limits *l = &o->limits;
    const struct chela_loop_guard *g = &o->loop_guard;
    const struct number limits[] = {{"max_turns", (double)l->max_turns},
                                    {"max_tool_calls", (double)l->max_tool_calls},
                                    {"max_consecutive_errors", (double)l->max_consecutive_errors},
                                    {"token_budget", (double)l->token_budget},
                                    {"timeout_ms", (double)l->timeout_ms},
                                    {"cost_budget_usd", l->cost_budget_usd},
                                    {"repeats", (double)g->repeats},
                                    {"cycles", (double)g->cycles},
                                    {"texts", (double)g->texts},
                                    {"polls", (double)g->polls},
                                    {"unknown_tools", (double)g->unknown_tools}};
    for (size_t i = 0; i < CH_LEN(limits); i++)
        if (!(limits[i].value >= 0 || limits[i].value == -1))
            return ch_fail(err, CHELA_EINVAL, "%s: %g is no limit; -1 is none, 0 the default",
                           limits[i].name, limits[i].value);
    return 0;
}

/* The parameters of a request: finite, from 0 on. */
static int check_parameters(const struct ch_agent_opts *o, struct chela_error *err) {
    const struct number parameters[] = {{"temperature", o->temperature ? *o->temperature : 0},
                                        {"top_p", o->request.top_p ? *o->request.top_p : 0},
                                        {"top_k", (double)o->request.top_k},
                                        {"logprobs", (double)o->request.logprobs},
                                        {"max_output_tokens", (double)o->max_output_tokens}};
    for (size_t i = 0; i < CH_LEN(parameters); i++)
        if (!isfinite(parameters[i].value) || parameters[i].value < 0)
            return ch_fail(err, CHELA_EINVAL, "%s: %g is not a number from 0 on",
                           parameters[i].name, parameters[i].value);
    return 0;
}

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
    if (rc == 0)
        rc = check_limits(out, err);
    return rc < 0 ? rc : check_parameters(out, err);
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

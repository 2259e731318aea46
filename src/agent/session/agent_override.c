/* agent_override.c -- an agent for one conversation: another agent with changes.
 *
 * A request to the gateway may bring tools that its sender runs, text for the system prompt,
 * or a temperature. These apply to that conversation only. So the conversation gets a
 * derived agent, which borrows every unchanged part of its base; only the list of tools is
 * copied. The base agent must outlive the override. */
#include "agent/session/agent_override.h"

#include <assert.h>

#include "agent/handle/agent.h"
#include "agent/machine/run.h"
#include "model/provider/target.h"
#include "agent/run/feature.h"
#include "agent/session/agent_parts.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tool/builtin/chat/message.h"
#include "tool/call/function.h"

static void copy_stop(chela_agent *a, const char *const *stop) {
    size_t n = 0;
    while (stop[n])
        n++;
    a->stop = ch_arena_alloc(&a->arena, (n + 1) * sizeof(*a->stop));
    for (a->nstop = 0; a->nstop < n; a->nstop++)
        a->stop[a->nstop] = ch_arena_sv(&a->arena, ch_sv_str(stop[a->nstop]));
}

static void apply(chela_agent *a, const struct ch_agent_override *p) {
    a->bounds = p->bounds;
    ch_run_limits_bound(&a->limits, &p->bounds);
    ch_run_limits_lower(&a->timeout_ms, p->bounds.timeout_ms);
    if (p->system && *p->system)
        a->context.added = ch_arena_str(&a->arena, ch_sv_str(p->system));
    if (p->tool_choice)
        a->tool_choice = ch_arena_str(&a->arena, ch_sv_str(p->tool_choice));
    if (p->max_output_tokens)
        a->max_output_tokens = p->max_output_tokens;
    if (p->temperature) {
        a->has_temperature = true;
        a->temperature = *p->temperature;
    }
    if (p->top_p) {
        a->has_top_p = true;
        a->top_p = *p->top_p;
    }
    if (p->top_k)
        a->top_k = p->top_k;
    if (p->seed) {
        a->has_seed = true;
        a->seed = *p->seed;
    }
    if (p->reasoning != CHELA_REASONING_DEFAULT)
        a->reasoning = p->reasoning;
    if (p->one_call)
        a->parallel = 1;
    if (p->stop)
        copy_stop(a, p->stop);
    if (p->passed) {
        a->passed = ch_arena_str(&a->arena, ch_sv_str(p->passed));
        a->passed_api = ch_arena_str(&a->arena, ch_sv_str(p->passed_api));
    }
}

/* Puts another model in front of the chain. The target is in `patched`, which is freed with
 * the override. */
static int add_model(chela_agent *a, const char *spec, struct chela_error *err) {
    struct ch_target *t, **all;
    if (!spec)
        return 0;
    int rc = ch_target_new(&a->rt->providers, spec, NULL, &t, err);
    if (rc < 0)
        return rc;
    a->patched = ch_malloc(sizeof(struct ch_target *));
    a->patched[a->npatched++] = t;
    all = ch_arena_alloc(&a->arena, (a->ntargets + 1) * sizeof(*all));
    all[0] = t;
    memcpy(all + 1, a->targets, a->ntargets * sizeof(*all));
    a->targets = all;
    a->ntargets = CH_MIN(a->ntargets + 1, CH_LIMIT_MODELS);
    a->limits.models = (unsigned)a->ntargets;
    return 0;
}

int ch_agent_override_new(chela_agent *base, const struct ch_agent_override *p, chela_agent **out,
                          struct chela_error *err) {
    chela_agent *a = ch_memdup(base, sizeof(*a));
    a->base = base;
    a->link = (struct ch_link){0};
    a->arena = (struct ch_arena){0};
    a->ranking = (struct ch_ranking){0};
    a->context.index = (struct ch_bm25){0};
    a->context.printed = a->context.fingerprint = NULL;
    a->context.system = a->context.sections = a->context.head = a->context.tail = NULL;
    a->requests = NULL;
    a->patched = NULL;
    a->npatched = 0;
    a->own = NULL;
    ch_features_inherit(a);
    a->closed = a->untold = false;
    a->holds = 0;
    a->hooks = base->nhooks ? ch_memdup(base->hooks, base->nhooks * sizeof(*a->hooks)) : NULL;
    ch_list_init(&a->sessions);
    ch_list_init(&a->extensions);
    ch_list_add(&a->rt->agents, &a->link);
    ch_registry_share(&a->registry, &base->registry);
    int rc = ch_policy_init(&a->policy, base->policy.allow, base->policy.deny,
                            base->policy.permission, err);
    a->policy.absent = ch_channel_tool(&a->registry);
    if (rc == 0)
        rc = add_model(a, p->model, err);
    if (rc == 0)
        apply(a, p);
    if (rc == 0 && p->output_schema) {
        a->output = NULL;
        rc = ch_agent_output(a, p->output_schema, CHELA_OUTPUT_BY_DEFAULT, err);
    }
    if (rc < 0)
        ch_agent_close(a);
    else
        *out = a;
    return rc;
}

static bool is_same_tool(const struct ch_tool *t, const struct chela_tool_opts *opts) {
    struct ch_registry other = {0};
    bool same = ch_function_add(&other, opts, NULL) == 0 &&
                strcmp(other.tools[0]->schema, t->schema) == 0 &&
                strcmp(other.tools[0]->description, t->description) == 0;
    ch_registry_release(&other);
    return same;
}

int ch_agent_override_client_tool(chela_agent *a, const struct chela_tool_opts *tool,
                                  struct chela_error *err) {
    struct chela_tool_opts opts = *tool;
    assert(a->base);
    opts.flags = CHELA_TOOL_CLIENT | CH_TOOL_OF_CLIENT;
    opts.permission = CHELA_PERM_READ; /* the tool has no effect on this machine */
    const struct ch_tool *same = ch_registry_find(&a->registry, ch_sv_str(opts.name));
    if (same && same->flags & CH_TOOL_OF_CLIENT)
        return is_same_tool(same, &opts)
                   ? 0
                   : ch_fail(err, CHELA_EINVAL, "two different tools are named %s", opts.name);
    ch_registry_remove(&a->registry, opts.name);
    return ch_function_add(&a->registry, &opts, err);
}

/* agent_parts.c -- see agent_parts.h. */
#include "agent/session/agent_parts.h"

#include "agent/context/context.h"
#include "agent/context/tool_embedding.h"
#include "agent/handle/lookup.h"
#include "agent/journal/request_parts.h"
#include "agent/machine/output.h"
#include "model/provider/target.h"
#include "agent/run/feature.h"
#include "base/error.h"
#include "tool/call/buffers.h"
#include "tool/call/function.h"
#include "tool/registry/settings.h"

static int take_answer(chela_call *call, void *user) {
    (void)user;
    chela_result_details(call, chela_call_arguments(call));
    chela_result_printf(call, "The answer was accepted.");
    return 0;
}

/* Refuses a way of answering that no model of the agent supports, before the first run. */
static int check_output(const chela_agent *a, struct chela_error *err) {
    enum ch_output_way way;
    size_t tools = 0;
    int rc = 0;
    for (size_t i = 0; i < a->registry.n; i++)
        tools += ch_policy_permits(&a->policy, a->registry.tools[i]);
    for (size_t i = 0; rc == 0 && i < a->ntargets; i++)
        rc = ch_output_way(a->output,
                           &(struct ch_model_request){.endpoint = &a->targets[i]->ep,
                                                      .model = ch_sv_str(a->targets[i]->model),
                                                      .ntools = tools},
                           &way, err);
    return rc;
}

int ch_agent_output(chela_agent *a, const char *schema, enum chela_output_by by,
                    struct chela_error *err) {
    if (!schema)
        return 0;
    int rc = ch_output_new(schema, by, &a->output, err);
    if (rc == 0)
        rc = check_output(a, err);
    if (rc < 0 || !ch_output_has_tool(a->output))
        return rc;
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
            .name = CH_OUTPUT_TOOL,
            .description = "Give the final answer, which ends the work. Call it once, alone, when "
                           "everything else is done. Its arguments are the answer.",
            .schema = ch_output_schema(a->output), .fn = take_answer,
            .effect = CHELA_EFFECT_READ, .permission = CHELA_PERM_READ,
            .flags = CHELA_TOOL_ON_LOOP | CHELA_TOOL_TERMINATES);
    return ch_function_add(&a->registry, &tool, err);
}

static void free_targets(struct ch_target **targets, size_t n) {
    for (size_t i = 0; i < n; i++)
        ch_target_free(targets[i]);
    ch_free(targets);
}

void ch_agent_close(chela_agent *a) {
    ch_features_release(a); /* agents of roles borrow from this agent, so they are freed first */
    for (chela_session *s; (s = CH_LIST_FIRST(&a->sessions, chela_session, link));)
        chela_session_close(s);
    ch_list_del(&a->link);
    a->rt->closed_agents -= a->closed;
    ch_list_add(&a->rt->closed.agents, &a->link);
    ch_runtime_free_soon(a->rt);
}

void ch_agent_free(chela_agent *a) {
    ch_list_del(&a->link);
    for (struct ch_extension *t;
         (t = CH_LIST_FIRST(&a->extensions, struct ch_extension, link));)
        t->close(t);
    free_targets(a->patched, a->npatched);
    ch_registry_release(&a->registry);
    ch_ranking_release(&a->ranking);
    ch_policy_release(&a->policy);
    ch_arena_release(&a->arena);
    ch_free(a->hooks);
    if (!a->base || a->output != a->base->output)
        ch_output_free(a->output);
    ch_context_forget(a);
    ch_request_digests_free(a->requests);
    if (a->base) {
        ch_free(a);
        return;
    }
    free_targets(a->targets, a->ntargets);
    ch_tool_embedding_free(a->embedding);
    ch_skills_release(&a->skills);
    ch_settings_unref(a->settings);
    ch_buffers_unref(a->buffers);
    ch_policies_free(a->policies);
    ch_approvals_free(a->approvals);
    ch_target_free(a->summariser);
    ch_free(a->id);
    ch_free(a->workspace);
    ch_free(a->tool_choice);
    ch_free(a->memo);
    for (size_t i = 0; i < a->nstop; i++)
        ch_free((char *)a->stop[i].p);
    ch_free(a->stop);
    ch_free(a);
}

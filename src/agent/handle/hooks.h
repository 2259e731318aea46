/* hooks.h -- calls the host's hooks, all sets in order.
 *
 * Each function returns false if a hook returned CHELA_HALT (run->stop is set) or closed
 * the run (run->dead is set). */
#ifndef CH_AGENT_HOOKS_H
#define CH_AGENT_HOOKS_H
#include "agent/handle/run.h"

bool ch_hook_invalid(chela_run *run, struct chela_invalid_call *call);
/* True: a hook `before_tool` exists. */
bool ch_hook_awaits_tools(const chela_run *run);
bool ch_hook_before_tool(chela_run *run, struct chela_before_tool *call);
bool ch_hook_approve(chela_run *run, struct chela_approval *approval);
bool ch_hook_after_tool(chela_run *run, struct chela_after_tool *call);

/* Hooks of every turn. The inline functions do nothing for an agent without hooks. */
bool ch_hooks_before_model(chela_run *run, struct chela_turn_patch *patch);
bool ch_hooks_delta(chela_run *run, const struct chela_event *ev);
bool ch_hooks_after_model(chela_run *run, const struct chela_event *ev);
void ch_hooks_run_end(chela_run *run, const struct chela_event *ev);

static inline bool ch_hooks_any(const chela_run *run) {
    return run->session->agent->nhooks > 0;
}
static inline bool ch_hook_before_model(chela_run *run, struct chela_turn_patch *patch) {
    return !ch_hooks_any(run) || ch_hooks_before_model(run, patch);
}
static inline bool ch_hook_delta(chela_run *run, const struct chela_event *ev) {
    return !ch_hooks_any(run) || ch_hooks_delta(run, ev);
}
static inline bool ch_hook_after_model(chela_run *run, const struct chela_event *ev) {
    return !ch_hooks_any(run) || ch_hooks_after_model(run, ev);
}
static inline void ch_hook_run_end(chela_run *run, const struct chela_event *ev) {
    if (ch_hooks_any(run))
        ch_hooks_run_end(run, ev);
}

#endif

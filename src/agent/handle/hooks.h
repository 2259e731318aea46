/* hooks.h -- calling the host's hooks: all sets in order.
 *
 * False: a hook said halt, or the run was closed. */
#ifndef CH_AGENT_HOOKS_H
#define CH_AGENT_HOOKS_H
#include "agent/handle/run.h"

bool ch_hook_before_model(chela_run *run, struct chela_turn_patch *patch);
bool ch_hook_delta(chela_run *run, const struct chela_event *ev);
bool ch_hook_after_model(chela_run *run, const struct chela_event *ev);
bool ch_hook_invalid(chela_run *run, struct chela_invalid_call *call);
bool ch_hook_before_tool(chela_run *run, struct chela_before_tool *call);
bool ch_hook_approve(chela_run *run, struct chela_approval *approval);
bool ch_hook_after_tool(chela_run *run, struct chela_after_tool *call);
void ch_hook_run_end(chela_run *run, const struct chela_event *ev);

#endif

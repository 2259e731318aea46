/* step_tools.h -- the calls that only a plan makes.
 *
 *   make_plan    takes a plan into the conversation; a person may have to agree
 *   think_step   a step without a tool: answered from the results it depends on
 *   react_step   a step that is a run of its own, with tools: a child (delegate.h)
 *
 * They take the way of all calls, so they are journalled, cancelled and run side
 * by side like any other. No request describes them to a model. */
#ifndef CH_AGENT_STEP_TOOLS_H
#define CH_AGENT_STEP_TOOLS_H
#include "agent/feature/mode/plan_progress.h"
#include "agent/handle/agent.h"

#define CH_STEP_TOOLS CH_PLAN_TOOL "," CH_THINK_TOOL "," CH_REACT_TOOL

/* asks: a person must agree to each plan. */
int ch_step_tools_add(chela_agent *a, bool asks, struct chela_error *err);
/* make_plan; NULL: the agent has none of the tools. */
struct ch_tool *ch_step_tools_plan(const chela_agent *a);

#endif

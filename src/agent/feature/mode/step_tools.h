/* step_tools.h -- tools that only plans call.
 *
 *   make_plan    puts a plan into the conversation; a person may have to approve it
 *   think_step   a step without a tool: answered from the results it depends on
 *   react_step   a step that is a separate run with tools: a child (child_run.h)
 *
 * Their calls are executed like all calls, so they are stored, cancelled and run in
 * parallel. No request describes these tools to a model. */
#ifndef CH_AGENT_STEP_TOOLS_H
#define CH_AGENT_STEP_TOOLS_H
#include "agent/feature/mode/plan_progress.h"
#include "agent/handle/agent.h"

#define CH_STEP_TOOLS CH_PLAN_TOOL "," CH_THINK_TOOL "," CH_REACT_TOOL

/* Adds the tools to the agent. asks: a person has to approve each plan. */
int ch_step_tools_add(chela_agent *a, bool asks, struct chela_error *err);
/* The tool make_plan; NULL: the agent has none of these tools. */
struct ch_tool *ch_step_tools_plan(const chela_agent *a);

#endif

/* mode.h -- modes plan and route, and reflection.
 *
 *   PLAN     planner -> make_plan -> steps, in parallel where possible -> reflector
 *               ^                      ^                                |
 *               `------- replan -------+--------- retry_step -----------'
 *                                                                accept | escalate
 *                                         the answer, from the results <-' a question
 *   ROUTE    router -> a plan of one step | the planner | a question
 *
 * Modes use the engine of all runs. Before each model call `take_turn` reads the
 * conversation (plan_progress.h) and either takes the turn or leaves the turn to the model.
 * A turn that is taken asks a role (role.h), or consists of a reply that `take_turn` writes:
 * calls of the steps that can start. These calls are executed like all calls, so limits,
 * budgets, policy, approval, journal, cancel and recovery work as in any run. */
#ifndef CH_AGENT_MODE_H
#define CH_AGENT_MODE_H
#include "agent/run/feature.h"

/* The modes "plan" and "route", and reflection of runs in other modes. */
extern const struct ch_feature ch_plan_feature, ch_route_feature, ch_reflect_feature;

#endif

/* mode.h -- modes plan and route, and reflection.
 *
 *   PLAN     planner -> make_plan -> steps, in parallel where possible -> reflector
 *               ^                      ^                                |
 *               `------- replan -------+--------- retry_step -----------'
 *                                                                accept | escalate
 *                                         the answer, from the results <-' a question
 *   ROUTE    router -> a plan of one step | the planner | a question
 *
 * Modes are no second engine. Before each model call `take_turn` reads the conversation
 * (plan_progress.h) and either takes the turn or leaves it to the model. In a turn that
 * it takes it asks a role (role.h), or writes the reply itself: calls of the steps that
 * can start. These take the path of all calls, so limits, budgets, policy, approval,
 * journal, cancel and recovery are those of any run. */
#ifndef CH_AGENT_MODE_H
#define CH_AGENT_MODE_H
#include "agent/run/feature.h"

/* The modes "plan" and "route", and reflection of runs in other modes. */
extern const struct ch_feature ch_plan_feature, ch_route_feature, ch_reflect_feature;

#endif

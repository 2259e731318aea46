/* mode.h -- plan, route, reflect: what a run does in a turn that is not simply
 * the model's.
 *
 *   PLAN     planner -> make_plan -> steps, as many at once as can -> reflector
 *               ^                      ^                                |
 *               `------- replan -------+--------- retry_step -----------'
 *                                                                accept | escalate
 *                                              the answer, from results <-' a question
 *   ROUTE    router -> a plan of one step | the planner | a question
 *
 * None of this is a second engine. Before each model call the machine is asked
 * for, `take_turn` looks at the conversation (plan_progress.h) and either takes the
 * turn or leaves it to the model. A turn that it takes is one question to a role
 * (role.h), or a reply that it writes itself: calls of the steps that can begin,
 * which go the way of all calls. So limits, budgets, policy, approval, journal,
 * cancel and recovery are those of any run. */
#ifndef CH_AGENT_MODE_H
#define CH_AGENT_MODE_H
#include "agent/run/feature.h"

/* mode "plan", mode "route"; and reflection of runs in neither. */
extern const struct ch_feature ch_plan_feature, ch_route_feature, ch_reflect_feature;

#endif

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
 * for, ch_mode_turn looks at the conversation (plan_progress.h) and either takes the
 * turn or leaves it to the model. A turn that it takes is one question to a role
 * (role.h), or a reply that it writes itself: calls of the steps that can begin,
 * which go the way of all calls. So limits, budgets, policy, approval, journal,
 * cancel and recovery are those of any run. */
#ifndef CH_AGENT_MODE_H
#define CH_AGENT_MODE_H
#include "agent/handle/driver.h"

struct ch_moding; /* what a run knows beyond its conversation */

/* word: implicit on_error explicit; NULL: plans alone are judged. tools: names and
 * globs whose results are, NULL: none; borrowed. */
int ch_reflecting_read(const char *word, const char *tools, struct ch_reflecting *out,
                       struct chela_error *err);
int ch_mode_read(const char *word, enum ch_mode *out, struct chela_error *err);
const char *ch_mode_name(enum ch_mode m); /* "plan" */

/* The mode that a run of this agent began in, by its word in the journal (empty:
 * it does not say), and whether people wanted to see its plans. The agent gets the
 * tools for it. */
int ch_mode_recall(chela_agent *a, const char *word, bool asks, enum ch_mode *out,
                   struct chela_error *err);
bool ch_mode_asks(const chela_run *run); /* a person must agree to its plans */

/* Tools that the modes of an agent need. asks: as ch_mode_asks. */
int ch_mode_tools(chela_agent *a, bool asks, struct chela_error *err);
/* Their names, for ch_policy.own; NULL: the agent needs none. */
const char *ch_mode_own(const chela_agent *a);

/* A model call is due. True: the turn is taken, and ch_drive follows. */
bool ch_mode_turn(chela_run *run);
void ch_mode_abort(chela_run *run); /* drop what is under way */
void ch_mode_free(chela_run *run);
/* The model call that is due is for the answer alone: it has all it needs. */
bool ch_mode_answers(const chela_run *run);
/* An answer is judged before it is one. */
bool ch_mode_reviews(const chela_run *run);
/* Calls of the reply are steps of a plan. */
bool ch_mode_acts(const chela_run *run);
/* A call began, or ended. */
void ch_mode_call(chela_run *run, const struct ch_block *call, bool ended, bool failed);

#endif

/* planning.h -- plans: the planner's, their steps, and calls made of them. */
#ifndef CH_AGENT_PLANNING_H
#define CH_AGENT_PLANNING_H
#include "agent/feature/mode/mode_private.h"

void ch_planning_make(chela_run *run);                      /* ask the planner */
void ch_planning_take(chela_run *run, const struct ch_plan_steps *steps); /* this is the plan */
void ch_planning_run(chela_run *run, unsigned ready);       /* these steps, by bits */
void ch_planning_forget(struct ch_mode_state *k);

#endif

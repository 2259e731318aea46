/* planning.h -- plans: asking the planner, and executing steps. */
#ifndef CH_AGENT_PLANNING_H
#define CH_AGENT_PLANNING_H
#include "agent/feature/mode/mode_private.h"

void ch_planning_make(chela_run *run);                      /* asks the planner */
/* executes make_plan with these steps */
void ch_planning_take(chela_run *run, const struct ch_plan_steps *steps);
void ch_planning_run(chela_run *run, unsigned ready);       /* executes these steps (bits) */
void ch_planning_forget(struct ch_mode_state *k);

#endif

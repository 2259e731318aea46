/* judging.h -- judging of results by the reflector. */
#ifndef CH_AGENT_JUDGING_H
#define CH_AGENT_JUDGING_H
#include "agent/feature/mode/mode_private.h"

bool ch_judging_wanted(const chela_run *run);
void ch_judging_ask(chela_run *run); /* asks the reflector about the plan's results */
bool ch_judging_turn(chela_run *run); /* take_turn of runs without a plan */

#endif

/* act.h -- the tool calls of one reply. */
#ifndef CH_AGENT_ACT_H
#define CH_AGENT_ACT_H
#include "agent/handle/run.h"

void ch_act(chela_run *run); /* run the calls of run->reply */
/* All calls are answered: results into the transcript, m is told. */
void ch_act_done(chela_run *run);

#endif

/* act.h -- the tool calls of one reply. */
#ifndef CH_AGENT_ACT_H
#define CH_AGENT_ACT_H
#include "agent/handle/run.h"

extern const size_t ch_acting_size; /* of what run->acting is */
void ch_act_drop(chela_run *run);
void ch_act_heard(chela_run *run); /* somebody said something: the loop guard begins anew */
/* Who wrote the reply whose calls follow: a feature, or a model. */
void ch_act_written(chela_run *run, bool by_feature);
/* The journal is safe up to here: calls that wait for it may run. */
void ch_act_committed(chela_run *run, uint64_t seq);

void ch_act(chela_run *run); /* run the calls of run->reply */
/* All calls are answered: results into the transcript, m is told. */
void ch_act_done(chela_run *run);

#endif

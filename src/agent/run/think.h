/* think.h -- one model call of a run. */
#ifndef CH_AGENT_THINK_H
#define CH_AGENT_THINK_H
#include "agent/handle/run.h"

void ch_think(chela_run *run);       /* make the model call that m describes */
void ch_think_abort(chela_run *run); /* drop it, if any */
/* Parts of it, for turns that are not the model's (feature.h). False: the run is
 * over or gone. */
bool ch_think_deliver(chela_run *run); /* what waits for the model */
bool ch_think_note(chela_run *run, struct ch_sv text); /* a word of the runtime's own */
bool ch_think_open(chela_run *run); /* TURN_START, unless the turn has begun */
/* The run's answer, in words that its model did not choose. person: a person did. False:
 * the run is over or gone. */
bool ch_think_say(chela_run *run, struct ch_sv text, bool person);
void ch_think_reply(chela_run *run, struct ch_reply *r); /* as if a model had said so */
/* What was used in this turn, for TURN_END. cost negative: unknown. */
void ch_turn_charge(chela_run *run, const struct ch_usage *u, double cost);

#endif

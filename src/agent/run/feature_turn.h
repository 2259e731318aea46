/* feature_turn.h -- what a feature can do with a turn that it has taken.
 *
 * Each of the first five ends the turn; nothing of the run may be touched after it. */
#ifndef CH_AGENT_FEATURE_TURN_H
#define CH_AGENT_FEATURE_TURN_H
#include "agent/handle/run.h"

/* Go on to the next turn. */
void ch_feature_turn_next(chela_run *run);
/* A reply that no model wrote: these calls of tools, carried out like any others. */
void ch_feature_turn_calls(chela_run *run, const struct ch_block *calls, size_t n);
/* The run ends, and this text is its answer. */
void ch_feature_turn_say(chela_run *run, struct ch_sv text, enum ch_reason reason);
/* The run ends as it is. */
void ch_feature_turn_end(chela_run *run, enum ch_reason reason);
/* The run ends with an error. */
void ch_feature_turn_fail(chela_run *run, enum ch_reason reason, const char *why);

/* What a model that was asked on the run's behalf used: the run pays. */
void ch_feature_turn_charge(chela_run *run, const struct chela_usage *u);

#endif

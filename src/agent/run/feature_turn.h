/* feature_turn.h -- how a feature ends a turn that it has taken.
 *
 * Each of the first five functions ends the turn. The run may be gone afterwards, so the
 * caller must not use it. */
#ifndef CH_AGENT_FEATURE_TURN_H
#define CH_AGENT_FEATURE_TURN_H
#include "agent/handle/run.h"

/* Continue with the next turn. */
void ch_feature_turn_next(chela_run *run);
/* Executes these tool calls as if a model had requested them. */
void ch_feature_turn_calls(chela_run *run, const struct ch_block *calls, size_t n);
/* End the run with this text as its answer. */
void ch_feature_turn_say(chela_run *run, struct ch_sv text, enum ch_reason reason);
/* Complete the run with the answer so far. */
void ch_feature_turn_end(chela_run *run);
/* End the run with an error. */
void ch_feature_turn_fail(chela_run *run, enum ch_reason reason, const char *why);

/* Charge the run for a model call that was made on its behalf. */
void ch_feature_turn_charge(chela_run *run, const struct chela_usage *u);

#endif

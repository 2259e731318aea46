/* think.h -- one model call of a run. */
#ifndef CH_AGENT_THINK_H
#define CH_AGENT_THINK_H
#include "agent/handle/run.h"

extern const size_t ch_turn_size; /* of what run->turn is */
/* may_redo: the host can take back what it showed. */
void ch_think_init(chela_run *run, bool may_redo);
void ch_think_drop(chela_run *run); /* the reply that was decoded last */
void ch_think_release(chela_run *run);

void ch_think(chela_run *run);       /* make the model call that m describes */
void ch_think_compact(chela_run *run); /* make the history shorter instead */
void ch_think_abort(chela_run *run); /* drop it, if any */
/* Parts of it, for turns that are not the model's (feature.h). False: the run is
 * over or gone. */
bool ch_think_deliver(chela_run *run); /* what waits for the model */
bool ch_think_note(chela_run *run, struct ch_sv text); /* a word of the runtime's own */
bool ch_think_open(chela_run *run); /* TURN_START, unless the turn has begun */
bool ch_think_close(chela_run *run); /* TURN_END, if it has */
void ch_think_stopped(chela_run *run, enum chela_stop reason); /* what TURN_END will say */
/* The key that the last call was made with. */
const char *ch_think_key(const chela_run *run);
/* What the model is told is wrong with its reply. */
struct ch_buf *ch_think_complaint(chela_run *run);
/* Whether the next call is one for a follow-up: the run would have ended. */
bool ch_think_follows_up(const chela_run *run);
void ch_think_follow_up(chela_run *run, bool deliver);
/* The run's answer, in words that its model did not choose. person: a person did. False:
 * the run is over or gone. */
bool ch_think_say(chela_run *run, struct ch_sv text, bool person);
void ch_think_reply(chela_run *run, struct ch_reply *r); /* as if a model had said so */

#endif

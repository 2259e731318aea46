/* act.h -- executes the tool calls of one reply. */
#ifndef CH_AGENT_ACT_H
#define CH_AGENT_ACT_H
#include "agent/handle/run.h"

extern const size_t ch_acting_size; /* size of the part run->acting */
void ch_act_drop(chela_run *run);
void ch_act_heard(chela_run *run); /* a new message arrived: the loop detector starts again */
/* States, and tells, whether a feature or a model wrote the reply whose calls follow. */
void ch_act_written(chela_run *run, bool by_feature);
bool ch_act_by_feature(const chela_run *run);
/* The journal is committed up to seq: calls that wait for a position up to seq may run. */
/* A feature has decided about a call, or about its result (feature.h). */
void ch_act_unhold(chela_run *run, struct ch_sv id);
void ch_act_committed(chela_run *run, uint64_t seq);

/* The call at this index of a reply that is still received is closed: begins the call if it only
 * reads and asks no person. Hosts hear of the call with the complete reply. */
void ch_act_read_early(chela_run *run, size_t index, const struct ch_block *call);
void ch_act_drop_early(chela_run *run); /* the reply failed */
/* Emits TOOL_CALL for each call of the reply and counts the calls. False: the run is over. */
bool ch_act_tell(chela_run *run, const struct ch_msg *reply, unsigned *calls);
void ch_act(chela_run *run); /* executes the calls of run->reply */
/* The results that the calls of a paused run have so far; the caller frees the message. NULL: no
 * calls are executed. */
struct ch_msg *ch_act_results(chela_run *run);

#endif

/* think.h -- one model call of a run. */
#ifndef CH_AGENT_THINK_H
#define CH_AGENT_THINK_H
#include "agent/run/sending.h"

extern const size_t ch_think_size; /* size of the part run->turn */
/* may_redo: the host can withdraw text that it showed. */
void ch_think_init(chela_run *run, bool may_redo);
struct ch_sending *ch_think_sending(chela_run *run); /* of the current call */
void ch_think_drop(chela_run *run); /* releases the decoder with the last reply */
void ch_think_release(chela_run *run);

void ch_think(chela_run *run);         /* makes the model call that run->m describes */
void ch_think_compact(chela_run *run); /* compacts the history instead */
void ch_think_abort(chela_run *run);   /* aborts the call or compaction in flight, if any */
/* The same for a run that stops. for_good: no other process will ask for the same reply, so a job
 * of the service is cancelled there. */
void ch_think_stop(chela_run *run, bool for_good);
/* Parts of a turn, for features that take it (feature.h). False: the run is over or
 * gone. */
bool ch_think_deliver(chela_run *run);                 /* delivers queued messages and events */
bool ch_think_note(chela_run *run, struct ch_sv text); /* adds a note of the runtime */
bool ch_think_open(chela_run *run);  /* emits TURN_START, unless the turn is open */
bool ch_think_close(chela_run *run); /* emits TURN_END, if the turn is open */
/* An earlier process emitted TURN_START of the turn, which is still open. */
void ch_think_reopen(chela_run *run, unsigned turn, enum chela_stop reason);
void ch_think_stopped(chela_run *run, enum chela_stop reason); /* for TURN_END */
/* The API key of the last call. */
const char *ch_think_key(const chela_run *run);
/* The sources of the last reply, a JSON array; empty: none. */
struct ch_sv ch_think_citations(const chela_run *run);
/* The stop sequence that ended the last reply; NULL: none, or unknown. */
const char *ch_think_stop_sequence(const chela_run *run);
/* The text that tells the model the problem with its reply. */
struct ch_buf *ch_think_complaint(chela_run *run);
/* Whether the next call delivers a follow-up, because the run would have ended. */
bool ch_think_follows_up(const chela_run *run);
void ch_think_follow_up(chela_run *run, bool deliver);
/* Adds a text to the conversation as the run's answer. No model wrote the text; person: a
 * person did. False: the run has ended or was freed. */
bool ch_think_say(chela_run *run, struct ch_sv text, bool person);
/* The n-th block of reasoning of the last reply, from 0, as far as it was received; borrowed
 * until the next event. False: none. */
bool ch_think_reasoning(const chela_run *run, size_t n, struct ch_block *out);
/* The codec and the model of the last reply. */
struct ch_msg_author ch_think_author(const chela_run *run);
void ch_think_reply(chela_run *run, struct ch_reply *r); /* handles a reply */
/* A call is in flight: the model may have said something. */
bool ch_think_in_flight(const chela_run *run);
/* After ch_think_abort: adds the part of the reply received so far to the conversation,
 * marked as interrupted. False: the run has ended or was freed. */
bool ch_think_keep_said(chela_run *run);

#endif

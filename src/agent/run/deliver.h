/* deliver.h -- adds the messages that wait for a model call to the transcript: steering,
 * system events, follow-ups, and notes of the runtime.
 *
 * The functions return false if the history is full, or if a listener closed the run
 * (run->dead). */
#ifndef CH_AGENT_DELIVER_H
#define CH_AGENT_DELIVER_H
#include "agent/handle/run.h"

/* Adds the notes that the machine asks for, then all steering messages, then all system
 * events. A follow-up is added only if the run had ended otherwise, one at a time. complaint:
 * the problem with the last reply. While code of the service waits for results alone, the others
 * wait too. */
bool ch_deliver_waiting(chela_run *run, bool had_ended, struct ch_sv complaint);
/* Adds a note of the runtime. */
bool ch_deliver_note(chela_run *run, struct ch_sv text);
/* Makes text of the runtime a part of the newest message. */
bool ch_deliver_note_to_last(chela_run *run, struct ch_sv text);

#endif

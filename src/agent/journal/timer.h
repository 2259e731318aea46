/* timer.h -- resumes a paused run at a given time.
 *
 * The transaction that pauses the run writes a note of the session, "timer/DIGEST/TIME".
 * When the run is due, a gateway that uses the store turns the note into an inbox event with
 * the same id, so that exactly one gateway resumes the run (gateway/schedule/schedules.c).
 * Each pause has its own note: TIME is the time of the pause. A note has no effect if its
 * run was resumed for another reason. */
#ifndef CH_AGENT_TIMER_H
#define CH_AGENT_TIMER_H
#include "agent/handle/session.h"

#define CH_TIMER_NOTE "timer/"

/* True: a gateway of this process or another one resumes paused runs of the session at their
 * time. */
bool ch_timer_is_kept(const chela_session *s);

/* The session's run pauses and is resumed at `due` (wall clock, ms). */
void ch_timer_set(chela_session *s, int64_t due);

/* The time of a note, and the id of the agent, in the arena. INT64_MAX: the note is malformed. */
int64_t ch_timer_read(struct ch_sv note, struct ch_arena *arena, const char **agent);

#endif

/* timer.h -- a paused run that goes on at a time.
 *
 * The store has a note of the session, "timer/DIGEST/TIME", which is written in the
 * transaction that pauses the run. At the time, a gateway that has the store makes the note
 * an event of the inbox with the same id, so that one gateway resumes the run, once
 * (gateway/schedule/schedules.c). Each pause has a note of its own: TIME is the time of the
 * pause. A note whose run went on for another reason does nothing. */
#ifndef CH_AGENT_TIMER_H
#define CH_AGENT_TIMER_H
#include "agent/handle/session.h"

#define CH_TIMER_NOTE "timer/"

/* True: a gateway of this process or another one resumes paused runs of the session at their
 * time. */
bool ch_timer_is_kept(const chela_session *s);

/* The session's run pauses and goes on at `due` (wall clock, ms). */
void ch_timer_set(chela_session *s, int64_t due);

/* The time of a note, and the id of the agent, in the arena. INT64_MAX: the note is malformed. */
int64_t ch_timer_read(struct ch_sv note, struct ch_arena *arena, const char **agent);

#endif

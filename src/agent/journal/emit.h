/* emit.h -- emits the events of a run to its listener.
 *
 * A listener may close the session or call any other public function. After each of these
 * functions the caller checks run->dead and returns if it is set. */
#ifndef CH_AGENT_EMIT_H
#define CH_AGENT_EMIT_H
#include "agent/handle/run.h"

/* Numbers the event and passes it on. False: the run was closed (run->dead). */
bool ch_emit(chela_run *run, struct chela_event *ev);
/* The same, to a given listener. */
bool ch_emit_to(chela_run *run, struct chela_event *ev, chela_event_fn *fn, void *user);
/* Emits CHELA_EV_WARNING. */
void ch_emit_warning(chela_run *run, const char *fmt, ...) CHELA_PRINTF(2, 3);
/* Emits an event with the call's id, name and arguments. */
void ch_emit_call(chela_run *run, enum chela_event_type type, const struct ch_block *call);
/* Emits CHELA_EV_APPROVAL_REQUIRED. False: the run was closed. */
bool ch_emit_approval(chela_run *run, const struct chela_approval *a);

/* Wall clock, in milliseconds. The time stands still while run->stamp is set. */
int64_t ch_run_now(const chela_run *run);

#endif

/* emit.h -- events of a run, in order, to whoever listens.
 *
 * A listener may close the run's session, or do anything else that the interface
 * allows: after each of these functions the caller looks at run->dead and returns
 * if it is set. */
#ifndef CH_AGENT_EMIT_H
#define CH_AGENT_EMIT_H
#include "agent/handle/run.h"

/* Number the event and pass it on. False: the run was closed (run->dead). */
bool ch_emit(chela_run *run, struct chela_event *ev);
/* The same for a listener that may not be the run's any more. */
bool ch_emit_to(chela_run *run, struct chela_event *ev, chela_event_fn *fn, void *user);
/* CHELA_EV_WARNING. */
void ch_emit_warning(chela_run *run, const char *fmt, ...) CHELA_PRINTF(2, 3);
/* An event about a call: its id, name and arguments. */
void ch_emit_call(chela_run *run, enum chela_event_type type, const struct ch_block *call);
/* CHELA_EV_APPROVAL_REQUIRED. False: the run was closed. */
bool ch_emit_approval(chela_run *run, const struct chela_approval *a);

/* Wall clock, in milliseconds. */
int64_t ch_run_now(const chela_run *run);

#endif

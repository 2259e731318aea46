/* driver.h -- the run as it happens: performs what the machine decides.
 *
 * driver.c holds the middle: begin, step, interruption, end. think.c makes model calls,
 * act.c runs tool calls; each reports back through ch_driver_step(). Nothing here decides what
 * comes next. */
#ifndef CH_AGENT_DRIVER_H
#define CH_AGENT_DRIVER_H
#include "agent/handle/run.h"
#include "json/json.h"

/* state: the last STATE record of a run that an earlier process began; else NULL. */
int ch_run_new(chela_session *s, const struct chela_run_opts *opts, const struct ch_json *state,
               chela_run **out, struct chela_error *err);
/* Its session has another agent now: limits, policy and model are that one's. */
int ch_run_rebind(chela_run *run, struct chela_error *err);
/* The run goes on from run->past by take_up; began: its first message in the transcript. */
void ch_run_recalled(chela_run *run, size_t began, void (*take_up)(chela_run *run));
/* Who hears its events from now on. */
void ch_run_listen(chela_run *run, chela_event_fn *fn, void *user);
bool ch_run_begun(const chela_run *run); /* RUN_START was sent in this process */
/* An interruption that waits for the calls to end; CH_IN_INPUT: none. They have ended. */
enum ch_in ch_run_interruption(const chela_run *run);
void ch_run_interrupted(chela_run *run);
/* The run's parent has paused or is about to. No event of the run may be told until the
 * parent is resumed, so an interruption of the run waits until then. */
bool ch_run_parent_paused(const chela_run *run);
void ch_run_begin(chela_run *run); /* once it is admitted, not before the next iteration */
void ch_run_admit(chela_run *run); /* its session is open, or could not be opened */
void ch_run_committed(chela_run *run, uint64_t seq); /* the journal is safe up to here */
void ch_run_lost(chela_run *run, const struct chela_error *err); /* and no further */
void ch_run_close(chela_run *run);  /* its session is closed: stop at once, from anywhere */
void ch_run_retire(chela_run *run); /* it has ended, and its session has another run */
/* The session's part in the run ends, and its reference goes: by
 * ch_runtime_free_closed alone. */
void ch_run_part(chela_run *run);
chela_run *ch_run_ref(chela_run *run); /* returns run */
void ch_run_unref(chela_run *run);
void ch_driver_step(chela_run *run, const struct ch_input *in);
/* End the run from outside, at any step. Calls that are under way are cancelled first:
 * the transcript has a result for every call. Not inside a callback of the host's:
 * what its hooks and its calls ask for is run->stop. */
void ch_driver_interrupt(chela_run *run, enum ch_in kind, const char *why);
void ch_driver_stop(chela_run *run); /* what run->stop asks for: ch_driver_interrupt */
/* The runtime itself failed: end the run with err's message. */
void ch_driver_break(chela_run *run, const struct chela_error *err);
/* The fingerprint of what its model is told. */
const char *ch_run_prompt(chela_run *run);
/* The run's time does not pass while a person thinks: give back what it took. */
void ch_run_extend(chela_run *run, int64_t ms);

#endif

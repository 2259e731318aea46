/* driver.h -- performs the actions that the machine (machine/run.h) decides.
 *
 * driver.c begins, steps, interrupts and ends runs. think.c makes model calls, act.c
 * executes tool calls; both report back through ch_driver_step(). The machine alone decides
 * what comes next. */
#ifndef CH_AGENT_DRIVER_H
#define CH_AGENT_DRIVER_H
#include "agent/handle/run.h"
#include "json/json.h"

/* Creates a run. state: the last STATE record of a run that an earlier process began;
 * otherwise NULL. */
int ch_run_new(chela_session *s, const struct chela_run_opts *opts, const struct ch_json *state,
               chela_run **out, struct chela_error *err);
/* The session has another agent now: applies that agent's limits, policy and model. */
int ch_run_rebind(chela_run *run, struct chela_error *err);
/* The run will continue from run->past by calling take_up. began: index of its first
 * message in the transcript. mailed: number of messages up to the last answer that was sent
 * before a follow-up; 0: none. */
void ch_run_recalled(chela_run *run, size_t began, size_t mailed,
                     void (*take_up)(chela_run *run));
/* Time stamp of the run's first message, also after a recovery; 0: unknown. */
int64_t ch_run_began(const chela_run *run);
/* Sets the listener of the run's events. */
void ch_run_listen(chela_run *run, chela_event_fn *fn, void *user);
bool ch_run_begun(const chela_run *run); /* this process has sent RUN_START */
/* The interruption that waits for the tool calls to end (CH_IN_INPUT: none); the second
 * function clears it. */
enum ch_in ch_run_interruption(const chela_run *run);
void ch_run_interrupted(chela_run *run);
/* The run's parent has paused or is about to. No event of the run may be emitted until the
 * parent is resumed, so an interruption of the run waits until then. */
bool ch_run_parent_paused(const chela_run *run);
void ch_run_begin(chela_run *run); /* starts once admitted, on the loop's next turn at the
                                      earliest */
void ch_run_admit(chela_run *run); /* the session is open, or could not be opened */
void ch_run_committed(chela_run *run, uint64_t seq); /* the journal is committed up to seq */
void ch_run_lost(chela_run *run, const struct chela_error *err); /* the journal failed */
void ch_run_close(chela_run *run);  /* the session is closed: stops at once; any callback may
                                       call it */
void ch_run_retire(chela_run *run); /* the run has ended, and the session starts another one */
/* Drops the session's reference. Only ch_runtime_free_closed calls it. */
void ch_run_part(chela_run *run);
chela_run *ch_run_ref(chela_run *run); /* returns run */
void ch_run_unref(chela_run *run);
/* Feeds an input to the machine and performs the action that follows. */
void ch_driver_step(chela_run *run, const struct ch_input *in);
/* A feature that took the turn leaves it to the next feature, or to the model. */
void ch_driver_take_turn(chela_run *run);
/* Ends the run from outside, at any step. Calls in flight are cancelled first, so that the
 * transcript has a result for every call. Must not be called inside a callback of the host:
 * hooks and public functions set run->stop instead. */
void ch_driver_interrupt(chela_run *run, enum ch_in kind, const char *why);
void ch_driver_stop(chela_run *run); /* performs the interruption that run->stop asks for */
/* True if a callback has stopped or cancelled the run; run->stop is set. */
bool ch_driver_stops(chela_run *run);
/* True between chela_cancel and the interruption, which is certain to follow. */
bool ch_driver_cancelled(const chela_run *run);
/* The runtime failed: ends the run with err's message. */
void ch_driver_break(chela_run *run, const struct chela_error *err);
/* Fingerprint of the prompt that the model gets. */
const char *ch_run_prompt(chela_run *run);
/* Sets the limits on all tokens and on the cost of the run to these, or to the agent's if they
 * are lower. Negative: no limit. */
void ch_run_limit_spending(chela_run *run, int64_t tokens, double cost);
/* Moves the deadline by the time that a person took to answer. */
void ch_run_extend(chela_run *run, int64_t ms);

#endif

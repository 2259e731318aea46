/* background.h -- agents in the background: runs that a session started and that go on beside
 * it.
 *
 *   start --> running (pauses for people) --> ended: the session is told, as of a process
 *
 * The run belongs to a session of its own, whose key is derived from the call that started it.
 * Its limits are its agent's. STATE records of the starter list the run until its end was told
 * to the model. After a crash the run is resumed when the starter is opened again with an
 * agent that may start such runs. Loop thread only. */
#ifndef CH_AGENT_BACKGROUND_H
#define CH_AGENT_BACKGROUND_H
#include "agent/run/feature.h"

/* Lists the runs in STATE records. Agents that may call others have it. */
extern const struct ch_feature ch_background_feature;

/* Begins a run of `to` beside the session of `above`, whose consent settings apply.
 * CHELA_EEXIST: the run is in progress. CHELA_ELIMIT: too many are. */
int ch_background_start(chela_run *above, chela_agent *to, const char *key, struct ch_sv task,
                        const struct chela_run_opts *opts, struct chela_error *err);

#endif

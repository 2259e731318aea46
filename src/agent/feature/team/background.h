/* background.h -- agents in the background: runs that a session started and that go on beside
 * it.
 *
 *   start --> running (pauses for people) --> ended: the session gets a system event
 *
 * The run has its own session, whose key is derived from the call that started the run. The
 * limits are those of the run's agent. STATE records of the starting session list the run
 * until the model has been told about the end of the run. After a crash the run is resumed
 * when the starting session is opened again with an agent that may start such runs. Loop
 * thread only. */
#ifndef CH_AGENT_BACKGROUND_H
#define CH_AGENT_BACKGROUND_H
#include "agent/run/feature.h"

/* Lists the runs in STATE records. Agents that may call others have it. */
extern const struct ch_feature ch_background_feature;

/* Begins a run of agent `to` in the background of the session of `above`, with the consent
 * settings of `above`. CHELA_EEXIST: the run is in progress. CHELA_ELIMIT: too many runs are
 * in progress. */
int ch_background_start(chela_run *above, chela_agent *to, const char *key, struct ch_sv task,
                        const struct chela_run_opts *opts, struct chela_error *err);

#endif

/* takeover.h -- a person takes over a run. */
#ifndef CH_AGENT_TAKEOVER_H
#define CH_AGENT_TAKEOVER_H
#include "agent/handle/run.h"

/* A person ends the run with this text. Takes effect on the loop's next turn or, in a paused
 * run, when the run continues. */
void ch_takeover_request(chela_run *run, const char *text);
/* Makes the person's text the answer. Called before the machine gets CH_IN_TAKEN_OVER.
 * False: the run is gone. */
bool ch_takeover_apply(chela_run *run);
#define CH_TAKEOVER_RESULT "A person took over here, so this call was not made."

#endif

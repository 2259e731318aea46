/* takeover.h -- a person takes over a run. */
#ifndef CH_AGENT_TAKEOVER_H
#define CH_AGENT_TAKEOVER_H
#include "agent/handle/run.h"

/* A person ends the run with these words: soon, or once a paused one goes on. */
void ch_takeover_request(chela_run *run, const char *text);
/* Before the machine hears of it: the words become the answer. False: the run is gone. */
bool ch_takeover_apply(chela_run *run);
#define CH_TAKEOVER_RESULT "A person took over here, so this call was not made."

#endif

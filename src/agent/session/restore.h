/* restore.h -- a session as its journal has it: opening the journal, and taking over
 * what it tells. */
#ifndef CH_AGENT_RESTORE_H
#define CH_AGENT_RESTORE_H
#include "agent/handle/agent.h"

/* Open the session's journal, if the runtime has a store; or once more, after it
 * failed. */
void ch_restore_open(chela_session *s);

#endif

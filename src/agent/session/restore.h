/* restore.h -- opens the journal of a session and restores the session from it. */
#ifndef CH_AGENT_RESTORE_H
#define CH_AGENT_RESTORE_H
#include "agent/handle/agent.h"

/* Opens the session's journal if the runtime has a store, or opens it again after a
 * failure. */
void ch_restore_open(chela_session *s);

#endif

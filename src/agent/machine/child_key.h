/* child_key.h -- keys of the sessions that calls of a run open for runs of their own.
 *
 * A key is made from the key of the session above, the tool and the call, so a call
 * that is made again after a crash finds the session it had before:
 *
 *     KEY~TOOL-HEX                 a child of the session KEY
 *     KEY~TOOL-HEX~TOOL-HEX        a child of that child */
#ifndef CH_AGENT_CHILD_KEY_H
#define CH_AGENT_CHILD_KEY_H
#include "base/arena.h"

/* Makes the key in the arena. call_key: the call's idempotency key. */
const char *ch_child_key(const char *session, const char *tool, const char *call_key,
                         struct ch_arena *a);

#endif

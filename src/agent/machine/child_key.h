/* child_key.h -- session keys: which texts are keys, and the keys of child runs.
 *
 * A tool call that starts a child run opens a session for it. The session's key is derived
 * from the key of the parent session, the tool and the call, so a call that is repeated
 * after a crash finds the same session:
 *
 *     KEY~TOOL-HEX                 a child of the session KEY
 *     KEY~TOOL-HEX~TOOL-HEX        a child of that child */
#ifndef CH_AGENT_CHILD_KEY_H
#define CH_AGENT_CHILD_KEY_H
#include "base/arena.h"
#include "chela/error.h"

/* CHELA_EINVAL: the key is empty or too long, or has a control character or invalid UTF-8. */
int ch_session_key_check(struct ch_sv key, struct chela_error *err);

/* Makes the key in the arena. call_key: the call's idempotency key. */
const char *ch_child_key(const char *session, const char *tool, const char *call_key,
                         struct ch_arena *a);

#endif

/* eval_history.h -- opens the session of a trial. */
#ifndef CH_EVAL_HISTORY_H
#define CH_EVAL_HISTORY_H
#include "chela/session.h"
#include "eval/eval_case.h"

/* Opens a session with a new key, which begins with the history of the case. A session with a
 * history is not stored. CHELA_EINVAL: a message of the history is wrong. */
int ch_eval_history_open(chela_agent *agent, const struct ch_eval_case *c, chela_session **out,
                         struct chela_error *err);

#endif

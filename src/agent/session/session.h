/* session.h -- a conversation: opening, starting runs, closing. */
#ifndef CH_AGENT_SESSION_H
#define CH_AGENT_SESSION_H
#include "agent/handle/session.h"
#include "agent/journal/run_journal.h"

void ch_session_free(chela_session *s); /* by ch_runtime_free_closed alone */
void ch_session_opened(chela_session *s); /* its journal was read, or could not be */
/* chela_session_new; kept: in the runtime's store, if it has one. */
int ch_session_open(chela_agent *agent, const char *key, bool kept, chela_session **out,
                    struct chela_error *err);
/* chela_run_start with a message of any kind that a model can be shown next,
 * results of tools included. Takes input, also on failure. */
int ch_session_start(chela_session *s, struct ch_msg *input, const struct chela_run_opts *opts,
                     chela_run **out, struct chela_error *err);

/* Into the run's queue of steering or following messages. from: the message came through
 * chela_session_send, so it stays if the run ends first; NULL: it did not. */
int ch_session_enqueue(chela_run *run, bool follow_up, struct ch_msg *m, /* taken if it returns 0 */
                       const struct ch_inbound_origin *from);

/* Reads the options of a run and checks those of its inbound message. */
int ch_session_run_opts(const struct chela_run_opts *given, struct chela_run_opts *out,
                        struct chela_error *err);

#endif

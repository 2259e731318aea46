/* inbox.h -- internal functions of the inbox (chela/mailbox.h). */
#ifndef CH_AGENT_INBOX_H
#define CH_AGENT_INBOX_H
#include "agent/handle/session.h"
#include "chela/mailbox.h"

/* The event was stored in the session's journal at position seq. It is settled when seq is
 * committed. */
void ch_inbox_noted(chela_session *s, const char *event, uint64_t seq);
void ch_inbox_committed(chela_session *s, uint64_t seq);
void ch_inbox_forget(chela_session *s); /* the journal failed: nothing more is settled */

/* Checks event id and address of the options before a run starts or a message is queued.
 * CHELA_EEXIST: the session has the event already. */
int ch_inbox_check(chela_session *s, const struct chela_run_opts *opts, struct chela_error *err);

#endif

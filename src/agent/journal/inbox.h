/* inbox.h -- internal functions of the inbox (chela/mailbox.h). */
#ifndef CH_AGENT_INBOX_H
#define CH_AGENT_INBOX_H
#include "agent/handle/session.h"
#include "chela/mailbox.h"

/* The session takes up the event with the records that are appended in this iteration. If the
 * event does not wait for the session, the journal is lost. event may be NULL. */
void ch_inbox_take(chela_session *s, const char *event);

/* Checks event id and address of the options before a run starts or a message is queued. */
int ch_inbox_check(chela_session *s, const struct chela_run_opts *opts, struct chela_error *err);

#endif

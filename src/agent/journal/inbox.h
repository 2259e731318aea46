/* inbox.h -- the inside of chela/mailbox.h: events from outside. */
#ifndef CH_AGENT_INBOX_H
#define CH_AGENT_INBOX_H
#include "agent/handle/session.h"
#include "chela/mailbox.h"

/* Stored for its session with the record `seq`: settled once that is safe. */
void ch_inbox_noted(chela_session *s, const char *event, uint64_t seq);
void ch_inbox_committed(chela_session *s, uint64_t seq);
void ch_inbox_forget(chela_session *s); /* nothing is safe any more */

/* May what these options say be begun, or queued? CHELA_EEXIST: the session has
 * this event already. */
int ch_inbox_check(chela_session *s, const struct chela_run_opts *opts, struct chela_error *err);

#endif

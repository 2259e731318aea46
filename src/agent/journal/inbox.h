/* inbox.h -- the inside of chela/mailbox.h: events from outside. */
#ifndef CH_AGENT_INBOX_H
#define CH_AGENT_INBOX_H
#include "agent/handle/session.h"
#include "chela/mailbox.h"

/* The session takes up the event with the records that are appended in this iteration; if
 * it does not wait for the session, its journal is lost. event may be NULL. */
void ch_inbox_take(chela_session *s, const char *event);

/* May what these options say be begun, or queued? */
int ch_inbox_check(chela_session *s, const struct chela_run_opts *opts, struct chela_error *err);

#endif

/* mailbox.h -- the inside of chela/mailbox.h. */
#ifndef CH_AGENT_MAILBOX_H
#define CH_AGENT_MAILBOX_H
#include "agent/handle/agent.h"
#include "chela/mailbox.h"

struct ch_outbox;

void ch_outbox_free(struct ch_outbox *box); /* the journal was shut */

/* Of each message of a channel that was sent; note: the id that the other side gave.
 * Both are borrowed. fn NULL: nobody wants to know. */
typedef void ch_sent_fn(const struct chela_outbound *m, const char *note, void *user);
void ch_outbox_on_sent(chela_runtime *rt, const char *channel, ch_sent_fn *fn, void *user);

/* Something is on its way out, and not at rest after a failure. */
bool ch_outbox_is_sending(const chela_runtime *rt);
/* How many messages of that channel could not be sent so far. */
size_t ch_outbox_stuck(const chela_runtime *rt, const char *channel);

/* The run has its answer, of this turn: if somebody waits for one, it becomes a
 * message in the transaction that stores the run's state. */
void ch_outbox_answer(chela_run *run, unsigned turn, bool delivered);

/* Stored for its session with the record `seq`: settled once that is safe. */
void ch_inbox_noted(chela_session *s, const char *event, uint64_t seq);
void ch_inbox_committed(chela_session *s, uint64_t seq);
void ch_inbox_forget(chela_session *s); /* nothing is safe any more */

/* May what these options say be begun, or queued? CHELA_EEXIST: the session has
 * this event already. */
int ch_inbox_check(chela_session *s, const struct chela_run_opts *opts, struct chela_error *err);

/* Something of this session waits to be sent. */
bool ch_outbox_has(const chela_runtime *rt, const char *session);
/* Something of this channel does. */
bool ch_outbox_waits(const chela_runtime *rt, const char *channel);
/* Who was given to chela_outbox_channel as user sends something, and owes the receipt. */
bool ch_outbox_sends(const chela_runtime *rt, const void *user);

#endif

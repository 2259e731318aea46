/* outbox.h -- the inside of chela/mailbox.h: messages to the outside. */
#ifndef CH_AGENT_OUTBOX_H
#define CH_AGENT_OUTBOX_H
#include "agent/handle/run.h"
#include "chela/mailbox.h"

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
 * message in the transaction that stores the run's state. end: RUN_END as it will be. */
void ch_outbox_answer(chela_run *run, unsigned turn, const struct chela_event *end);

/* Something of this session waits to be sent. */
bool ch_outbox_has(const chela_runtime *rt, const char *session);
/* Something of this channel does. */
bool ch_outbox_waits(const chela_runtime *rt, const char *channel);
/* Who was given to chela_outbox_channel as user sends something, and owes the receipt. */
bool ch_outbox_sends(const chela_runtime *rt, const void *user);

#endif

/* outbox.h -- internal functions of the outbox (chela/mailbox.h). */
#ifndef CH_AGENT_OUTBOX_H
#define CH_AGENT_OUTBOX_H
#include "agent/handle/run.h"
#include "chela/mailbox.h"

void ch_outbox_free(struct ch_outbox *box); /* after the journal was shut */

/* Called for each message of a channel that was sent. note: the id that the chat service
 * gave it. Both are borrowed. fn NULL: no call. */
typedef void ch_sent_fn(const struct chela_outbound *m, const char *note, void *user);
void ch_outbox_on_sent(chela_runtime *rt, const char *channel, ch_sent_fn *fn, void *user);

/* Report each outcome of sending a message of this process to fn, until the message is sent or
 * given up. note may be NULL and is borrowed. fn NULL: no more reports. */
typedef void ch_receipt_fn(enum chela_receipt what, const char *note, void *user);
void ch_outbox_watch(chela_runtime *rt, const char *key, ch_receipt_fn *fn, void *user);

/* True: a message is being stored or sent. Messages that wait after a failure do not count. */
bool ch_outbox_is_sending(const chela_runtime *rt);
/* Number of messages of the channel whose sending has failed so far. *next_ms: the time until the
 * next attempt to send one of them. */
size_t ch_outbox_stuck(const chela_runtime *rt, const char *channel, int64_t *next_ms);

/* Queues the run's answer of this turn, if it has an address. The message is stored in the
 * transaction of the run's state. end: the RUN_END that will be emitted. */
void ch_outbox_answer(chela_run *run, unsigned turn, const struct chela_event *end);

/* True: the process that wrote the message left it to the process that has the connection
 * (CHELA_RECEIPT_ELSEWHERE). */
bool ch_outbox_is_elsewhere(const struct chela_store_item *item);

/* True: a message of this session waits to be sent. */
bool ch_outbox_has(const chela_runtime *rt, const char *session);
/* True: a message of this channel waits to be sent. */
bool ch_outbox_waits(const chela_runtime *rt, const char *channel);
/* True: the channel with this `user` is sending a message and owes its receipt. */
bool ch_outbox_sends(const chela_runtime *rt, const void *user);

#endif

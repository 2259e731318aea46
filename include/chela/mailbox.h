/* mailbox.h -- inbox and outbox of a channel: chats, mail, webhooks.
 *
 *   Inbox   chela_inbox_accept stores an event under its id; then the channel acknowledges
 *           the event to the sender. The channel sends the event into a session with the
 *           same id (event_id of struct chela_run_opts), which settles the event in the
 *           transaction of its record.
 *   Outbox  With answer_to of struct chela_run_opts, the answer of a run is stored together
 *           with the end of the run, under a key of its own. Then the channel sends the
 *           answer and reports the outcome with chela_outbox_receipt. chela_outbox_put does
 *           the same for other messages.
 *
 * After a crash, chela_store_items lists the events that were not settled and the messages
 * without a receipt. The channel handles each event as if it had just been accepted, and
 * passes each message to chela_outbox_recall, which sends it again under its key. A session
 * takes an event up and removes it from the inbox in one transaction. If an event is given
 * to its session a second time, the store refuses the transaction and the run ends with
 * store_error. Thus every event is handled once, and every message is sent at least once;
 * the receiver recognises a repetition by the key.
 *
 * The functions need a runtime with a store. They do not wait for the database and do not
 * call back before they return.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; texts are copied.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_MAILBOX_H
#define CHELA_MAILBOX_H
#include "chela/session.h"
#include "chela/store.h"
CHELA_BEGIN_DECLS

/* --- inbox */

/* An event from outside. */
struct chela_inbox_event {
    size_t size;         /* set by CHELA_INBOX_EVENT */
    const char *id;      /* unique over all channels: "feishu:om_12" */
    const char *session; /* key of the session that the event is for */
    const char *data;    /* what the channel needs to handle the event after a crash: UTF-8 */
    size_t n;            /* bytes of data */
};
#define CHELA_INBOX_EVENT(...) {.size = sizeof(struct chela_inbox_event), __VA_ARGS__}

/* Reports whether an event or message was stored. rc 0: stored; acknowledge the event and
 * handle it. CHELA_EEXIST: stored before; acknowledge the event and do nothing else. Other
 * codes: not stored; do not acknowledge the event. err states the reason and is borrowed
 * until the function returns. Called on the loop thread. */
typedef void chela_accepted_fn(int rc, const struct chela_error *err, void *user);

/* Store an event. If the function returns 0, fn is called exactly once, at the latest by
 * chela_runtime_close.
 * Ownership: event is copied; user is borrowed until fn is called.
 * Errors: CHELA_ESTATE: the runtime has no store. CHELA_EINVAL: the id, the session or the
 * data is wrong. CHELA_ELIMIT: the event is too large. */
CHELA_API int chela_inbox_accept(chela_runtime *rt, const struct chela_inbox_event *event,
                                 chela_accepted_fn *fn, void *user, struct chela_error *err);

/* Settle an event that was handled without sending it into a session.
 * Errors: CHELA_ESTATE: the runtime has no store. */
CHELA_API int chela_inbox_settle(chela_runtime *rt, const char *id, struct chela_error *err);

/* --- outbox */

/* A message to be sent. */
struct chela_outbound {
    size_t size;         /* set by CHELA_OUTBOUND */
    const char *key;     /* idempotency key: unique; the receiver gets the message once */
    const char *session; /* key of the session that the message belongs to */
    const char *channel; /* name of the channel, as in chela_outbox_channel */
    const char *to;      /* address, as the channel understands it; may be NULL */
    /* Of an answer: the text of the model and, if the run ended otherwise than with an answer,
     * a sentence that says so (RUN_END `ending`, event.h). */
    const char *text;
    /* Of an answer; NULL and 0 for other messages. status is RUNNING if the run continues
     * with messages that were sent to the session meanwhile. */
    const char *run, *error;
    enum chela_status status;
    enum chela_reason reason;
    /* Directives of the model for the channel, as in RUN_END (event.h): the id of a
     * message; URLs, and paths in the workspace. */
    const char *reply_to;
    const char *const *media;
    size_t nmedia;
    int voice;
    unsigned attempts; /* failed attempts so far; ignored by chela_outbox_put */
    /* Id of the call that needs consent and that the text describes: a person who may decide
     * should be able to answer. NULL: the message is not a question. */
    const char *approval;
};
#define CHELA_OUTBOUND(...) {.size = sizeof(struct chela_outbound), __VA_ARGS__}

/* Sends a message of a channel and reports the outcome with chela_outbox_receipt, once, at
 * once or later. m is borrowed until the function returns. Called on the loop thread. */
typedef void chela_send_fn(chela_runtime *rt, const struct chela_outbound *m, void *user);

/* Set the function that sends the messages of a channel. Messages of one session are sent
 * one after the other, in order. fn NULL: messages wait from now on.
 * Ownership: name is copied; user is borrowed until the function is called again or the
 * runtime is closed.
 * Errors: CHELA_EINVAL: the name is missing. */
CHELA_API int chela_outbox_channel(chela_runtime *rt, const char *name, chela_send_fn *fn,
                                   void *user, struct chela_error *err);

/* Store a message, then send it. fn (may be NULL) is called when the message is stored;
 * CHELA_EEXIST: a message with this key is stored already, and this one is not sent.
 * Ownership: m is copied; user is borrowed until fn is called.
 * Errors: CHELA_ESTATE: the runtime has no store. CHELA_EINVAL: key, session or channel is
 * missing. CHELA_ELIMIT: the message is too large, or too many messages wait. */
CHELA_API int chela_outbox_put(chela_runtime *rt, const struct chela_outbound *m,
                               chela_accepted_fn *fn, void *user, struct chela_error *err);

/* The outcome of an attempt to send a message. */
enum chela_receipt {
    CHELA_RECEIPT_SENT = 0,      /* the receiver has the message */
    CHELA_RECEIPT_UNCERTAIN = 1, /* no answer: the message is sent again later */
    CHELA_RECEIPT_REFUSED = 2,   /* the receiver refuses the message: no further attempt */
    CHELA_RECEIPT_ELSEWHERE = 3  /* not sent: another process has the connection. The message stays
                                  * in the store for a process that calls chela_outbox_recall */
};

/* Report the outcome of sending a message. note (may be NULL): the id that the receiver
 * assigned, or the reason for the failure. wait_ms: the least delay before the next
 * attempt, which is kept over a restart, at most an hour; 0: none. The delay grows with the
 * number of attempts. After ten attempts UNCERTAIN counts as REFUSED.
 * Errors: CHELA_ENOENT: no message with this key is being sent. CHELA_EINVAL: there is no
 * such outcome. */
CHELA_API int chela_outbox_receipt(chela_runtime *rt, const char *key, enum chela_receipt what,
                                   const char *note, int64_t wait_ms, struct chela_error *err);

/* Send a message that chela_store_items found in the outbox after a restart. Messages that
 * were refused are ignored; they stay in the outbox.
 * Ownership: item is copied.
 * Errors: CHELA_ESTATE: the runtime has no store. CHELA_EPARSE: the item is damaged.
 * CHELA_EINVAL, CHELA_ELIMIT: as for chela_outbox_put. */
CHELA_API int chela_outbox_recall(chela_runtime *rt, const struct chela_store_item *item,
                                  struct chela_error *err);

/* The number of messages that this process knows and that were not sent yet: at most 1,000.
 * Further answers are in the store only, for a later chela_outbox_recall. */
CHELA_API size_t chela_outbox_waiting(const chela_runtime *rt);

CHELA_END_DECLS
#endif

/* mailbox.h -- what comes from outside and goes there, so that nothing is lost
 * and nothing said twice. For channels: chats, mail, webhooks.
 *
 *   in    chela_inbox_accept stores an event under its id, then the sender is
 *         told that it was received. What is sent into a session with this id
 *         (chela_run_opts.event_id) is stored there, and the event is settled in
 *         the same transaction.
 *   out   With chela_run_opts.answer_to the answer of a run is stored together
 *         with its end, under a key of its own; then the channel sends it, and
 *         says what became of it. chela_outbox_put does that for other things.
 *
 * After a crash, chela_store_items has the events that nothing came of yet (deal
 * with each as if it had just been accepted) and the messages without a receipt
 * (chela_outbox_recall: each is sent again, under the key that it had). An event
 * that is in its session already does not wait any more: the store refuses a record
 * that would take it up once more, and its run ends with store_error. So every event
 * is dealt with once, and everything is sent at least once; the other side, or the
 * channel on its behalf, sees from the key what it has.
 *
 * All of it needs a runtime with a store. Loop thread only; no callback comes
 * from inside a call. */
#ifndef CHELA_MAILBOX_H
#define CHELA_MAILBOX_H
#include "chela/session.h"
#include "chela/store.h"
CHELA_BEGIN_DECLS

/* --- in */

struct chela_inbox_event {
    size_t size;         /* set by CHELA_INBOX_EVENT */
    const char *id;      /* one for each event, in all channels: "feishu:om_12" */
    const char *session; /* the key of the session that it is for */
    const char *data;    /* what is needed to deal with it after a crash: UTF-8 */
    size_t n;
};
#define CHELA_INBOX_EVENT(...) {.size = sizeof(struct chela_inbox_event), __VA_ARGS__}

/* rc 0: it is safe; acknowledge it, and go on. CHELA_EEXIST: it came before;
 * acknowledge it, and that is all. Others, with err: do not acknowledge it. */
typedef void chela_accepted_fn(int rc, const struct chela_error *err, void *user);

/* Texts are copied. CHELA_ESTATE without a store, CHELA_EINVAL, CHELA_ELIMIT:
 * fn is not called; otherwise it is, at the latest by chela_runtime_close. */
CHELA_API int chela_inbox_accept(chela_runtime *rt, const struct chela_inbox_event *event,
                                 chela_accepted_fn *fn, void *user, struct chela_error *err);

/* It was dealt with in another way than by sending it into its session. */
CHELA_API int chela_inbox_settle(chela_runtime *rt, const char *id, struct chela_error *err);

/* --- out */

struct chela_outbound {
    size_t size;         /* set by CHELA_OUTBOUND */
    const char *key;     /* idempotency key: one for each message, at most once sent */
    const char *session; /* the key of the session that it belongs to */
    const char *channel; /* its name, as in chela_outbox_channel */
    const char *to;      /* where to, in the channel's words; may be NULL */
    const char *text;    /* of an answer: what the model said, "" without */
    /* Of an answer; NULL for other messages. status: "running" when the run goes
     * on, with what was sent to the session meanwhile. */
    const char *run, *error;
    enum chela_status status;
    enum chela_reason reason;
    /* What the model wrote for the channel beside the words, as in RUN_END
     * (event.h): a message's id, URLs and paths in the workspace. */
    const char *reply_to;
    const char *const *media;
    size_t nmedia;
    int voice;
    unsigned attempts; /* that have failed so far; of chela_outbox_put: no matter */
    /* Id of a call that waits for a person's consent, which the text shows: whoever
     * may decide should be able to answer. NULL: it is no question. */
    const char *approval;
};
#define CHELA_OUTBOUND(...) {.size = sizeof(struct chela_outbound), __VA_ARGS__}

/* Send m, which is borrowed until this returns, and say what became of it:
 * chela_outbox_receipt, now or later, once. */
typedef void chela_send_fn(chela_runtime *rt, const struct chela_outbound *m, void *user);

/* Who sends the messages of a channel. Those of one session are sent one after
 * the other, in order. NULL: nobody from now on; what is there waits. */
CHELA_API int chela_outbox_channel(chela_runtime *rt, const char *name, chela_send_fn *fn,
                                   void *user, struct chela_error *err);

/* Store m, then send it. fn (may be NULL) is told when it is safe; CHELA_EEXIST:
 * a message with this key is there already, and this one is not sent. Texts are
 * copied. CHELA_ESTATE without a store, CHELA_EINVAL, CHELA_ELIMIT (too many
 * wait): fn is not called. */
CHELA_API int chela_outbox_put(chela_runtime *rt, const struct chela_outbound *m,
                               chela_accepted_fn *fn, void *user, struct chela_error *err);

enum chela_receipt {
    CHELA_RECEIPT_SENT = 0,      /* the other side has it */
    CHELA_RECEIPT_UNCERTAIN = 1, /* or did not answer: it is sent again, later */
    CHELA_RECEIPT_REFUSED = 2    /* it will never be taken: nobody tries again */
};
/* note: for people and programs, an id that the other side gave, or why it did
 * not work; may be NULL. wait_ms: not before then, 0: as the attempts suggest.
 * After ten attempts UNCERTAIN counts as REFUSED. CHELA_ENOENT: no
 * message with this key is being sent. */
CHELA_API int chela_outbox_receipt(chela_runtime *rt, const char *key, enum chela_receipt what,
                                   const char *note, int64_t wait_ms, struct chela_error *err);

/* What chela_store_items found in the outbox of an earlier process. Refused
 * messages stay there to be looked at, and are left alone. */
CHELA_API int chela_outbox_recall(chela_runtime *rt, const struct chela_store_item *item,
                                  struct chela_error *err);

/* Not sent yet, of what this process knows: at most 1,000. Answers beyond that
 * are in the store alone, for a later chela_outbox_recall. */
CHELA_API size_t chela_outbox_waiting(const chela_runtime *rt);

CHELA_END_DECLS
#endif

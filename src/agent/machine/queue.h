/* queue.h -- messages that wait for a run or a session, in order. */
#ifndef CH_AGENT_QUEUE_H
#define CH_AGENT_QUEUE_H
#include "agent/machine/media.h"
#include "agent/machine/message_origin.h"
#include "agent/machine/principal.h"
#include "base/list.h"

/* Messages in order of arrival, limited in number and size. */
struct ch_queue {
    struct ch_list list;
    size_t n, bytes;
};

static inline void ch_queue_init(struct ch_queue *q) {
    ch_list_init(&q->list);
    q->n = q->bytes = 0;
}
void ch_queue_release(struct ch_queue *q);
/* Adds the media of all messages to *sum. */
void ch_queue_media(const struct ch_queue *q, struct ch_media_total *sum);
/* True: m waits in the queue. */
bool ch_queue_has(const struct ch_queue *q, const struct ch_msg *m);
/* True: ch_queue_push would accept m. */
bool ch_queue_fits(const struct ch_queue *q, const struct ch_msg *m);
/* Adds m, whose first block must be a text. Takes ownership of m if it returns 0. */
int ch_queue_push(struct ch_queue *q, struct ch_msg *m);
/* Adds m, which a queue accepted before. The limits do not apply, because an acknowledged
 * message must not be lost. Takes ownership of m. */
void ch_queue_restore(struct ch_queue *q, struct ch_msg *m);
/* Sets the journal position of the newest message, and returns the position of the oldest;
 * 0: none. */
void ch_queue_mark(struct ch_queue *q, uint64_t seq);
uint64_t ch_queue_seq(const struct ch_queue *q);
/* Sets the principal of the newest message (taken), and returns the principal of the oldest;
 * NULL: the queue is empty. */
void ch_queue_set_principal(struct ch_queue *q, struct ch_principal principal);
const struct ch_principal *ch_queue_principal(const struct ch_queue *q);
/* Marks the newest message: if the run ends before the message is delivered, it goes back
 * to the session. to: address of the answer, or NULL. ch_queue_stays asks whether the
 * oldest message is marked. */
void ch_queue_keep(struct ch_queue *q, const char *to);
bool ch_queue_stays(const struct ch_queue *q);
/* Marks the newest message: the store's inbox holds it until the session takes it up.
 * ch_queue_is_of_inbox asks whether the oldest message is marked. */
void ch_queue_from_inbox(struct ch_queue *q);
bool ch_queue_is_of_inbox(const struct ch_queue *q);
/* The journal was lost: removes the messages that can be read again, namely those with a
 * record up to `safe` and those that the inbox holds. The others have no record any more. */
void ch_queue_lost(struct ch_queue *q, uint64_t safe);
char *ch_queue_take_to(struct ch_queue *q); /* of the oldest message; the caller frees it; NULL:
                                               none */
/* Sets the origin of the newest message (copied), and moves the origin of the oldest to
 * *origin, unless it is empty. */
void ch_queue_set_origin(struct ch_queue *q, const struct ch_message_origin *origin);
void ch_queue_take_origin(struct ch_queue *q, struct ch_message_origin *origin);
struct ch_sv ch_queue_text(const struct ch_queue *q); /* text of the oldest message; "": the
                                                         queue is empty */
/* Removes the oldest message and hands it to the caller. NULL: the queue is empty. */
struct ch_msg *ch_queue_pop(struct ch_queue *q);

#endif

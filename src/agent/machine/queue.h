/* queue.h -- messages that wait for a run or a session, in order. */
#ifndef CH_AGENT_QUEUE_H
#define CH_AGENT_QUEUE_H
#include "agent/machine/media.h"
#include "agent/machine/message_origin.h"
#include "agent/machine/principal.h"
#include "base/list.h"

/* Texts waiting to be delivered, in order. */
struct ch_queue {
    struct ch_list list;
    size_t n, bytes;
};

void ch_queue_init(struct ch_queue *q);
void ch_queue_release(struct ch_queue *q);
void ch_queue_media(const struct ch_queue *q, struct ch_media_total *sum); /* added to it */
/* Would it be taken? */
bool ch_queue_fits(const struct ch_queue *q, const struct ch_msg *m);
/* m, whose first block is a text, is taken if it returns 0. */
int ch_queue_push(struct ch_queue *q, struct ch_msg *m);
/* The journal's record of the message pushed last, and of the oldest; 0: none. */
void ch_queue_mark(struct ch_queue *q, uint64_t seq);
uint64_t ch_queue_seq(const struct ch_queue *q);
/* On whose behalf the message pushed last came (taken), and the oldest; NULL when
 * empty. */
void ch_queue_set_principal(struct ch_queue *q, struct ch_principal principal);
const struct ch_principal *ch_queue_principal(const struct ch_queue *q);
/* Mark the message pushed last, and ask about the oldest: if its run does not get
 * to deliver it, it goes on waiting in the session. to: where the answer to it
 * goes; NULL. */
void ch_queue_keep(struct ch_queue *q, const char *to);
bool ch_queue_stays(const struct ch_queue *q);
char *ch_queue_take_to(struct ch_queue *q); /* yours to ch_free; NULL */
/* What the message pushed last came with (copied). Of the oldest: in the place of
 * *about, if there is anything. */
void ch_queue_set_origin(struct ch_queue *q, const struct ch_message_origin *origin);
void ch_queue_take_origin(struct ch_queue *q, struct ch_message_origin *origin);
struct ch_sv ch_queue_text(const struct ch_queue *q); /* of the oldest; "" when empty */
/* The oldest message; the caller's from now on. NULL when empty. */
struct ch_msg *ch_queue_pop(struct ch_queue *q);

#endif

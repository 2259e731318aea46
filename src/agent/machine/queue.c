/* queue.c -- see queue.h. */
#include "agent/machine/queue.h"

#include "agent/machine/media.h"
#include "agent/machine/message_origin.h"
#include "agent/machine/principal.h"
#include "base/limits.h"

struct note {
    struct ch_link link;
    struct ch_msg *msg; /* owned: the first block is the text */
    uint64_t seq;
    struct ch_principal principal;
    bool stays;
    bool inbox; /* the store's inbox holds the message until the session takes it up */
    char *to; /* owned: address of the answer; NULL: none */
    struct ch_message_origin origin;
};

void ch_queue_release(struct ch_queue *q) {
    while (q->n > 0)
        ch_msg_free(ch_queue_pop(q));
}

bool ch_queue_has(const struct ch_queue *q, const struct ch_msg *m) {
    for (CH_LIST_EACH(k, &q->list))
        if (CH_CONTAINER(k, struct note, link)->msg == m)
            return true;
    return false;
}

bool ch_queue_fits(const struct ch_queue *q, const struct ch_msg *m) {
    return q->n < CH_LIMIT_QUEUE && ch_msg_words(m).n <= CH_LIMIT_INPUT &&
           (q->n == 0 || q->bytes + m->size <= CH_LIMIT_QUEUE_BYTES);
}

void ch_queue_restore(struct ch_queue *q, struct ch_msg *m) {
    struct note *note = ch_alloc(sizeof(*note));
    note->msg = m;
    ch_list_add(&q->list, &note->link);
    q->n++;
    q->bytes += m->size;
}

int ch_queue_push(struct ch_queue *q, struct ch_msg *m) {
    if (!ch_queue_fits(q, m))
        return CHELA_ELIMIT;
    ch_queue_restore(q, m);
    return 0;
}

void ch_queue_mark(struct ch_queue *q, uint64_t seq) {
    CH_CONTAINER(q->list.head.prev, struct note, link)->seq = seq;
}

void ch_queue_media(const struct ch_queue *q, struct ch_media_total *sum) {
    for (CH_LIST_EACH(k, &q->list))
        ch_media_count(CH_CONTAINER(k, struct note, link)->msg, sum);
}

uint64_t ch_queue_seq(const struct ch_queue *q) {
    const struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note ? note->seq : 0;
}

void ch_queue_set_principal(struct ch_queue *q, struct ch_principal principal) {
    CH_CONTAINER(q->list.head.prev, struct note, link)->principal = principal;
}

const struct ch_principal *ch_queue_principal(const struct ch_queue *q) {
    const struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note ? &note->principal : NULL;
}

void ch_queue_keep(struct ch_queue *q, const char *to) {
    struct note *note = CH_CONTAINER(q->list.head.prev, struct note, link);
    note->stays = true;
    note->to = ch_strdup(to);
}

char *ch_queue_take_to(struct ch_queue *q) {
    struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note ? CH_TAKE(note->to) : NULL;
}

bool ch_queue_stays(const struct ch_queue *q) {
    const struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note && note->stays;
}

void ch_queue_set_origin(struct ch_queue *q, const struct ch_message_origin *origin) {
    struct note *note = CH_CONTAINER(q->list.head.prev, struct note, link);
    note->origin = ch_message_origin_copy(origin);
}

void ch_queue_take_origin(struct ch_queue *q, struct ch_message_origin *origin) {
    struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    if (note)
        ch_message_origin_move(origin, &note->origin);
}

struct ch_sv ch_queue_text(const struct ch_queue *q) {
    const struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note ? ch_msg_words(note->msg) : CH_SV("");
}

static struct ch_msg *take_note(struct ch_queue *q, struct note *note) {
    ch_list_del(&note->link);
    q->n--;
    struct ch_msg *m = note->msg;
    q->bytes -= m->size;
    ch_principal_release(&note->principal);
    ch_free(note->to);
    ch_message_origin_release(&note->origin);
    ch_free(note);
    return m;
}

struct ch_msg *ch_queue_pop(struct ch_queue *q) {
    struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note ? take_note(q, note) : NULL;
}

void ch_queue_from_inbox(struct ch_queue *q) {
    CH_CONTAINER(q->list.head.prev, struct note, link)->inbox = true;
}

bool ch_queue_is_of_inbox(const struct ch_queue *q) {
    const struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note && note->inbox;
}

void ch_queue_lost(struct ch_queue *q, uint64_t safe) {
    for (struct ch_link *k = q->list.head.next, *next; k != &q->list.head; k = next) {
        struct note *note = CH_CONTAINER(k, struct note, link);
        next = k->next;
        if (note->inbox || (note->seq && note->seq <= safe))
            ch_msg_free(take_note(q, note));
        else
            note->seq = 0; /* its record is lost, and another record may get the position */
    }
}

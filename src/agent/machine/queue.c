/* queue.c -- messages that wait for their moment in a run. */
#include "agent/machine/queue.h"

#include "agent/machine/media.h"
#include "agent/machine/message_origin.h"
#include "agent/machine/principal.h"
#include "base/limits.h"

struct note {
    struct ch_link link;
    struct ch_msg *msg; /* owned: its first block is the text */
    uint64_t seq;
    struct ch_behalf behalf;
    bool stays;
    char *to; /* owned; NULL */
    struct ch_about about;
};

void ch_queue_init(struct ch_queue *q) {
    ch_list_init(&q->list);
    q->n = q->bytes = 0;
}

void ch_queue_release(struct ch_queue *q) {
    while (q->n > 0)
        ch_msg_free(ch_queue_pop(q));
}

bool ch_queue_fits(const struct ch_queue *q, const struct ch_msg *m) {
    return q->n < CH_LIMIT_QUEUE && m->blocks[0].text.n <= CH_LIMIT_INPUT &&
           (q->n == 0 || q->bytes + m->size <= CH_LIMIT_QUEUE_BYTES);
}

int ch_queue_push(struct ch_queue *q, struct ch_msg *m) {
    if (!ch_queue_fits(q, m))
        return CHELA_ELIMIT;
    struct note *note = ch_alloc(sizeof(*note));
    note->msg = m;
    ch_list_add(&q->list, &note->link);
    q->n++;
    q->bytes += m->size;
    return 0;
}

void ch_queue_mark(struct ch_queue *q, uint64_t seq) {
    CH_CONTAINER(q->list.head.prev, struct note, link)->seq = seq;
}

void ch_queue_shown(const struct ch_queue *q, struct ch_shown *sum) {
    for (CH_LIST_EACH(k, &q->list))
        ch_media_shown(CH_CONTAINER(k, struct note, link)->msg, sum);
}

uint64_t ch_queue_seq(const struct ch_queue *q) {
    const struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note ? note->seq : 0;
}

void ch_queue_for(struct ch_queue *q, struct ch_behalf behalf) {
    CH_CONTAINER(q->list.head.prev, struct note, link)->behalf = behalf;
}

const struct ch_behalf *ch_queue_whose(const struct ch_queue *q) {
    const struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note ? &note->behalf : NULL;
}

void ch_queue_keep(struct ch_queue *q, const char *to) {
    struct note *note = CH_CONTAINER(q->list.head.prev, struct note, link);
    note->stays = true;
    note->to = to ? ch_strdup(to) : NULL;
}

char *ch_queue_take_to(struct ch_queue *q) {
    struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note ? CH_TAKE(note->to) : NULL;
}

bool ch_queue_stays(const struct ch_queue *q) {
    const struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note && note->stays;
}

void ch_queue_about(struct ch_queue *q, const struct ch_about *about) {
    struct note *note = CH_CONTAINER(q->list.head.prev, struct note, link);
    note->about = ch_about_copy(about);
}

void ch_queue_take_about(struct ch_queue *q, struct ch_about *about) {
    struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    if (note)
        ch_about_move(about, &note->about);
}

struct ch_sv ch_queue_text(const struct ch_queue *q) {
    const struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    return note ? note->msg->blocks[0].text : CH_SV("");
}

struct ch_msg *ch_queue_pop(struct ch_queue *q) {
    struct note *note = CH_LIST_FIRST(&q->list, struct note, link);
    if (!note)
        return NULL;
    ch_list_del(&note->link);
    q->n--;
    struct ch_msg *m = note->msg;
    q->bytes -= m->size;
    ch_behalf_release(&note->behalf);
    ch_free(note->to);
    ch_about_release(&note->about);
    ch_free(note);
    return m;
}

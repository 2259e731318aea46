/* pending.c -- see pending.h. */
#include "store/pending.h"

#include "base/grow.h"
#include "base/mem.h"
#include "store/store.h"

bool ch_pending_is_empty(const struct ch_pending *p) {
    return !p->n && !p->ntakes && !p->nsends;
}

void ch_pending_release(struct ch_pending *p) {
    ch_arena_release(&p->data);
    ch_free(p->list);
    ch_free(p->takes);
    ch_free(p->sends);
    ch_free(p->senders);
    *p = (struct ch_pending){0};
}

void ch_pending_add(struct ch_pending *p, struct chela_store_record r) {
    CH_GROW(p->list, p->n, p->cap, 4);
    r.data = ch_arena_sv(&p->data, ch_sv(r.data, r.n)).p;
    r.sum = ch_record_sum(&r);
    p->list[p->n++] = r;
}

void ch_pending_take(struct ch_pending *p, const char *event) {
    p->takes = ch_realloc(p->takes, (p->ntakes + 1) * sizeof(*p->takes));
    p->takes[p->ntakes++] = ch_arena_str(&p->data, ch_sv_str(event));
}

void ch_pending_send(struct ch_pending *p, const char *id, struct ch_sv data, ch_change_fn *done,
                     void *user) {
    p->sends = ch_realloc(p->sends, (p->nsends + 1) * sizeof(*p->sends));
    p->senders = ch_realloc(p->senders, (p->nsends + 1) * sizeof(*p->senders));
    p->senders[p->nsends] = (struct ch_pending_sender){done, user};
    p->sends[p->nsends++] = (struct chela_store_send){.id = ch_arena_str(&p->data, ch_sv_str(id)),
                                                      .data = ch_arena_sv(&p->data, data).p,
                                                      .n = data.n};
}

void ch_pending_answer(const struct ch_pending *p, const struct chela_error *why) {
    for (size_t i = 0; i < p->nsends; i++)
        if (p->senders[i].done)
            p->senders[i].done(why ? why->code : p->sends[i].rc, why, p->senders[i].user);
}

/* undo_others.c -- see undo_others.h. */
#include "undo/undo_others.h"

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"

#define CLOCK_MS 20 /* the times of files are those of the last tick of the kernel's clock */

static void others_add(struct ch_undo_others *o, const struct ch_undo_change *c) {
    CH_GROW(o->claims, o->nclaims, o->cap, 16);
    uint32_t *first = ch_undo_table_find(&o->table, c->path);
    o->claims[o->nclaims++] = (struct ch_undo_claim){c, first ? *first : 0};
    if (first)
        *first = (uint32_t)o->nclaims;
    else
        ch_undo_table_put(&o->table, c->path, (uint32_t)o->nclaims);
}

/* alive: a program uses the record. A change without a signature is that of a message in progress,
 * or of a program that was killed. */
static void others_add_record(struct ch_undo_others *o, const struct ch_undo_record *r,
                              bool alive) {
    for (size_t i = 0; i < r->n; i++) {
        const struct ch_undo_message *m = &r->list[i];
        bool runs = alive && i + 1 == r->n && !m->ended;
        for (size_t k = 0; k < m->n && !m->undone; k++)
            if (m->changes[k].settled || runs)
                others_add(o, &m->changes[k]);
        if (runs && m->scanned && (!o->since || m->ts < o->since))
            o->since = m->ts;
    }
}

void ch_undo_others_load(struct ch_undo_others *o, const struct ch_undo_record *own,
                         const char *dir, int root) {
    o->list = ch_alloc(CH_LIMIT_UNDO_SLOTS * sizeof(*o->list));
    for (unsigned slot = 0; slot < CH_LIMIT_UNDO_SLOTS; slot++)
        if (slot != own->slot && ch_undo_record_peek(&o->list[o->n], dir, root, slot)) {
            const struct ch_undo_record *r = &o->list[o->n++];
            others_add_record(o, r, r->lock < 0);
        }
}

void ch_undo_others_release(struct ch_undo_others *o) {
    for (size_t i = 0; i < o->n; i++)
        ch_undo_record_close(&o->list[i]);
    ch_free(o->list);
    ch_free(o->claims);
    ch_undo_table_release(&o->table);
    *o = (struct ch_undo_others){0};
}

bool ch_undo_others_claim(const struct ch_undo_others *o, const struct ch_undo_change *c) {
    const uint32_t *first = ch_undo_table_find(&o->table, c->path);
    if (S_ISDIR(c->is.mode))
        return false; /* only an empty directory is removed */
    for (uint32_t i = first ? *first : 0; i; i = o->claims[i - 1].next) {
        const struct ch_undo_change *theirs = o->claims[i - 1].change;
        if ((theirs->owned || !c->owned) &&
            (!theirs->settled || ch_undo_sig_same(&theirs->is, &c->is)))
            return true;
    }
    return o->since && !c->owned && c->is.mode && c->is.ctime / 1000000 + CLOCK_MS >= o->since;
}

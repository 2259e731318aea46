/* key_table.c -- see key_table.h. Chained; new elements are added at the end of a chain, so that
 * elements with the same key keep their order. */
#include "base/key_table.h"

#include <string.h>

#include "base/mem.h"
#include "base/mix.h"

enum { FIRST_CAP = 16 };

static struct ch_keyed **slot_of(const struct ch_key_table *t, struct ch_sv key) {
    return &t->slots[ch_mix_text(0, key) & (t->cap - 1)];
}

static void place(struct ch_key_table *t, struct ch_keyed *e) {
    struct ch_keyed **at = slot_of(t, ch_sv_str(e->key));
    while (*at)
        at = &(*at)->next;
    e->next = NULL;
    *at = e;
}

static void grow(struct ch_key_table *t) {
    struct ch_key_table old = *t;
    t->cap = old.cap ? 2 * old.cap : FIRST_CAP;
    t->slots = ch_alloc(t->cap * sizeof(*t->slots));
    for (size_t i = 0; i < old.cap; i++)
        for (struct ch_keyed *e = old.slots[i], *next; e; e = next) {
            next = e->next;
            place(t, e);
        }
    ch_free(old.slots);
}

void ch_key_table_add(struct ch_key_table *t, struct ch_keyed *e, const char *key) {
    if (t->n >= t->cap)
        grow(t);
    e->key = key;
    place(t, e);
    t->n++;
}

void ch_key_table_del(struct ch_key_table *t, struct ch_keyed *e) {
    if (!e->key)
        return;
    struct ch_keyed **at = slot_of(t, ch_sv_str(e->key));
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    *e = (struct ch_keyed){0};
    t->n--;
}

struct ch_keyed *ch_key_table_find(const struct ch_key_table *t, struct ch_sv key) {
    struct ch_keyed *e = t->cap ? *slot_of(t, key) : NULL;
    while (e && !ch_sv_is(key, e->key))
        e = e->next;
    return e;
}

struct ch_keyed *ch_key_table_next(const struct ch_keyed *e) {
    struct ch_keyed *next = e->next;
    while (next && strcmp(next->key, e->key) != 0)
        next = next->next;
    return next;
}

void ch_key_table_release(struct ch_key_table *t) {
    ch_free(t->slots);
    *t = (struct ch_key_table){0};
}

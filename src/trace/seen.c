/* seen.c -- see seen.h. */
#include "trace/seen.h"

#include "base/mem.h"

static bool seen_put(struct ch_seen *s, uint64_t hash) {
    size_t i = (size_t)hash & (s->cap - 1);
    while (s->slots[i] && s->slots[i] != hash)
        i = (i + 1) & (s->cap - 1);
    bool added = !s->slots[i];
    s->slots[i] = hash;
    s->n += added;
    return added;
}

bool ch_seen_add(struct ch_seen *s, uint64_t hash) {
    struct ch_seen old = *s;
    if (2 * s->n >= s->cap) {
        s->cap = s->cap ? 2 * s->cap : 256;
        s->slots = ch_alloc(s->cap * sizeof(*s->slots));
        s->n = 0;
        for (size_t i = 0; i < old.cap; i++)
            if (old.slots[i])
                seen_put(s, old.slots[i]);
        ch_free(old.slots);
    }
    return seen_put(s, hash ? hash : 1);
}

void ch_seen_release(struct ch_seen *s) {
    ch_free(s->slots);
    *s = (struct ch_seen){0};
}

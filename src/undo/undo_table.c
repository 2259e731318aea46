/* undo_table.c -- see undo_table.h. Open addressing, linear probing, at most half full. */
#include "undo/undo_table.h"

#include <string.h>

#include "base/mem.h"

static uint32_t table_hash(const char *path) { /* FNV-1a */
    uint32_t h = 2166136261u;
    for (const unsigned char *p = (const unsigned char *)path; *p; p++)
        h = (h ^ *p) * 16777619u;
    return h;
}

uint32_t *ch_undo_table_find(const struct ch_undo_table *t, const char *path) {
    if (t->cap == 0)
        return NULL;
    uint32_t hash = table_hash(path);
    for (size_t i = hash & (t->cap - 1); t->slots[i].path; i = (i + 1) & (t->cap - 1))
        if (t->slots[i].hash == hash && strcmp(t->slots[i].path, path) == 0)
            return &t->slots[i].value;
    return NULL;
}

static void table_place(struct ch_undo_table *t, struct ch_undo_slot slot) {
    size_t i = slot.hash & (t->cap - 1);
    while (t->slots[i].path)
        i = (i + 1) & (t->cap - 1);
    t->slots[i] = slot;
}

static void table_resize(struct ch_undo_table *t, size_t cap) {
    struct ch_undo_table old = *t;
    t->cap = cap;
    t->slots = ch_alloc(t->cap * sizeof(*t->slots));
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].path)
            table_place(t, old.slots[i]);
    ch_free(old.slots);
}

void ch_undo_table_reserve(struct ch_undo_table *t, size_t n) {
    size_t cap = 64;
    while (cap < 2 * (n + 1))
        cap *= 2;
    if (cap > t->cap)
        table_resize(t, cap);
}

void ch_undo_table_put(struct ch_undo_table *t, const char *path, uint32_t value) {
    ch_undo_table_reserve(t, t->n + 1);
    table_place(t, (struct ch_undo_slot){.path = path, .hash = table_hash(path), .value = value});
    t->n++;
}

void ch_undo_table_release(struct ch_undo_table *t) {
    ch_free(t->slots);
    *t = (struct ch_undo_table){0};
}

/* undo_table.h -- a hash table from paths to numbers. */
#ifndef CH_UNDO_TABLE_H
#define CH_UNDO_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ch_undo_slot {
    const char *path; /* borrowed; NULL: empty */
    uint32_t hash, value;
};

struct ch_undo_table {
    struct ch_undo_slot *slots; /* owned */
    size_t n, cap;              /* cap: a power of two, or 0 */
};

/* The value of a path; NULL: none. Valid until the next ch_undo_table_put. */
uint32_t *ch_undo_table_find(const struct ch_undo_table *t, const char *path);
/* Add a path that the table lacks. path must live as long as the table. */
void ch_undo_table_put(struct ch_undo_table *t, const char *path, uint32_t value);
/* Make room for n paths. */
void ch_undo_table_reserve(struct ch_undo_table *t, size_t n);
void ch_undo_table_release(struct ch_undo_table *t);

#endif

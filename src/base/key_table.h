/* key_table.h -- an intrusive hash table: elements by a text key.
 *
 * Elements embed the entry. Several elements may have the same key. A zeroed table is empty; a
 * zeroed entry is in no table. */
#ifndef CH_BASE_KEY_TABLE_H
#define CH_BASE_KEY_TABLE_H
#include <stddef.h>

#include "base/sv.h"

struct ch_keyed {
    struct ch_keyed *next; /* in the slot */
    const char *key;       /* borrowed; NULL: in no table */
};
struct ch_key_table {
    struct ch_keyed **slots; /* owned */
    size_t cap, n;
};

/* Adds an element. The key must not change while the element is in the table. */
void ch_key_table_add(struct ch_key_table *t, struct ch_keyed *e, const char *key);
/* Removes an element, if the element is in the table. */
void ch_key_table_del(struct ch_key_table *t, struct ch_keyed *e);
/* The element with this key that was added first; NULL: none. */
struct ch_keyed *ch_key_table_find(const struct ch_key_table *t, struct ch_sv key);
/* The next element with the key of e; NULL: none. */
struct ch_keyed *ch_key_table_next(const struct ch_keyed *e);
/* Frees the table, not its elements. */
void ch_key_table_release(struct ch_key_table *t);

#endif

/* schema_names.h -- a fixed set of names with fast lookup.
 *
 * A name is reduced to its length and its first and last eight bytes, which are
 * the whole name up to sixteen bytes. A lookup is two multiplications, a load and
 * three comparisons. When the set is built, a multiplier is searched that
 * avoids collisions.
 *
 * Members mostly come in the order in which the schema lists them. A walk over
 * an object therefore tries the successor of the last name first: a
 * well-predicted comparison costs less than a table lookup. */
#ifndef CH_SCHEMA_SCHEMA_NAMES_H
#define CH_SCHEMA_SCHEMA_NAMES_H
#include <stdint.h>

#include "base/arena.h"
#include "base/word.h"

struct ch_name {
    uint64_t head, tail; /* first and last eight bytes; tail 0 below nine bytes */
    const char *s;       /* borrowed; NULL: a free slot */
    uint32_t n;
    uint32_t index;             /* position in the given order */
    const struct ch_name *next; /* the next name in the given order, or NULL */
    const struct ch_sub *sub;   /* data of the set's owner */
    uint64_t required;
};

struct ch_names {
    uint64_t multiplier;
    unsigned shift;
    uint32_t n;                  /* distinct names */
    const struct ch_name *first; /* NULL: the set is empty */
    /* 2^(64 - shift) slots, plus room for a cluster that runs past the end. */
    struct ch_name slots[];
};

/* names[i] gets index i; of equal names the last one is used. All names are
 * borrowed. */
struct ch_names *ch_names_new(struct ch_arena *a, const struct ch_sv *names, size_t n);

static inline void ch_name_words(const char *s, size_t n, uint64_t *head, uint64_t *tail) {
    if (n < 8) {
        *head = ch_word_load_part(s, n);
        *tail = 0;
    } else {
        *head = ch_word_load(s);
        *tail = n > 8 ? ch_word_load(s + n - 8) : 0;
    }
}

/* The hash of a name of more than sixteen bytes, with the bytes between its ends. */
uint64_t ch_name_hash_long(uint64_t hash, const char *s, size_t n, uint64_t multiplier);

/* Each part is multiplied for itself, so that names which collide under one multiplier do not
 * collide under the next: a set of names may come from a stranger. */
static inline uint64_t ch_name_hash(uint64_t head, uint64_t tail, const char *s, size_t n,
                                    uint64_t multiplier) {
    uint64_t hash = ((head ^ n) * multiplier ^ tail) * multiplier;
    return n > 16 ? ch_name_hash_long(hash, s, n, multiplier) : hash;
}

static inline bool ch_name_is(const struct ch_name *name, uint64_t head, uint64_t tail,
                              const char *s, size_t n) {
    return name->head == head && name->n == n && name->tail == tail &&
           (n <= 16 || memcmp(name->s + 8, s + 8, n - 16) == 0);
}

/* Look up s; NULL if s is not in the set. guess (may be NULL) is compared
 * first. */
__attribute__((always_inline)) static inline const struct ch_name *ch_names_find(
    const struct ch_names *names, const struct ch_name *guess, const char *s, size_t n) {
    uint64_t head, tail;
    ch_name_words(s, n, &head, &tail);
    if (guess && ch_name_is(guess, head, tail, s, n))
        return guess;
    size_t at = ch_name_hash(head, tail, s, n, names->multiplier) >> names->shift;
    for (const struct ch_name *e = &names->slots[at]; e->s; e++)
        if (ch_name_is(e, head, tail, s, n))
            return e;
    return NULL;
}

#endif

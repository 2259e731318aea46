/* identifiers.h -- the words of a text that are only of use exactly as they are:
 * paths, addresses, ids, versions, numbers of some length.
 *
 * A summary may tell everything else in its own words; these it must copy. So
 * they are found in what it replaces, and looked for in what it says. Found by
 * form alone: nothing here knows what a word means.
 *
 * Of many, those of a rare form are worth more than one of a series: among
 * ORD-10001 to ORD-10300 it is key_7f3a that will be asked for. */
#ifndef CH_PROMPT_IDENTIFIERS_H
#define CH_PROMPT_IDENTIFIERS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"

struct ch_identifier {
    struct ch_sv text; /* borrowed from what was read */
    uint64_t form;     /* alike for those of one series */
    unsigned weight;   /* the highest it was read with */
    unsigned seen;     /* how often */
};

struct ch_identifiers { /* zeroed: none */
    struct ch_identifier *list; /* owned; in the order they were first seen */
    size_t n, cap;
    uint32_t *slots; /* owned: a hash table of list's indexes + 1 */
    size_t nslots;
};

void ch_identifiers_release(struct ch_identifiers *s);

/* Add those of a text, which must outlive s. Each counts once; those beyond
 * CH_LIMIT_IDENTIFIERS are left out. */
void ch_identifiers_read(struct ch_identifiers *s, struct ch_sv text, unsigned weight);

bool ch_identifiers_have(const struct ch_identifiers *s, struct ch_sv word);

/* Whether it stands in a text as it is, not as a part of something longer. */
bool ch_identifier_stands_in(struct ch_sv text, struct ch_sv word);

/* The order of their worth: list's indexes, the best first, into order, which
 * has room for s->n. */
void ch_identifiers_rank(const struct ch_identifiers *s, uint32_t *order);

/* How many identifiers a text holds. */
size_t ch_identifiers_count(struct ch_sv text);

#endif

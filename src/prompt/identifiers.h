/* identifiers.h -- finds the words of a text that are useful only verbatim: paths,
 * addresses, ids, versions, long numbers.
 *
 * A summary may rephrase everything else, but must copy identifiers. So they are collected
 * from the text that a summary replaces, and looked up in the summary. They are recognized
 * by form alone, not by meaning.
 *
 * An identifier of a rare form is worth more than a member of a series: among ORD-10001 to
 * ORD-10300, key_7f3a is the one that will be needed. */
#ifndef CH_PROMPT_IDENTIFIERS_H
#define CH_PROMPT_IDENTIFIERS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"

struct ch_identifier {
    struct ch_sv text; /* borrowed from the text */
    uint64_t form;     /* hash of the form; equal within a series */
    unsigned weight;   /* the highest weight of its sources */
    unsigned seen;     /* number of occurrences */
};

struct ch_identifiers { /* zeroed: none */
    struct ch_identifier *list; /* owned; in order of first occurrence */
    size_t n, cap;
    uint32_t *slots; /* owned: hash table of indexes into list + 1 */
    size_t nslots;
};

void ch_identifiers_release(struct ch_identifiers *s);

/* Add the identifiers of a text, which must outlive s. Each is listed once; those beyond
 * CH_LIMIT_IDENTIFIERS are dropped. */
void ch_identifiers_read(struct ch_identifiers *s, struct ch_sv text, unsigned weight);

bool ch_identifiers_have(const struct ch_identifiers *s, struct ch_sv word);

/* True if word occurs in text verbatim, not as a part of a longer word. */
bool ch_identifier_stands_in(struct ch_sv text, struct ch_sv word);

/* Write the indexes of list to order, best first; order has room for s->n. */
void ch_identifiers_rank(const struct ch_identifiers *s, uint32_t *order);

/* Number of identifiers in a text. */
size_t ch_identifiers_count(struct ch_sv text);

#endif

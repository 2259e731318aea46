/* thesaurus.h -- words that a request uses for what a tool calls otherwise.
 *
 * The vocabulary of tools: "film" for "movie", and the Chinese words for what is
 * mostly described in English. The words and what they gain are in thesaurus.txt.
 * They help ranking only, where a related word counts less than the word itself. */
#ifndef CH_SEARCH_THESAURUS_H
#define CH_SEARCH_THESAURUS_H
#include <stddef.h>
#include <stdint.h>

struct ch_relation {
    uint64_t from, to; /* terms, tokenize.h */
    float weight;      /* of the one for the other, below 1 */
};

struct ch_thesaurus {
    struct ch_relation *list; /* owned, sorted by from */
    size_t n;
};

void ch_thesaurus_init(struct ch_thesaurus *t);
void ch_thesaurus_release(struct ch_thesaurus *t);

/* The relations of a term, *n of them. */
const struct ch_relation *ch_thesaurus_find(const struct ch_thesaurus *t, uint64_t term, size_t *n);

#endif

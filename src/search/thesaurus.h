/* thesaurus.h -- related words: words of a request that a tool's description
 * replaces by others.
 *
 * Examples: "film" for "movie", and Chinese words for terms that descriptions
 * mostly give in English. The word list and its measured gain are in
 * thesaurus.txt. Relations only affect ranking, where a related word counts
 * less than the word itself. */
#ifndef CH_SEARCH_THESAURUS_H
#define CH_SEARCH_THESAURUS_H
#include <stddef.h>
#include <stdint.h>

struct ch_relation {
    uint64_t from, to; /* terms, see tokenize.h */
    float weight;      /* weight of `to` relative to `from`, below 1 */
};

struct ch_thesaurus {
    struct ch_relation *list; /* owned, sorted by from */
    size_t n, room;
};

void ch_thesaurus_init(struct ch_thesaurus *t);
void ch_thesaurus_release(struct ch_thesaurus *t);

/* The relations of a term; *n receives their number. */
const struct ch_relation *ch_thesaurus_find(const struct ch_thesaurus *t, uint64_t term, size_t *n);

#endif

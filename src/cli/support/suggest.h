/* suggest.h -- finds the known name nearest to a misspelt one. */
#ifndef CH_CLI_SUGGEST_H
#define CH_CLI_SUGGEST_H
#include <stddef.h>

/* Offer the known names one by one; best is the nearest so far, or NULL if none is near
 * enough. Word and names are borrowed. */
struct ch_suggest {
    const char *word, *best;
    size_t word_n, best_n;
    unsigned distance; /* distance of best; initially the limit */
};

void ch_suggest_init(struct ch_suggest *s, const char *word, size_t n);
void ch_suggest_try(struct ch_suggest *s, const char *name, size_t n);

#endif

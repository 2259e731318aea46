/* suggest.h -- the nearest known name to a misspelt one. */
#ifndef CH_CLI_SUGGEST_H
#define CH_CLI_SUGGEST_H
#include <stddef.h>

/* Feed the known names one by one; best is the nearest so far, or NULL while
 * none is near enough to be what was meant. Word and names are borrowed. */
struct ch_suggest {
    const char *word, *best;
    size_t word_n, best_n;
    unsigned distance; /* of best; before that, what is not near enough */
};

void ch_suggest_init(struct ch_suggest *s, const char *word, size_t n);
void ch_suggest_try(struct ch_suggest *s, const char *name, size_t n);

#endif

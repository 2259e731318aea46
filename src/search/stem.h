/* stem.h -- reduce an English word to its stem: M. F. Porter's algorithm of
 * 1980 with his two later changes. "calculating" and "calculation" get the same
 * stem, which need not be an English word. */
#ifndef CH_SEARCH_STEM_H
#define CH_SEARCH_STEM_H
#include <stddef.h>

/* Stem a word of lower-case ASCII letters in place; returns the new length, at
 * most n. A word whose last byte is another one stays. */
size_t ch_stem(char *word, size_t n);

#endif

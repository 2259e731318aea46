/* stem.h -- an English word without its endings: M. F. Porter's algorithm of
 * 1980, with the two changes he made to it later. "calculating" and
 * "calculation" become the same word, which need not be a word of English. */
#ifndef CH_SEARCH_STEM_H
#define CH_SEARCH_STEM_H
#include <stddef.h>

/* Shorten a word of lower-case ASCII letters in place; returns its new length,
 * which is never more than n. */
size_t ch_stem(char *word, size_t n);

#endif

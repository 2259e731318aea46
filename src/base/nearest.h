/* nearest.h -- "did you mean ...?": the known word closest to a misspelt one.
 *
 *   struct ch_nearest near = ch_nearest(word);
 *   for (each known word)
 *       ch_nearest_try(&near, known);
 *   if (near.best.n) ...
 *
 * Closeness is the number of edits (insert, drop, change or swap neighbours),
 * letter case ignored: at most one, and one more for every three letters of a
 * word that has four or more. Ties go to the word tried first. */
#ifndef CH_BASE_NEAREST_H
#define CH_BASE_NEAREST_H
#include "base/sv.h"

struct ch_nearest {
    struct ch_sv word; /* borrowed */
    struct ch_sv best; /* borrowed from the call that gave it; empty: none */
    unsigned distance; /* of best; before that, one more than is accepted */
};

/* The number of edits between two words, of which the first CH_NEAREST_LONGEST
 * bytes count. */
#define CH_NEAREST_LONGEST 64
unsigned ch_edits(struct ch_sv a, struct ch_sv b);

struct ch_nearest ch_nearest(struct ch_sv word);
void ch_nearest_try(struct ch_nearest *n, struct ch_sv known);

#endif

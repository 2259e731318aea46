/* nearest.h -- "did you mean ...?": the known word closest to a misspelt word.
 *
 *   struct ch_nearest near = ch_nearest(word);
 *   for (each known word)
 *       ch_nearest_try(&near, known);
 *   if (near.best.n) ...
 *
 * The distance is the number of edits (insert, delete, change or swap
 * neighbours), ignoring letter case. At most one edit is accepted, and one more
 * for every three letters of a word of four or more letters. Of words with
 * equal distance the first one tried wins. */
#ifndef CH_BASE_NEAREST_H
#define CH_BASE_NEAREST_H
#include "base/sv.h"

struct ch_nearest {
    struct ch_sv word; /* borrowed */
    struct ch_sv best; /* borrowed from ch_nearest_try's caller; empty: none */
    unsigned distance; /* distance of best; without best, accepted maximum + 1 */
};

/* The number of edits between two words. Only the first CH_NEAREST_LONGEST
 * bytes are compared. */
#define CH_NEAREST_LONGEST 64
unsigned ch_edits(struct ch_sv a, struct ch_sv b);

struct ch_nearest ch_nearest(struct ch_sv word);
void ch_nearest_try(struct ch_nearest *n, struct ch_sv known);

#endif

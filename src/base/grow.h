/* grow.h -- arrays that grow by doubling.
 *
 * The owner keeps the array, the number of its entries and the number that have memory, and
 * frees the array with ch_free. The caller limits how many entries a peer can add. */
#ifndef CH_BASE_GROW_H
#define CH_BASE_GROW_H
#include "base/mem.h"

/* Makes sure that entry n has memory; cap: entries that have memory, at first 0. first: number
 * of entries of the first block. list, n and cap are evaluated more than once. A larger block is
 * not zeroed. */
#define CH_GROW(list, n, cap, first)                                           \
    do {                                                                       \
        if ((n) == (cap)) {                                                    \
            (cap) = (cap) ? 2 * (cap) : (first);                               \
            (list) = ch_realloc((list), (cap) * sizeof(*(list)));              \
        }                                                                      \
    } while (0)

#endif

/* schema_unique.h -- check that the elements of an array are distinct. */
#ifndef CH_SCHEMA_SCHEMA_UNIQUE_H
#define CH_SCHEMA_SCHEMA_UNIQUE_H
#include "schema/schema_run.h"

/* Whether all elements are distinct. If not, *a and *b are the indexes of two
 * equal elements. Subtracts the cost of the comparisons from *fuel; below 0:
 * given up. */
bool ch_all_unique(const struct ch_json *array, int64_t *fuel, uint64_t *a, uint64_t *b);

#endif

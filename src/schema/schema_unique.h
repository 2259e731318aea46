/* schema_unique.h -- are the elements of an array all different? */
#ifndef CH_SCHEMA_SCHEMA_UNIQUE_H
#define CH_SCHEMA_SCHEMA_UNIQUE_H
#include "schema/schema_run.h"

/* Are all elements different? If not, *a and *b are two that are equal. Takes
 * from *fuel what the comparisons cost; below 0: given up. */
bool ch_all_unique(const struct ch_json *array, int64_t *fuel, uint64_t *a, uint64_t *b);

#endif

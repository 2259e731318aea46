/* when_read.h -- parse the time expressions of when.h. */
#ifndef CH_BASE_WHEN_READ_H
#define CH_BASE_WHEN_READ_H
#include "base/when.h"

/* CHELA_EINVAL: the message names the column, counted from 1. */
int ch_when_read(struct ch_sv text, const struct ch_zone *zone, struct ch_when *out,
                 struct chela_error *err);

/* Parse a duration such as "1h30m" or "45s". Units: s, m, h, d, each at most
 * once, largest first. */
bool ch_duration_read(struct ch_sv text, int64_t *ms);

#endif

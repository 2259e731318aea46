/* when_read.h -- the texts of when.h. */
#ifndef CH_BASE_WHEN_READ_H
#define CH_BASE_WHEN_READ_H
#include "base/when.h"

/* CHELA_EINVAL names the column, counted from 1. */
int ch_when_read(struct ch_sv text, const struct ch_zone *zone, struct ch_when *out,
                 struct chela_error *err);

/* "1h30m", "45s": units s, m, h, d, each at most once, the largest first. */
bool ch_duration_read(struct ch_sv text, int64_t *ms);

#endif

/* when.h -- time expressions: a cron line, an interval, or a point in time.
 *
 *   30 7 * * mon-fri      minute, hour, day of the month, month, day of the week:
 *                         numbers or names, a-b, *, steps (a-b/2), lists (1,15)
 *   @hourly               @daily @midnight @weekly @monthly @yearly @annually
 *   every 1h30m           counted from 1970-01-01T00:00Z, so that all processes agree
 *                         on the times, also after a restart
 *   at 2027-03-01T09:00   once; local time of the zone, unless an offset is given
 *
 * If both kinds of day are restricted (neither field begins with a star), a day
 * that matches either field matches.
 *
 * Daylight saving time: a time inside the hour that clocks skip in spring is
 * due once, at the end of that hour. A time inside the hour that repeats in
 * autumn is due the first time only. A line whose hour field is a star follows
 * the clock instead: skipped times are not due, and repeated times are due
 * twice.
 *
 * Pure functions: no clock, no files. Times are milliseconds since 1970, UTC. */
#ifndef CH_BASE_WHEN_H
#define CH_BASE_WHEN_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"
#include "base/zone.h"
#include "chela/error.h"

enum ch_when_kind { CH_WHEN_CRON, CH_WHEN_EVERY, CH_WHEN_AT };

struct ch_when {
    enum ch_when_kind kind;
    uint64_t minutes; /* bit n: minute n; the other fields likewise */
    uint32_t hours, days, months, weekdays;
    bool either_day; /* both day fields are restricted */
    int64_t ms;      /* the interval, or the point in time */
};

#define CH_WHEN_NEVER INT64_MAX

/* The first due time after `after`, or CH_WHEN_NEVER. */
int64_t ch_when_next(const struct ch_when *w, const struct ch_zone *zone, int64_t after);

#endif

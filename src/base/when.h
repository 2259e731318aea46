/* when.h -- when something is due: a line of cron, an interval, or a moment.
 *
 *   30 7 * * mon-fri      minute, hour, day of the month, month, day of the week:
 *                         numbers or names, a-b, *, steps (a-b/2), lists (1,15)
 *   @hourly               @daily @midnight @weekly @monthly @yearly @annually
 *   every 1h30m           counted from 1970-01-01T00:00Z, so that everybody who
 *                         knows it agrees on when, whatever was restarted
 *   at 2027-03-01T09:00   once; in the zone, unless it says an offset
 *
 * If both days are restricted (neither begins with a star), either will do.
 *
 * Where clocks are put forward, what was due in the time that is left out is due
 * at its end, once; where they are put back, what is due in the time that comes
 * twice is due the first time. A line whose hours are all (a star) goes by what
 * clocks show instead: it leaves out what is left out, and is due both times.
 *
 * Pure: no clock and no file. Times are milliseconds since 1970, UTC. */
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
    uint64_t minutes; /* bit n: minute n; the others likewise */
    uint32_t hours, days, months, weekdays;
    bool either_day; /* both kinds of day are restricted */
    int64_t ms;      /* the interval, or the moment */
};

#define CH_WHEN_NEVER INT64_MAX

/* The first time after `after`; CH_WHEN_NEVER. */
int64_t ch_when_next(const struct ch_when *w, const struct ch_zone *zone, int64_t after);

#endif

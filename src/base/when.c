/* when.c -- compute the next due time; see when.h. */
#include "base/when.h"

#include "base/calendar.h"

#define MINUTE 60
#define DAY 86400
#define MOST_DAYS (9 * 366) /* February 29 may be eight years away */
#define ALL_HOURS 0xffffffu
#define LAST INT64_C(253402300799000) /* 9999-12-31T23:59:59Z */

static bool is_day(const struct ch_when *w, const struct ch_date *d) {
    bool day = w->days >> d->day & 1, weekday = w->weekdays >> d->weekday & 1;
    if (!(w->months >> d->month & 1))
        return false;
    return w->either_day ? day || weekday : day && weekday;
}

/* --- lines with any hour: follow the clock */

/* Advance towards the next local day. A change of offset may move its beginning
 * by an hour or two, so the last three hours of a day are searched minute by
 * minute. */
static int64_t past_day(int64_t utc, int64_t local) {
    int64_t left = DAY - local % DAY;
    return utc + (left > 3 * 3600 ? left - 2 * 3600 : MINUTE);
}

static int64_t next_shown(const struct ch_when *w, const struct ch_zone *z, int64_t after) {
    int64_t utc = after - after % MINUTE + MINUTE, end = after + (int64_t)MOST_DAYS * DAY;
    while (utc < end) {
        int64_t local = utc + ch_zone_at(z, utc).offset;
        struct ch_date d = ch_date_of(local);
        if (!is_day(w, &d))
            utc = past_day(utc - utc % MINUTE, local);
        else if (w->minutes >> d.minute & 1 && d.second == 0)
            return utc;
        else
            utc += MINUTE - d.second;
    }
    return CH_WHEN_NEVER;
}

/* --- lines with given hours */

/* The end of the skipped hour that contains the local time `local`. */
static int64_t gap_end(const struct ch_zone *z, int64_t local) {
    int before = ch_zone_at(z, local - DAY).offset, after = ch_zone_at(z, local + DAY).offset;
    int64_t low = local - after, high = local - before;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (ch_zone_at(z, middle).offset == before)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static int64_t moment_of(const struct ch_zone *z, int64_t local) {
    int64_t utc;
    return ch_zone_utc(z, local, &utc) == 0 ? gap_end(z, local) : utc;
}

static int64_t next_on(const struct ch_when *w, const struct ch_zone *z, int64_t midnight,
                       int64_t after) {
    for (int h = 0; h < 24; h++)
        for (int m = 0; w->hours >> h & 1 && m < 60; m++) {
            int64_t utc;
            if (!(w->minutes >> m & 1))
                continue;
            utc = moment_of(z, midnight + h * 3600 + m * MINUTE);
            if (utc > after)
                return utc;
        }
    return CH_WHEN_NEVER;
}

static int64_t next_meant(const struct ch_when *w, const struct ch_zone *z, int64_t after) {
    int64_t local = after + ch_zone_at(z, after).offset;
    int64_t midnight = local - local % DAY - DAY; /* the day before: clocks may be set back */
    for (int i = 0; i < MOST_DAYS; i++, midnight += DAY) {
        struct ch_date d = ch_date_of(midnight);
        int64_t utc = is_day(w, &d) ? next_on(w, z, midnight, after) : CH_WHEN_NEVER;
        if (utc != CH_WHEN_NEVER)
            return utc;
    }
    return CH_WHEN_NEVER;
}

int64_t ch_when_next(const struct ch_when *w, const struct ch_zone *z, int64_t after) {
    if (w->kind == CH_WHEN_AT)
        return w->ms > after ? w->ms : CH_WHEN_NEVER;
    if (after < 0)
        after = 0;
    if (after > LAST)
        return CH_WHEN_NEVER;
    if (w->kind == CH_WHEN_EVERY)
        return after - after % w->ms + w->ms;
    int64_t utc = w->hours == ALL_HOURS ? next_shown(w, z, after / 1000)
                                        : next_meant(w, z, after / 1000);
    return utc == CH_WHEN_NEVER ? utc : utc * 1000;
}

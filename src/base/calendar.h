/* calendar.h -- Gregorian dates without time zones and without the C library's
 * global state. Seconds count from 1970-01-01T00:00:00 of the caller's clock
 * (UTC or local), without leap seconds, as in Unix time. */
#ifndef CH_BASE_CALENDAR_H
#define CH_BASE_CALENDAR_H
#include <stdint.h>

#include "base/buf.h"

struct ch_date {
    int year, month, day; /* month 1-12, day 1-31 */
    int hour, minute, second;
    int weekday; /* 0 is Sunday */
    int yearday; /* 1-366 */
};

struct ch_date ch_date_of(int64_t seconds);
int64_t ch_date_seconds(const struct ch_date *d);     /* ignores weekday, yearday */
int ch_date_days(int year, int month);                /* days in a month */
const char *ch_date_weekday(const struct ch_date *d); /* "Sunday" */

/* ISO 8601 week number. *year receives the week's year, which may differ from
 * the date's. */
int ch_date_week(const struct ch_date *d, int *year);

/* Writes "2024-05-06T07:08:09", and then "Z" for offset 0 or an offset such as
 * "+08:00". */
void ch_date_write(struct ch_buf *out, const struct ch_date *d);
void ch_offset_write(struct ch_buf *out, int offset);

/* A time parsed from text. */
struct ch_time {
    struct ch_date date;
    bool has_date;   /* false: only a time of day */
    bool has_offset; /* the text has "Z" or "+08:00" */
    int offset;      /* seconds east of UTC */
};

/* Parse an ISO 8601 time: "2024-05-06", "2024-05-06T07:08:09.5+08:00" (a space
 * may replace the "T") or "07:08". False if the text has another form or names
 * a date that does not exist. */
bool ch_time_read(struct ch_sv text, struct ch_time *out);

/* Parse an offset of at most 18 hours: "+8", "+08:00", "-0530". */
bool ch_offset_read(struct ch_sv text, int *out);

#endif

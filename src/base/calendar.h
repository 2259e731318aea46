/* calendar.h -- dates of the Gregorian calendar, without time zones and
 * without the C library's global ones. Seconds count from 1970-01-01T00:00:00
 * of whatever clock is meant; no leap seconds, as Unix has it. */
#ifndef CH_BASE_CALENDAR_H
#define CH_BASE_CALENDAR_H
#include <stdint.h>

#include "base/buf.h"

struct ch_date {
    int year, month, day; /* 1-12, 1-31 */
    int hour, minute, second;
    int weekday; /* 0 is Sunday */
    int yearday; /* 1-366 */
};

struct ch_date ch_date_of(int64_t seconds);
int64_t ch_date_seconds(const struct ch_date *d);     /* weekday, yearday unused */
int ch_date_days(int year, int month);                /* in a month */
const char *ch_date_weekday(const struct ch_date *d); /* "Sunday" */

/* The week of ISO 8601; *year may differ from the date's. */
int ch_date_week(const struct ch_date *d, int *year);

/* "2024-05-06T07:08:09"; then "Z" for offset 0, else "+08:00". */
void ch_date_write(struct ch_buf *out, const struct ch_date *d);
void ch_offset_write(struct ch_buf *out, int offset);

/* What a time given as text says. */
struct ch_time {
    struct ch_date date;
    bool has_date;   /* else a time of the day alone */
    bool has_offset; /* "Z", "+08:00" */
    int offset;      /* seconds east of UTC */
};

/* ISO 8601: "2024-05-06", "2024-05-06T07:08:09.5+08:00", a space for the "T",
 * "07:08". False if it is none, or no date that exists. */
bool ch_time_read(struct ch_sv text, struct ch_time *out);

/* "+8", "+08:00", "-0530": at most 18 hours. */
bool ch_offset_read(struct ch_sv text, int *out);

#endif

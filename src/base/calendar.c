/* calendar.c -- see calendar.h. Days are counted in eras of 400 years that
 * begin on March 1, so that the leap day is the last day of its year. */
#include "base/calendar.h"

#define DAY 86400
#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* from 0000-03-01 to 1970-01-01 */

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static bool is_leap(int year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int ch_date_days(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days from 1970-01-01. */
static int64_t days_of(int year, int month, int day) {
    int64_t y = year - (month <= 2);
    int64_t era = floor_div(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS;
}

static void set_day(struct ch_date *d, int64_t days) {
    int64_t z = days + EPOCH_DAYS;
    int64_t era = floor_div(z, ERA_DAYS), of_era = z - era * ERA_DAYS;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / (ERA_DAYS - 1)) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* counted from March */

    d->day = (int)(of_year - (153 * month + 2) / 5 + 1);
    d->month = (int)(month < 10 ? month + 3 : month - 9);
    d->year = (int)(year + era * 400 + (d->month <= 2));
    d->weekday = (int)(days + 4 - 7 * floor_div(days + 4, 7)); /* day 0 was a Thursday */
    d->yearday = (int)(days - days_of(d->year, 1, 1) + 1);
}

struct ch_date ch_date_of(int64_t seconds) {
    int64_t days = floor_div(seconds, DAY);
    int rest = (int)(seconds - days * DAY);
    struct ch_date d = {.hour = rest / 3600, .minute = rest / 60 % 60, .second = rest % 60};

    set_day(&d, days);
    return d;
}

int64_t ch_date_seconds(const struct ch_date *d) {
    return days_of(d->year, d->month, d->day) * DAY + d->hour * 3600 + d->minute * 60 + d->second;
}

const char *ch_date_weekday(const struct ch_date *d) {
    static const char *const names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};

    return names[d->weekday];
}

/* A week belongs to the year of its Thursday. */
int ch_date_week(const struct ch_date *d, int *year) {
    struct ch_date thursday;

    set_day(&thursday, days_of(d->year, d->month, d->day) + 3 - (d->weekday + 6) % 7);
    *year = thursday.year;
    return (thursday.yearday - 1) / 7 + 1;
}

void ch_date_write(struct ch_buf *out, const struct ch_date *d) {
    ch_buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d", d->year, d->month, d->day, d->hour, d->minute,
                d->second);
}

void ch_offset_write(struct ch_buf *out, int offset) {
    int east = offset < 0 ? -offset : offset;

    if (offset == 0)
        ch_buf_addc(out, 'Z');
    else
        ch_buf_addf(out, "%c%02d:%02d", offset < 0 ? '-' : '+', east / 3600, east / 60 % 60);
}

/* --- reading ------------------------------------------------------------- */

/* Read exactly n digits. */
static bool calendar_digits(struct ch_sv *s, size_t n, int *out) {
    int v = 0;

    if (s->n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        v = v * 10 + s->p[i] - '0';
    }
    *s = ch_sv(s->p + n, s->n - n);
    *out = v;
    return true;
}

static bool calendar_eat(struct ch_sv *s, char c) {
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = ch_sv(s->p + 1, s->n - 1);
    return true;
}

static bool read_date(struct ch_sv *s, struct ch_date *d) {
    if (!calendar_digits(s, 4, &d->year) || !calendar_eat(s, '-') ||
        !calendar_digits(s, 2, &d->month) || !calendar_eat(s, '-') ||
        !calendar_digits(s, 2, &d->day))
        return false;
    return d->year >= 1 && d->month >= 1 && d->month <= 12 && d->day >= 1 &&
           d->day <= ch_date_days(d->year, d->month);
}

/* "07:08", "07:08:09", "07:08:09.5": the fraction is ignored. */
static bool calendar_read_clock(struct ch_sv *s, struct ch_date *d) {
    if (!calendar_digits(s, 2, &d->hour) || !calendar_eat(s, ':') ||
        !calendar_digits(s, 2, &d->minute))
        return false;
    if (calendar_eat(s, ':') && !calendar_digits(s, 2, &d->second))
        return false;
    if (s->n > 1 && (s->p[0] == '.' || s->p[0] == ','))
        for (calendar_eat(s, s->p[0]); s->n && s->p[0] >= '0' && s->p[0] <= '9';)
            calendar_eat(s, s->p[0]);
    return d->hour <= 23 && d->minute <= 59 && d->second <= 59;
}

bool ch_offset_read(struct ch_sv s, int *out) {
    int sign, hours, minutes = 0;

    if (s.n < 2 || (s.p[0] != '+' && s.p[0] != '-'))
        return false;
    sign = s.p[0] == '-' ? -1 : 1;
    s = ch_sv(s.p + 1, s.n - 1);
    bool one = s.n == 1 || s.p[1] == ':';
    if (!calendar_digits(&s, one ? 1 : 2, &hours))
        return false;
    if (s.n && (calendar_eat(&s, ':'), !calendar_digits(&s, 2, &minutes)))
        return false;
    if (s.n || minutes > 59 || hours * 60 + minutes > 18 * 60)
        return false;
    *out = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool read_offset(struct ch_sv s, struct ch_time *t) {
    s = ch_sv_trim(s);
    if (s.n == 0)
        return true;
    t->has_offset = true;
    return ch_sv_is(s, "Z") || ch_sv_is(s, "z") || ch_offset_read(s, &t->offset);
}

bool ch_time_read(struct ch_sv text, struct ch_time *out) {
    struct ch_sv s = ch_sv_trim(text);

    *out = (struct ch_time){.has_date = s.n > 4 && s.p[4] == '-'};
    if (!out->has_date)
        return calendar_read_clock(&s, &out->date) && read_offset(s, out);
    if (!read_date(&s, &out->date))
        return false;
    if (s.n == 0)
        return true;
    if (!calendar_eat(&s, 'T') && !calendar_eat(&s, 't') && !calendar_eat(&s, ' '))
        return false;
    return calendar_read_clock(&s, &out->date) && read_offset(s, out);
}

/* when_read.c -- see when_read.h. */
#include "base/when_read.h"

#include "base/calendar.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/when.h"

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                          "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct field {
    const char *name;
    int min, max;
    const char *const *names; /* names of min and the values after it; NULL: only numbers */
} fields[] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of the month", 1, 31, NULL},
    {"month", 1, 12, month_names},
    {"day of the week", 0, 7, day_names},
};

/* The position in the text, for error messages. */
struct reading {
    struct ch_sv all, rest;
    struct chela_error *err;
};

static int when_read_column(const struct reading *r) {
    return (int)(r->rest.p - r->all.p) + 1;
}

static bool at_end(const struct reading *r) {
    return r->rest.n == 0;
}

static void when_read_skip(struct reading *r, size_t n) {
    r->rest = ch_sv(r->rest.p + n, r->rest.n - n);
}

static bool when_read_eat(struct reading *r, char c) {
    if (at_end(r) || r->rest.p[0] != c)
        return false;
    when_read_skip(r, 1);
    return true;
}

static void when_read_skip_blanks(struct reading *r) {
    while (!at_end(r) && (r->rest.p[0] == ' ' || r->rest.p[0] == '\t'))
        when_read_skip(r, 1);
}

static bool when_read_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool when_read_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The word that an error message shows: up to the next special character. */
static struct ch_sv when_read_word(const struct reading *r) {
    size_t n = 0;
    while (n < r->rest.n && n < 20 && !strchr(" \t,-/", r->rest.p[n]))
        n++;
    return ch_sv(r->rest.p, n);
}

static int when_read_refuse(const struct reading *r, const struct field *f) {
    struct ch_sv w = when_read_word(r);
    if (w.n == 0)
        return ch_fail(r->err, CHELA_EINVAL, "column %d: a %s is missing: %d to %d%s",
                       when_read_column(r), f->name, f->min, f->max, f->names ? ", or a name" : "");
    return ch_fail(r->err, CHELA_EINVAL, "column %d: '%.*s' is no %s: %d to %d%s",
                   when_read_column(r), CH_SV_FMT(w), f->name, f->min, f->max,
                   f->names ? ", or a name" : "");
}

/* --- a line of cron */

static bool when_read_number(struct reading *r, int *out) {
    size_t n = 0;
    int v = 0;
    for (; n < r->rest.n && n < 4 && when_read_is_digit(r->rest.p[n]); n++)
        v = 10 * v + r->rest.p[n] - '0';
    if (n == 0 ||
        (n < r->rest.n && (when_read_is_digit(r->rest.p[n]) || when_read_is_letter(r->rest.p[n]))))
        return false;
    when_read_skip(r, n);
    *out = v;
    return true;
}

static bool when_read_name(struct reading *r, const struct field *f, int *out) {
    struct ch_sv w = when_read_word(r);
    for (int i = 0; f->names && f->names[i]; i++)
        if (ch_sv_eq_nocase(w, ch_sv_str(f->names[i]))) {
            *out = f->min + i;
            when_read_skip(r, w.n);
            return true;
        }
    return false;
}

static int when_read_value(struct reading *r, const struct field *f, int *out) {
    struct reading before = *r;
    if (!when_read_name(r, f, out) && !when_read_number(r, out))
        return when_read_refuse(&before, f);
    return *out < f->min || *out > f->max ? when_read_refuse(&before, f) : 0;
}

static int when_read_step(struct reading *r, const struct field *f, int *step) {
    struct reading before = *r;
    if (when_read_number(r, step) && *step >= 1 && *step <= f->max)
        return 0;
    return ch_fail(r->err, CHELA_EINVAL, "column %d: a step is 1 to %d", when_read_column(&before),
                   f->max);
}

/* "*", "5", "1-5" or "fri-sun", optionally followed by a step such as "/2". */
static int when_read_part(struct reading *r, const struct field *f, uint64_t *bits) {
    int first = f->min, last = f->max, step = 1, start = when_read_column(r);
    if (!when_read_eat(r, '*')) {
        int rc = when_read_value(r, f, &first);
        bool range = rc == 0 && when_read_eat(r, '-');
        if (range)
            rc = when_read_value(r, f, &last);
        else
            last = rc == 0 && !at_end(r) && r->rest.p[0] == '/' ? f->max : first;
        if (rc < 0)
            return rc;
        if (range && f->max == 7 && last == 0 && first > 0)
            last = 7; /* fri-sun, but not sun-sun */
        if (last < first)
            return ch_fail(r->err, CHELA_EINVAL, "column %d: the range ends before it begins",
                           start);
    }
    if (when_read_eat(r, '/')) {
        int rc = when_read_step(r, f, &step);
        if (rc < 0)
            return rc;
    }
    for (int v = first; v <= last; v += step)
        *bits |= (uint64_t)1 << v;
    return 0;
}

static int read_field(struct reading *r, const struct field *f, uint64_t *bits, bool *star) {
    when_read_skip_blanks(r);
    if (at_end(r))
        return ch_fail(r->err, CHELA_EINVAL,
                       "column %d: the %s is missing: a line of cron has "
                       "minute, hour, day of the month, month and day of the week",
                       when_read_column(r), f->name);
    *star = r->rest.p[0] == '*';
    do {
        int rc = when_read_part(r, f, bits);
        if (rc < 0)
            return rc;
    } while (when_read_eat(r, ','));
    if (at_end(r) || r->rest.p[0] == ' ' || r->rest.p[0] == '\t')
        return 0;
    return ch_fail(r->err, CHELA_EINVAL, "column %d: '%c' is not allowed in a %s",
                   when_read_column(r), r->rest.p[0], f->name);
}

/* Whether the combination of day and month exists in some year. */
static bool has_a_day(const struct ch_when *w) {
    static const int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (w->either_day)
        return true;
    for (int m = 1; m <= 12; m++)
        if (w->months >> m & 1 && w->days & ((uint32_t)(((uint64_t)1 << (lengths[m - 1] + 1)) - 2)))
            return true;
    return false;
}

static int read_cron(struct reading *r, struct ch_when *w) {
    uint64_t bits[5] = {0};
    bool star[5];
    for (size_t i = 0; i < CH_LEN(fields); i++) {
        int rc = read_field(r, &fields[i], &bits[i], &star[i]);
        if (rc < 0)
            return rc;
    }
    when_read_skip_blanks(r);
    if (!at_end(r))
        return ch_fail(r->err, CHELA_EINVAL, "column %d: nothing may follow the day of the week",
                       when_read_column(r));
    *w = (struct ch_when){.kind = CH_WHEN_CRON,
                          .minutes = bits[0],
                          .hours = (uint32_t)bits[1],
                          .days = (uint32_t)bits[2],
                          .months = (uint32_t)bits[3],
                          .weekdays = (uint32_t)((bits[4] | bits[4] >> 7) & 0x7f),
                          .either_day = !star[2] && !star[4]};
    if (has_a_day(w))
        return 0;
    return ch_fail(r->err, CHELA_EINVAL, "column 1: there is no such day in any year");
}

/* --- the other forms */

static int read_nickname(struct reading *r, struct ch_when *w) {
    static const struct {
        const char *name, *line;
    } nicknames[] = {
        {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
        {"@weekly", "0 0 * * 0"},  {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
        {"@annually", "0 0 1 1 *"},
    };
    for (size_t i = 0; i < CH_LEN(nicknames); i++)
        if (ch_sv_eq_nocase(r->rest, ch_sv_str(nicknames[i].name))) {
            struct ch_sv line = ch_sv_str(nicknames[i].line);
            return read_cron(&(struct reading){line, line, r->err}, w);
        }
    return ch_fail(r->err, CHELA_EINVAL,
                   "column %d: '%.*s' is not known: @hourly, @daily, "
                   "@weekly, @monthly or @yearly",
                   when_read_column(r), (int)CH_MIN(r->rest.n, (size_t)20), r->rest.p);
}

bool ch_duration_read(struct ch_sv text, int64_t *ms) {
    static const struct {
        char unit;
        int64_t ms;
    } units[] = {{'d', 86400000}, {'h', 3600000}, {'m', 60000}, {'s', 1000}};
    size_t at = 0, least = 0;
    *ms = 0;
    while (at < text.n) {
        int64_t v = 0;
        size_t digits = at;
        for (; at < text.n && when_read_is_digit(text.p[at]) && at - digits < 9; at++)
            v = 10 * v + text.p[at] - '0';
        while (least < CH_LEN(units) && at < text.n && units[least].unit != text.p[at])
            least++;
        if (at == digits || at == text.n || least == CH_LEN(units))
            return false;
        *ms += v * units[least++].ms;
        at++;
    }
    return text.n > 0;
}

static int read_every(struct reading *r, struct ch_when *w) {
    int64_t ms;
    if (!ch_duration_read(ch_sv_trim(r->rest), &ms))
        return ch_fail(r->err, CHELA_EINVAL, "column %d: '%.*s' is no time span: use 30m, 6h or 1d",
                       when_read_column(r), (int)CH_MIN(r->rest.n, (size_t)20), r->rest.p);
    if (ms < CH_LIMIT_WHEN_LEAST_MS || ms > CH_LIMIT_WHEN_MOST_MS)
        return ch_fail(r->err, CHELA_EINVAL,
                       "column %d: an interval has from one second to 366 days",
                       when_read_column(r));
    *w = (struct ch_when){.kind = CH_WHEN_EVERY, .ms = ms};
    return 0;
}

static int read_at(struct reading *r, const struct ch_zone *zone, struct ch_when *w) {
    struct ch_time t;
    int64_t utc;
    if (!ch_time_read(r->rest, &t) || !t.has_date)
        return ch_fail(r->err, CHELA_EINVAL,
                       "column %d: '%.*s' is no time: use ISO 8601, for "
                       "example 2027-03-01T09:00 or 2027-03-01T09:00+08:00",
                       when_read_column(r), (int)CH_MIN(r->rest.n, (size_t)30), r->rest.p);
    utc = ch_date_seconds(&t.date);
    if (t.has_offset)
        utc -= t.offset;
    else
        ch_zone_utc(zone, utc, &utc);
    *w = (struct ch_when){.kind = CH_WHEN_AT, .ms = utc * 1000};
    return 0;
}

/* Accepts "every 30m" and "every: 30m". */
static bool eat_word(struct reading *r, const char *name) {
    size_t n = strlen(name);
    if (r->rest.n <= n || !ch_sv_eq_nocase(ch_sv(r->rest.p, n), ch_sv_str(name)) ||
        !strchr(" \t:", r->rest.p[n]))
        return false;
    when_read_skip(r, n);
    when_read_eat(r, ':');
    when_read_skip_blanks(r);
    return true;
}

/* Append the forms of a time to a message. */
static int when_read_tell_forms(struct chela_error *err, int rc) {
    return ch_fail(err, rc, "%s; expected five fields of cron such as '0 9 * * *', 'every 30m', "
                   "'at 2027-03-01T09:00' or @daily", err ? err->message : "");
}

int ch_when_read(struct ch_sv text, const struct ch_zone *zone, struct ch_when *out,
                 struct chela_error *err) {
    struct reading r = {text, text, err};
    while (r.rest.n && strchr(" \t\r\n", r.rest.p[r.rest.n - 1]))
        r.rest.n--;
    when_read_skip_blanks(&r);
    if (at_end(&r))
        return when_read_tell_forms(
            err, ch_fail(err, CHELA_EINVAL, "column 1: there is no time"));
    if (text.n > CH_LIMIT_WHEN || memchr(text.p, 0, text.n))
        return ch_fail(err, CHELA_EINVAL, "column 1: a time is text of at most %d bytes",
                       CH_LIMIT_WHEN);
    if (r.rest.p[0] == '@')
        return read_nickname(&r, out);
    if (eat_word(&r, "every"))
        return read_every(&r, out);
    if (eat_word(&r, "at"))
        return read_at(&r, zone, out);
    bool other = when_read_is_letter(r.rest.p[0]) || !memchr(r.rest.p, ' ', r.rest.n);
    int rc = read_cron(&r, out);
    return rc < 0 && other ? when_read_tell_forms(err, rc) : rc; /* no line of cron was meant */
}

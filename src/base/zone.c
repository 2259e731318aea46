/* zone.c -- see zone.h. */
#include "base/zone.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/calendar.h"

#define HEADER 44
#define DAY 86400

/* --- the rule for later years: POSIX TZ ---------------------------------- */

struct day_rule {
    char form; /* 'M' month.week.day, 'J' day without the leap day, 'n' with it */
    int month, week, day;
    int time; /* seconds after midnight, local; may be negative or past a day */
};

struct rule {
    char std[16], dst[16]; /* abbreviations */
    int std_offset, dst_offset;
    bool has_dst;
    struct day_rule start, end; /* start and end of daylight saving time */
};

struct type {
    int offset;
    bool dst;
    unsigned char abbr; /* offset in abbrs */
};

struct ch_zone {
    int64_t *times;         /* owned; ascending */
    unsigned char *indexes; /* owned; type that begins at each time */
    struct type *types;     /* owned */
    char *abbrs;            /* owned; ends with a NUL */
    size_t ntimes, ntypes;
    bool has_rule;
    struct rule rule;
};

static bool zone_take(struct ch_sv *s, char c) {
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = ch_sv(s->p + 1, s->n - 1);
    return true;
}

static bool zone_number(struct ch_sv *s, int most, int *out) {
    size_t i = 0;
    int v = 0;

    for (; i < s->n && i < 4 && s->p[i] >= '0' && s->p[i] <= '9'; i++)
        v = v * 10 + s->p[i] - '0';
    *s = ch_sv(s->p + i, s->n - i);
    *out = v;
    return i > 0 && v <= most;
}

static bool zone_is_alpha(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "CET" or "<+0330>". */
static bool read_abbr(struct ch_sv *s, char out[16]) {
    bool quoted = zone_take(s, '<');
    size_t i = 0;

    while (i < s->n && i < 15 && (quoted ? s->p[i] != '>' : zone_is_alpha(s->p[i])))
        i++;
    memcpy(out, s->p, i);
    out[i] = '\0';
    *s = ch_sv(s->p + i, s->n - i);
    return i > 0 && (!quoted || zone_take(s, '>'));
}

/* Parses "-3:30" or "167:00:00". */
static bool zone_read_time(struct ch_sv *s, int *out) {
    int sign = zone_take(s, '-') ? -1 : (zone_take(s, '+'), 1), h, m = 0, sec = 0;

    if (!zone_number(s, 167, &h))
        return false;
    if (zone_take(s, ':') && !zone_number(s, 59, &m))
        return false;
    if (zone_take(s, ':') && !zone_number(s, 59, &sec))
        return false;
    *out = sign * (h * 3600 + m * 60 + sec);
    return true;
}

static bool read_day(struct ch_sv *s, struct day_rule *d) {
    d->time = 2 * 3600;
    if (zone_take(s, 'M')) {
        d->form = 'M';
        if (!zone_number(s, 12, &d->month) || d->month < 1 || !zone_take(s, '.') ||
            !zone_number(s, 5, &d->week) || d->week < 1 || !zone_take(s, '.') ||
            !zone_number(s, 6, &d->day))
            return false;
    } else {
        d->form = zone_take(s, 'J') ? 'J' : 'n';
        if (!zone_number(s, 365, &d->day) || (d->form == 'J' && d->day < 1))
            return false;
    }
    return !zone_take(s, '/') || zone_read_time(s, &d->time);
}

static bool zone_read_rule(struct ch_sv s, struct rule *r) {
    int west;

    if (!read_abbr(&s, r->std) || !zone_read_time(&s, &west))
        return false;
    r->std_offset = -west;
    if (s.n == 0)
        return true;
    r->has_dst = true;
    r->dst_offset = r->std_offset + 3600;
    if (!read_abbr(&s, r->dst))
        return false;
    if (s.n && s.p[0] != ',') {
        if (!zone_read_time(&s, &west))
            return false;
        r->dst_offset = -west;
    }
    return zone_take(&s, ',') && read_day(&s, &r->start) && zone_take(&s, ',') &&
           read_day(&s, &r->end) && s.n == 0;
}

/* Local seconds of the rule's transition in a year. */
static int64_t moment(const struct day_rule *d, int year) {
    struct ch_date first = {.year = year, .month = d->form == 'M' ? d->month : 1, .day = 1};
    int64_t at = ch_date_seconds(&first);

    if (d->form == 'M') {
        int weekday = ch_date_of(at).weekday;
        int day = (d->day - weekday + 7) % 7 + 7 * (d->week - 1);
        while (day >= ch_date_days(year, d->month))
            day -= 7; /* week 5 is the last one */
        return at + (int64_t)day * DAY + d->time;
    }
    bool leap = ch_date_days(year, 2) == 29;
    int day = d->form == 'J' ? d->day - 1 + (leap && d->day >= 60) : d->day;
    return at + (int64_t)day * DAY + d->time;
}

static struct ch_zone_time at_rule(const struct rule *r, int64_t utc) {
    struct ch_zone_time std = {r->std_offset, false, r->std};

    if (!r->has_dst)
        return std;
    int year = ch_date_of(utc + r->std_offset).year;
    int64_t start = moment(&r->start, year) - r->std_offset;
    int64_t end = moment(&r->end, year) - r->dst_offset;
    bool dst = start < end ? utc >= start && utc < end : utc >= start || utc < end;
    return dst ? (struct ch_zone_time){r->dst_offset, true, r->dst} : std;
}

/* --- the file ------------------------------------------------------------ */

struct counts {
    uint32_t isut, isstd, leap, time, type, chars;
};

static uint32_t big32(const char *p) {
    const unsigned char *b = (const unsigned char *)p;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int64_t big_time(const char *p, size_t size) {
    if (size == 4)
        return (int32_t)big32(p);
    return (int64_t)((uint64_t)big32(p) << 32 | big32(p + 4));
}

static bool zone_read_counts(struct ch_sv data, struct counts *c) {
    if (data.n < HEADER || memcmp(data.p, "TZif", 4) != 0)
        return false;
    *c = (struct counts){big32(data.p + 20), big32(data.p + 24), big32(data.p + 28),
                         big32(data.p + 32), big32(data.p + 36), big32(data.p + 40)};
    return c->isut <= data.n && c->isstd <= data.n && c->leap <= data.n && c->time <= data.n &&
           c->type <= data.n && c->chars <= data.n;
}

/* Bytes of the data block after a header; each transition time has `size`
 * bytes. */
static size_t block_size(const struct counts *c, size_t size) {
    return c->time * size + c->time + (size_t)c->type * 6 + c->chars + c->leap * (size + 4) +
           c->isstd + c->isut;
}

static bool read_types(struct ch_zone *z, const char *p, const struct counts *c) {
    for (size_t i = 0; i < c->type; i++, p += 6) {
        z->types[i] = (struct type){(int32_t)big32(p), p[4] != 0, (unsigned char)p[5]};
        if (z->types[i].abbr >= c->chars || z->types[i].offset < -2 * DAY ||
            z->types[i].offset > 2 * DAY)
            return false;
    }
    return true;
}

static bool zone_read_block(struct ch_zone *z, struct ch_sv data, const struct counts *c,
                            size_t size) {
    const char *times = data.p, *indexes = times + c->time * size, *types = indexes + c->time;

    if (data.n < block_size(c, size) || c->type == 0 || c->type > 256 || c->chars == 0)
        return false;
    z->ntimes = c->time;
    z->ntypes = c->type;
    z->times = ch_malloc((z->ntimes + 1) * sizeof(*z->times));
    z->indexes = ch_memdup(indexes, c->time + 1); /* one extra, so never empty */
    z->types = ch_malloc(z->ntypes * sizeof(*z->types));
    z->abbrs = ch_alloc(c->chars + 1); /* several strings, plus a final NUL */
    memcpy(z->abbrs, types + (size_t)c->type * 6, c->chars);
    for (size_t i = 0; i < z->ntimes; i++) {
        z->times[i] = big_time(times + i * size, size);
        if (z->indexes[i] >= z->ntypes || (i && z->times[i] <= z->times[i - 1]))
            return false;
    }
    return read_types(z, types, c);
}

static bool zone_parse(struct ch_zone *z, struct ch_sv data) {
    struct counts c;

    if (!zone_read_counts(data, &c))
        return false;
    char version = data.p[4];
    data = ch_sv(data.p + HEADER, data.n - HEADER);
    if (version < '2')
        return zone_read_block(z, data, &c, 4);
    size_t first = block_size(&c, 4);
    if (data.n < first)
        return false;
    data = ch_sv(data.p + first, data.n - first);
    if (!zone_read_counts(data, &c))
        return false;
    data = ch_sv(data.p + HEADER, data.n - HEADER);
    if (!zone_read_block(z, data, &c, 8))
        return false;
    size_t second = block_size(&c, 8);
    struct ch_sv footer = ch_sv(data.p + second, data.n - second);
    if (!zone_take(&footer, '\n'))
        return false;
    footer = ch_sv_split(&footer, '\n');
    z->has_rule = footer.n > 0;
    return !z->has_rule || zone_read_rule(footer, &z->rule);
}

struct ch_zone *ch_zone_parse(struct ch_sv data) {
    struct ch_zone *z = ch_alloc(sizeof(*z));

    if (data.n <= CH_LIMIT_ZONE_FILE && zone_parse(z, data))
        return z;
    ch_zone_free(z);
    return NULL;
}

struct ch_zone *ch_zone_fixed(int offset) {
    struct ch_zone *z = ch_alloc(sizeof(*z));
    CH_BUF_AUTO name = {0};

    ch_offset_write(&name, offset);
    z->has_rule = true;
    z->rule.std_offset = offset;
    memcpy(z->rule.std, offset ? ch_buf_str(&name) : "UTC", offset ? name.n + 1 : 4);
    return z;
}

void ch_zone_free(struct ch_zone *z) {
    if (!z)
        return;
    ch_free(z->times);
    ch_free(z->indexes);
    ch_free(z->types);
    ch_free(z->abbrs);
    ch_free(z);
}

/* --- lookup -------------------------------------------------------------- */

struct ch_zone_time ch_zone_at(const struct ch_zone *z, int64_t utc) {
    size_t low = 0, high = z->ntimes;

    if (z->has_rule && (z->ntimes == 0 || utc >= z->times[z->ntimes - 1]))
        return at_rule(&z->rule, utc);
    while (low < high) { /* the first transition after utc */
        size_t middle = low + (high - low) / 2;
        if (z->times[middle] <= utc)
            low = middle + 1;
        else
            high = middle;
    }
    const struct type *t = &z->types[low ? z->indexes[low - 1] : 0];
    return (struct ch_zone_time){t->offset, t->dst, z->abbrs + t->abbr};
}

int ch_zone_utc(const struct ch_zone *z, int64_t local, int64_t *utc) {
    int before = ch_zone_at(z, local - DAY).offset, after = ch_zone_at(z, local + DAY).offset;
    int64_t first = local - before, second = local - after;
    bool first_ok = ch_zone_at(z, first).offset == before;
    bool second_ok = ch_zone_at(z, second).offset == after;

    *utc = first_ok || !second_ok ? first : second;
    if (first_ok && second_ok && first != second) {
        *utc = CH_MIN(first, second);
        return 2;
    }
    return first_ok || second_ok ? 1 : 0;
}

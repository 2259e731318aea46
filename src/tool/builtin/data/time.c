/* time.c -- the tool `time`: the current or another time, in any time zones.
 *
 * Time zones are read from the system's database files on each call; no process-wide state
 * (such as TZ) is used. Zone names are matched leniently ("shanghai", "new york", "UTC+8"). */
#include "tool/builtin/data/time.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/calendar.h"
#include "base/zone.h"
#include "base/zone_file.h"
#include "tool/call/call.h"
#include "tool/call/call_view.h"
#include "tool/result/similar.h"
#include "json/writer.h"

#define FIRST_YEAR (-62135596800) /* 0001-01-01 */
#define LAST_YEAR 253402300799    /* 9999-12-31 */

static const char *const zone_names[] = {"timezone", "to_timezone", "target_timezone",
                                         "tz",       "zone",        NULL};
static const char *const from_names[] = {"from_timezone", "source_timezone", NULL};
static const char *const time_names[] = {"time", "datetime", "date", NULL};

struct clock_zone {
    struct ch_zone *zone; /* owned */
    char *name;           /* owned */
};

static void time_release(struct clock_zone *z) {
    ch_zone_free(z->zone);
    ch_free(z->name);
    *z = (struct clock_zone){0};
}

/* --- the database -------------------------------------------------------- */

/* True if the names are equal except for case and the separator between words. */
static bool sounds_like(struct ch_sv a, struct ch_sv b) {
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        char x = a.p[i] == ' ' ? '_' : a.p[i], y = b.p[i];
        if (!ch_sv_eq_nocase(ch_sv(&x, 1), ch_sv(&y, 1)))
            return false;
    }
    return true;
}

static struct ch_sv city_of(struct ch_sv name) {
    const char *slash = memrchr(name.p, '/', name.n);

    return slash ? ch_sv(slash + 1, name.n - (size_t)(slash + 1 - name.p)) : name;
}

/* Search zone.tab (country, place, name). True and *out for a unique match; similar names
 * are collected. */
static bool search_list(int database, const char *given, struct ch_similar *close_ones,
                        struct ch_buf *out) {
    int fd = openat(database, "zone.tab", O_RDONLY | O_CLOEXEC);
    CH_BUF_AUTO text = {0};

    if (fd < 0)
        return false;
    char *at = ch_buf_reserve(&text, CH_LIMIT_ZONE_FILE);
    ssize_t n = read(fd, at, CH_LIMIT_ZONE_FILE);
    close(fd);
    ch_buf_commit(&text, n > 0 ? (size_t)n : 0);
    struct ch_sv rest = ch_buf_sv(&text), wanted = ch_sv_str(given);
    while (rest.n) {
        struct ch_sv line = ch_sv_split(&rest, '\n');
        ch_sv_split(&line, '\t');
        ch_sv_split(&line, '\t');
        struct ch_sv name = line.p ? ch_sv_split(&line, '\t') : line;
        if (name.n == 0)
            continue;
        if (sounds_like(wanted, name) || sounds_like(wanted, city_of(name))) {
            ch_buf_add_sv(out, name);
            return true;
        }
        ch_similar_offer(close_ones, name);
    }
    return false;
}

/* --- zones by name ------------------------------------------------------- */

static int time_unknown(chela_call *call, const char *name, const struct ch_similar *s,
                        bool database) {
    CH_BUF_AUTO names = {0};

    ch_similar_list(s, &names);
    if (!database)
        chela_result_error(call, "unavailable",
                           "This system has no time zone database, so only UTC and offsets such "
                           "as +08:00 can be used.");
    else if (names.n)
        chela_result_error(call, "not_found", "There is no time zone \"%s\". Similar: %s.", name,
                           ch_buf_str(&names));
    else
        chela_result_error(call, "not_found",
                           "There is no time zone \"%s\". Use a name such as Europe/Berlin, or an "
                           "offset such as +08:00.",
                           name);
    return CHELA_ENOENT;
}

static int find_named(chela_call *call, const char *name, struct clock_zone *out) {
    CH_ARENA_AUTO arena = {0};
    struct ch_similar similar = {.wanted = ch_sv_str(name), .arena = &arena};
    CH_BUF_AUTO found = {0};

    int database = ch_zone_database();
    if (database >= 0) {
        out->zone = ch_zone_read(database, name);
        if (!out->zone && search_list(database, name, &similar, &found))
            out->zone = ch_zone_read(database, ch_buf_str(&found));
        close(database);
    }
    if (!out->zone)
        return time_unknown(call, name, &similar, database >= 0);
    out->name = ch_strdup(found.n ? ch_buf_str(&found) : name);
    return 0;
}

static int find_zone(chela_call *call, const char *name, struct clock_zone *out) {
    int offset = 0;

    if (ch_zone_offset(ch_sv_str(name), &offset)) {
        CH_BUF_AUTO text = {0};
        ch_buf_add_str(&text, "UTC");
        if (offset)
            ch_offset_write(&text, offset);
        out->zone = ch_zone_fixed(offset);
        out->name = ch_buf_take(&text);
        return 0;
    }
    return find_named(call, name, out);
}

/* The machine's own zone; its name is the target of the localtime link. */
static void find_local(struct clock_zone *out) {
    char link[256];
    ssize_t n = readlink(CH_ZONE_LOCAL, link, sizeof(link) - 1);
    const char *name = NULL;

    link[n > 0 ? n : 0] = '\0';
    for (const char *at = link; (at = strstr(at, "zoneinfo/")); name = at)
        at += strlen("zoneinfo/");
    out->zone = ch_zone_load(NULL);
    if (!out->zone) {
        out->zone = ch_zone_fixed(0);
        name = "UTC";
    }
    out->name = ch_strdup(name && *name ? name : "local time");
}

/* --- arguments ----------------------------------------------------------- */

struct question {
    const char *zones, *from, *time; /* "": none given */
};

static int read_question(chela_call *call, struct question *q) {
    *q = (struct question){.zones = "", .from = "", .time = ""};
    int rc = chela_arg_string_opt(call, ch_arg_name(call, zone_names), &q->zones);
    if (rc == 0)
        rc = chela_arg_string_opt(call, ch_arg_name(call, from_names), &q->from);
    if (rc < 0)
        return rc;
    const char *name = ch_arg_name(call, time_names);
    if (ch_json_is(ch_json_get(call->args, name), CH_JSON_NUMBER)) {
        q->time = chela_arg_json(call, name);
        return 0;
    }
    return chela_arg_string_opt(call, name, &q->time);
}

int ch_time_check(chela_call *call, void *user) {
    struct question q;

    (void)user;
    return read_question(call, &q);
}

/* Unix time in seconds or, as in JavaScript, in milliseconds. */
static bool read_unix(const char *text, int64_t *out) {
    int64_t v = 0;
    size_t n = strspn(text, "0123456789");

    if (n < 5 || n > 15 || text[n] != '\0')
        return false;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + text[i] - '0';
    *out = n > 11 ? v / 1000 : v;
    return true;
}

static int bad_time(chela_call *call, const char *text) {
    chela_result_error(call, "invalid_arguments",
                       "\"%s\" is no time. Use ISO 8601, for example 2025-01-31T15:04:05+08:00, "
                       "2025-01-31 or 15:04.",
                       text);
    return CHELA_EINVAL;
}

/* Parse the requested time; a time without an offset belongs to zone `from`. Remarks are
 * appended to notes. */
static int read_moment(chela_call *call, const char *text, const struct clock_zone *from,
                       int64_t *utc, struct ch_buf *notes) {
    int64_t now = ch_now_ms(&ch_clock_system) / 1000;
    struct ch_time t;

    *utc = now;
    if (text[0] == '\0' || strcmp(text, "now") == 0 || read_unix(text, utc))
        return 0;
    if (!ch_time_read(ch_sv_str(text), &t))
        return bad_time(call, text);
    if (!t.has_date) { /* without a date: today in that zone */
        struct ch_date today =
            ch_date_of(now + (t.has_offset ? t.offset : ch_zone_at(from->zone, now).offset));
        t.date.year = today.year;
        t.date.month = today.month;
        t.date.day = today.day;
    }
    int64_t local = ch_date_seconds(&t.date);
    int times = 1;
    if (t.has_offset)
        *utc = local - t.offset;
    else
        times = ch_zone_utc(from->zone, local, utc);
    if (times == 0)
        ch_buf_addf(notes, "[In %s clocks are put forward over this time; it does not occur.]\n",
                    from->name);
    if (times == 2)
        ch_buf_addf(notes,
                    "[In %s clocks are put back over this time; the first of the two is "
                    "meant here.]\n",
                    from->name);
    if (*utc < FIRST_YEAR + 86400 || *utc > LAST_YEAR - 86400)
        return bad_time(call, text);
    return 0;
}

/* --- the answer ---------------------------------------------------------- */

static void add_zone(struct ch_buf *text, struct ch_jw *w, const struct clock_zone *z,
                     int64_t utc) {
    struct ch_zone_time t = ch_zone_at(z->zone, utc);
    struct ch_date d = ch_date_of(utc + t.offset);
    CH_BUF_AUTO stamp = {0};
    int year, week = ch_date_week(&d, &year);
    bool named = strstr(z->name, t.abbr); /* "UTC", "UTC+08:00" */

    ch_date_write(&stamp, &d);
    ch_offset_write(&stamp, t.offset);
    ch_buf_addf(text, "%s %s, week %d (%s%s%s%s)\n", ch_buf_str(&stamp), ch_date_weekday(&d), week,
                z->name, named ? "" : ", ", named ? "" : t.abbr,
                t.dst ? ", daylight saving time" : "");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "timezone", z->name);
    ch_jw_kstr(w, "time", ch_buf_sv(&stamp));
    ch_jw_kcstr(w, "weekday", ch_date_weekday(&d));
    ch_jw_kint(w, "utc_offset_seconds", t.offset);
    ch_jw_kcstr(w, "abbreviation", t.abbr);
    ch_jw_kbool(w, "is_dst", t.dst);
    ch_jw_end(w, '}');
}

/* Add each zone of a list "Asia/Tokyo, Europe/Paris", or the machine's own zone. */
static int add_zones(chela_call *call, const char *list, int64_t utc, struct ch_buf *text,
                     struct ch_jw *w) {
    struct ch_sv rest = ch_sv_str(list);
    int n = 0;

    if (ch_sv_trim(rest).n == 0) {
        struct clock_zone z = {0};
        find_local(&z);
        add_zone(text, w, &z, utc);
        time_release(&z);
    }
    while (rest.n) {
        struct ch_sv name = ch_sv_trim(ch_sv_split(&rest, ','));
        struct clock_zone z = {0};
        if (name.n == 0)
            continue;
        if (n++ == CH_LIMIT_ZONES) {
            chela_result_error(call, "invalid_arguments", "More than %d time zones.",
                               CH_LIMIT_ZONES);
            return CHELA_EINVAL;
        }
        int rc = find_zone(call, ch_arena_str(&call->arena, name), &z);
        if (rc == 0)
            add_zone(text, w, &z, utc);
        time_release(&z);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int time_answer(chela_call *call, const struct question *q, const struct clock_zone *from) {
    CH_BUF_AUTO text = {0}, notes = {0}, json = {0}, stamp = {0};
    struct ch_jw w = ch_jw(&json);
    int64_t utc;

    int rc = read_moment(call, q->time, from, &utc, &notes);
    if (rc < 0)
        return rc;
    struct ch_date d = ch_date_of(utc);
    ch_date_write(&stamp, &d);
    ch_buf_addc(&stamp, 'Z');
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "unix", utc);
    ch_jw_kstr(&w, "utc", ch_buf_sv(&stamp));
    ch_jw_kbegin(&w, "zones", '[');
    rc = add_zones(call, q->zones, utc, &text, &w);
    if (rc < 0)
        return rc;
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    chela_result_printf(call, "%sUTC %s, Unix time %lld\n%s", ch_buf_str(&text), ch_buf_str(&stamp),
                        (long long)utc, ch_buf_str(&notes));
    chela_result_details(call, ch_buf_str(&json));
    return 0;
}

int ch_time_run(chela_call *call, void *user) {
    struct clock_zone from = {0};
    struct question q;

    (void)user;
    int rc = read_question(call, &q);
    if (rc < 0)
        return rc;
    if (q.from[0])
        rc = find_zone(call, q.from, &from);
    else
        find_local(&from);
    if (rc == 0)
        rc = time_answer(call, &q, &from);
    time_release(&from);
    return rc;
}

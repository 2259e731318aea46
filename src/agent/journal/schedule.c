/* schedule.c -- see schedule.h. */
#include "agent/journal/schedule.h"

#include "base/calendar.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/opts.h"
#include "base/when_read.h"
#include "base/zone_file.h"
#include "json/writer.h"

#define MINUTE_MS 60000
#define DAY_MS 86400000LL
#define LATE_MS MINUTE_MS
#define MOST_LOOKS 20000 /* occurrences that are enumerated at most */

/* --- definition of a schedule */

static int check_name(const char *name, struct chela_error *err) {
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_-:") : 0;
    if (n && n <= 64 && name[n] == '\0')
        return 0;
    return ch_fail(err, CHELA_EINVAL,
                   "a schedule's name has letters, digits, '-' and '_': at most 64");
}

static bool read_clock(struct ch_sv text, int *minutes) {
    struct ch_time t;
    if (!ch_time_read(text, &t) || t.has_date || t.has_offset)
        return false;
    *minutes = t.date.hour * 60 + t.date.minute;
    return true;
}

static int read_quiet(struct ch_schedule *s, struct chela_error *err) {
    struct ch_sv rest = ch_sv_str(s->is.quiet_hours);
    if (!rest.n)
        return 0;
    struct ch_sv from = ch_sv_split(&rest, '-');
    if (rest.p && read_clock(from, &s->quiet_from) && read_clock(rest, &s->quiet_to))
        return 0;
    return ch_fail(err, CHELA_EINVAL, "quiet hours are two times, such as 22:00-07:00, not '%s'",
                   s->is.quiet_hours);
}

static int read_zone(struct ch_schedule *s, struct chela_error *err) {
    s->zone = ch_zone_load(s->is.timezone);
    if (!s->zone && !s->is.timezone)
        s->zone = ch_zone_fixed(0);
    if (s->zone)
        return 0;
    return ch_fail(err, CHELA_EINVAL,
                   "there is no time zone '%s': a name such as Europe/Berlin, or +08:00",
                   s->is.timezone);
}

static int check_rest(const struct chela_schedule *s, struct chela_error *err) {
    int rc = ch_choice_check(CHELA_CHOICE_MISSED, s->missed, err);
    if (rc < 0)
        return rc;
    if (!s->wake_file && (!s->prompt || !*s->prompt))
        return ch_fail(err, CHELA_EINVAL, "it does not say what to do: there is no prompt");
    if (s->prompt && strlen(s->prompt) > CH_LIMIT_SCHEDULE_PROMPT)
        return ch_fail(err, CHELA_EINVAL, "its prompt is longer than %zu KB",
                       CH_LIMIT_SCHEDULE_PROMPT / CH_KB);
    if (s->session && strlen(s->session) > CH_LIMIT_SESSION_KEY - 32)
        return ch_fail(err, CHELA_EINVAL, "its session's key is longer than %d bytes",
                       CH_LIMIT_SESSION_KEY - 32);
    if (s->cost_budget_usd < 0 || s->max_turns < 0 || s->timeout_ms < 0 || s->max_runs_per_day < 0)
        return ch_fail(err, CHELA_EINVAL, "a bound is not negative");
    return 0;
}

static void copy_texts(struct ch_schedule *s) {
    const char **texts[] = {&s->is.name,    &s->is.when,   &s->is.timezone,
                            &s->is.agent,   &s->is.session, &s->is.prompt,
                            &s->is.quiet_hours, &s->is.wake_file, &s->of_session};
    for (size_t i = 0; i < CH_LEN(texts); i++)
        if (*texts[i])
            *texts[i] = ch_arena_str(&s->arena, ch_sv_str(*texts[i]));
}

int ch_schedule_new(const struct chela_schedule *given, const char *of_session,
                    struct ch_schedule **out, struct chela_error *err) {
    CH_AUTO(ch_schedule) s = ch_alloc(sizeof(*s));
    int rc = CH_OPTS_NEED(chela_schedule, &s->is, given, err);
    s->of_session = of_session;
    copy_texts(s);
    if (rc == 0)
        rc = check_name(s->is.name, err);
    if (rc == 0)
        rc = read_zone(s, err);
    if (rc == 0)
        rc = ch_when_read(ch_sv_str(s->is.when ? s->is.when : ""), s->zone, &s->when, err);
    if (rc == 0)
        rc = read_quiet(s, err);
    if (rc == 0)
        rc = check_rest(&s->is, err);
    if (rc == 0)
        *out = CH_TAKE(s);
    return rc;
}

void ch_schedule_free(struct ch_schedule *s) {
    if (!s)
        return;
    ch_zone_free(s->zone);
    ch_arena_release(&s->arena);
    ch_free(s);
}

/* --- a schedule as a note */

static void schedule_kopt(struct ch_jw *w, const char *key, const char *text) {
    if (text)
        ch_jw_kcstr(w, key, text);
}

void ch_schedule_write(const struct ch_schedule *s, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "name", s->is.name);
    ch_jw_kcstr(&w, "when", s->is.when);
    schedule_kopt(&w, "timezone", s->is.timezone);
    schedule_kopt(&w, "agent", s->is.agent);
    schedule_kopt(&w, "session", s->is.session);
    schedule_kopt(&w, "prompt", s->is.prompt);
    schedule_kopt(&w, "missed", s->is.missed ? chela_missed_name(s->is.missed) : NULL);
    schedule_kopt(&w, "quiet_hours", s->is.quiet_hours);
    schedule_kopt(&w, "wake_file", s->is.wake_file);
    if (s->is.fresh)
        ch_jw_kbool(&w, "fresh", true);
    if (s->is.cost_budget_usd > 0) {
        ch_jw_kdouble(&w, "cost_budget_usd", s->is.cost_budget_usd);
    }
    if (s->is.max_turns)
        ch_jw_kint(&w, "max_turns", s->is.max_turns);
    if (s->is.timeout_ms)
        ch_jw_kint(&w, "timeout_ms", s->is.timeout_ms);
    if (s->is.max_runs_per_day)
        ch_jw_kint(&w, "max_runs_per_day", s->is.max_runs_per_day);
    ch_jw_end(&w, '}');
}

static const char *text_of(struct ch_arena *a, const struct ch_json *v, const char *key) {
    struct ch_sv text = ch_json_get_str(v, key);
    return text.p ? ch_arena_str(a, text) : NULL;
}

int ch_schedule_read(struct ch_sv json, const char *of_session, struct ch_schedule **out,
                     struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    int rc = ch_json_parse(&a, json, CH_JSON_STRICT, &v, NULL, err);
    if (rc < 0)
        return rc;
    const char *word = text_of(&a, v, "missed");
    enum chela_missed missed = CHELA_MISSED_DEFAULT;
    if (word && (rc = chela_missed_read(word, &missed, err)) < 0)
        return rc;
    struct chela_schedule s = CHELA_SCHEDULE(
        .name = text_of(&a, v, "name"), .when = text_of(&a, v, "when"),
        .timezone = text_of(&a, v, "timezone"), .agent = text_of(&a, v, "agent"),
        .session = text_of(&a, v, "session"), .prompt = text_of(&a, v, "prompt"),
        .missed = missed, .quiet_hours = text_of(&a, v, "quiet_hours"),
        .wake_file = text_of(&a, v, "wake_file"),
        .fresh = ch_json_bool(ch_json_get(v, "fresh"), false),
        .cost_budget_usd = ch_json_double(ch_json_get(v, "cost_budget_usd"), 0),
        .max_turns = ch_json_int(ch_json_get(v, "max_turns"), 0),
        .timeout_ms = ch_json_int(ch_json_get(v, "timeout_ms"), 0),
        .max_runs_per_day = ch_json_int(ch_json_get(v, "max_runs_per_day"), 0));
    return ch_schedule_new(&s, of_session, out, err);
}

void ch_schedule_state_read(struct ch_sv json, struct ch_schedule_state *out) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    *out = (struct ch_schedule_state){0};
    if (ch_json_parse(&a, json, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        return;
    out->since = ch_json_int(ch_json_get(v, "since"), 0);
    out->last = ch_json_int(ch_json_get(v, "last"), 0);
    out->day = ch_json_int(ch_json_get(v, "day"), 0);
    out->runs = ch_json_int(ch_json_get(v, "runs"), 0);
}

void ch_schedule_state_write(const struct ch_schedule_state *s, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "since", s->since);
    ch_jw_kint(&w, "last", s->last);
    ch_jw_kint(&w, "day", s->day);
    ch_jw_kint(&w, "runs", s->runs);
    ch_jw_end(&w, '}');
}

/* --- due schedules */

static int64_t local_of(const struct ch_schedule *s, int64_t ms) {
    return ms / 1000 + ch_zone_at(s->zone, ms / 1000).offset;
}

static bool is_quiet(const struct ch_schedule *s, int64_t ms) {
    int minute = (int)(local_of(s, ms) % 86400 / 60);
    if (s->quiet_from <= s->quiet_to)
        return minute >= s->quiet_from && minute < s->quiet_to;
    return minute >= s->quiet_from || minute < s->quiet_to;
}

int64_t ch_schedule_next(const struct ch_schedule *s, int64_t after) {
    int64_t at = ch_when_next(&s->when, s->zone, after);
    for (int i = 0; i < MOST_LOOKS && at != CH_WHEN_NEVER && is_quiet(s, at); i++)
        at = ch_when_next(&s->when, s->zone, at);
    return at;
}

/* The time from which occurrences are enumerated. The bound limits the work after a long
 * downtime; older occurrences would be skipped anyway. */
static int64_t look_from(const struct ch_schedule *s, int64_t now) {
    int64_t from = CH_MAX(s->state.since, s->state.last);
    if (s->when.kind == CH_WHEN_EVERY)
        return CH_MAX(from, now - CH_MIN(MOST_LOOKS * s->when.ms, CH_LIMIT_WHEN_MOST_MS));
    return from;
}

/* Finds the newest due occurrences, oldest first. */
static size_t find_due(const struct ch_schedule *s, int64_t now, struct ch_schedule_due *out) {
    int64_t at = look_from(s, now);
    size_t n = 0;
    while ((at = ch_schedule_next(s, at)) <= now) {
        if (out->n == CH_LIMIT_MISSED)
            memmove(out->times, out->times + 1, --out->n * sizeof(out->times[0]));
        out->times[out->n++] = at;
        if (++n % MOST_LOOKS == 0) /* a schedule with very many occurrences: skip to the last day */
            at = CH_MAX(at, now - DAY_MS);
    }
    return n;
}

static void schedule_keep_newest(struct ch_schedule_due *out, size_t n) {
    memmove(out->times, out->times + out->n - n, n * sizeof(out->times[0]));
    out->n = n;
}

static void bound_by_day(struct ch_schedule *s, struct ch_schedule_due *out) {
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++) {
        int64_t day = local_of(s, out->times[i]) / 86400;
        if (day != s->state.day) {
            s->state.day = day;
            s->state.runs = 0;
        }
        if (s->is.max_runs_per_day && s->state.runs >= s->is.max_runs_per_day) {
            out->over++;
            continue;
        }
        s->state.runs++;
        out->times[n++] = out->times[i];
    }
    out->n = n;
}

void ch_schedule_due(struct ch_schedule *s, int64_t now, struct ch_schedule_due *out) {
    *out = (struct ch_schedule_due){.set_back = s->state.last > now + DAY_MS ||
                                                s->state.since > now + DAY_MS};
    if (!s->state.since || out->set_back) {
        s->state.since = s->state.last = now;
        return;
    }
    size_t found = find_due(s, now, out);
    if (!out->n)
        return;
    s->state.last = CH_MAX(s->state.last, out->times[out->n - 1]);
    bool late = now - out->times[out->n - 1] > LATE_MS;
    if (s->is.missed == CHELA_MISSED_SKIP)
        schedule_keep_newest(out, late ? 0 : 1);
    else if (s->is.missed != CHELA_MISSED_ALL)
        schedule_keep_newest(out, 1);
    out->skipped = found - out->n;
    bound_by_day(s, out);
}

/* --- an occurrence */

static void add_utc(struct ch_buf *out, int64_t ms) {
    struct ch_date d = ch_date_of(ms / 1000);
    ch_date_write(out, &d);
    ch_buf_add_str(out, "Z");
}

void ch_schedule_event_id(const struct ch_schedule *s, int64_t due, struct ch_buf *out) {
    ch_buf_addf(out, CH_SCHEDULE_NOTE "%s/", s->is.name);
    add_utc(out, due);
}

void ch_schedule_session(const struct ch_schedule *s, int64_t due, struct ch_buf *out) {
    if (s->is.session)
        ch_buf_add_str(out, s->is.session);
    else
        ch_buf_addf(out, "%s%s", s->is.wake_file ? "" : "schedule:", s->is.name);
    if (!s->is.fresh)
        return;
    ch_buf_add_str(out, ":");
    add_utc(out, due);
}

void ch_schedule_stamp(const struct ch_schedule *s, int64_t due, struct ch_buf *out) {
    int offset = ch_zone_at(s->zone, due / 1000).offset;
    struct ch_date d = ch_date_of(due / 1000 + offset);
    ch_date_write(out, &d);
    ch_offset_write(out, offset);
}

/* --- public functions */

int chela_schedule_check(const struct chela_schedule *given, struct chela_error *err) {
    CH_AUTO(ch_schedule) s = NULL;
    return ch_schedule_new(given, NULL, &s, err);
}

int chela_schedule_next(const struct chela_schedule *given, int64_t after, int64_t *out,
                        struct chela_error *err) {
    CH_AUTO(ch_schedule) s = NULL;
    int rc = ch_schedule_new(given, NULL, &s, err);
    if (rc == 0)
        *out = ch_schedule_next(s, after);
    return rc;
}

char *chela_schedule_time(const struct chela_schedule *given, int64_t ms) {
    CH_AUTO(ch_schedule) s = NULL;
    CH_BUF_AUTO out = {0};
    if (ch_schedule_new(given, NULL, &s, NULL) == 0)
        ch_schedule_stamp(s, ms, &out);
    ch_buf_str(&out);
    return ch_buf_take(&out);
}

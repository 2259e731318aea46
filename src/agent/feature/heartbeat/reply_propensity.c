/* reply_propensity.c -- a companion's willingness to speak; see chela/heartbeat.h.
 *
 *   line --rules--> decided: own, bot, direct, mention, name, hushed, ...
 *     `--gain--> W --above the threshold?--> p --reduced by share--> dice
 *
 * Nothing is computed between lines: W is a number with the time of its last change, and
 * its decay is computed when it is read. W decays more slowly while the chat is lively and
 * while W is above the threshold, so the time is split where one of these changes; within
 * each piece the decay is exponential.
 *
 * No clock and no I/O. The dice are a seeded generator that is rolled once per line,
 * whatever the decision. */
#include <ctype.h>
#include <math.h>

#include "agent/feature/heartbeat/reply_propensity.h"
#include "base/arena.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/sv.h"
#include "chela/heartbeat.h"
#include "json/json.h"
#include "json/writer.h"

#define LIVELY_S 15 /* seconds after a line in which a chat is lively */
#define RECENT_S 60
#define LIVELY_RATE 0.3
#define RECENT_RATE 0.7
#define EAGER_RATE 0.5 /* factor of the decay above the threshold */
#define FORGOTTEN 0.01
#define SHARE_LINES 40.0  /* time constant of the share, in lines */
#define SHARE_KNOWN 20    /* lines before the share is used */
#define LOWEST_THRESHOLD 0.6
#define DEFAULT_HUSH_S 600
#define DEFAULT_BOT_TURNS 3
#define DAY_MIN (24 * 60)
#define LATEST (INT64_C(1) << 53) /* greatest time in ms that JSON represents exactly */

struct chela_willing {
    enum chela_chat_kind kind;
    struct chela_willing_opts o;
    struct chela_willing_rules r; /* lists are in the arena */
    struct ch_arena arena;
    double w;
    int64_t at;        /* time of w */
    int64_t last_line; /* time of the last line */
    int64_t refractory_end, hushed_end;
    double own, all;    /* exponentially weighted numbers of own lines and all lines */
    unsigned lines;     /* number of all lines */
    unsigned bot_turns; /* consecutive answers to bots */
    uint64_t dice;
    bool turning; /* a turn is in progress and was charged */
};

const char *chela_urge_name(enum chela_urge_reason r) {
    static const char *const names[] = {
#define NAME(name, value, text, answered) [value] = text,
        CHELA_URGES(NAME)
#undef NAME
    };
    return (size_t)r < CH_LEN(names) ? names[r] : "?";
}

static bool is_answered(enum chela_urge_reason r) {
    static const bool answered[] = {
#define ANSWERED(name, value, text, is) [value] = is,
        CHELA_URGES(ANSWERED)
#undef ANSWERED
    };
    return answered[r];
}

int chela_willing_defaults(enum chela_chat_kind kind, struct chela_willing_opts *out,
                           struct chela_error *err) {
    struct chela_willing_opts own = CHELA_WILLING_OPTS(
        .answer_all = kind == CHELA_CHAT_DIRECT, .text = 12, .mention = 100, .quote = 15,
        .direct = 40, .keyword_factor = 1.2, .most = 100, .half_life_s = 600, .threshold = 55,
        .slope = 0.04, .reply_cost = 35, .refractory_s = 20, .share_low = 0.05,
        .share_high = 0.2);
    CH_NEEDS_ARG(out, err);
    return CH_OPTS_WRITE(chela_willing_opts, out, &own, err);
}

int ch_reply_propensity_read(enum chela_chat_kind kind, const struct chela_willing_opts *given,
                             struct chela_willing_opts *out, struct chela_error *err) {
    out->size = sizeof(*out);
    chela_willing_defaults(kind, out, NULL);
    return CH_OPTS_OVERLAY(chela_willing_opts, out, given, err);
}

/* --- life */

static const char *const *copy_list(struct ch_arena *a, const char *const *list) {
    size_t n = 0;
    while (list && list[n])
        n++;
    const char **copy = ch_arena_zalloc(a, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = ch_arena_str(a, ch_sv_str(list[i]));
    return copy;
}

int chela_willing_new(enum chela_chat_kind kind, const struct chela_willing_opts *opts,
                      const struct chela_willing_rules *rules, chela_willing **out,
                      struct chela_error *err) {
    chela_willing *w = ch_alloc(sizeof(*w));
    w->kind = kind;
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    int rc = ch_reply_propensity_read(kind, opts, &w->o, err);
    if (rc == 0)
        rc = CH_OPTS_READ(chela_willing_rules, &w->r, rules, err);
    if (rc < 0) {
        ch_free(w);
        return rc;
    }
    w->r.names = copy_list(&w->arena, w->r.names);
    w->r.keywords = copy_list(&w->arena, w->r.keywords);
    w->r.stop_words = copy_list(&w->arena, w->r.stop_words);
    w->r.hush_s = w->r.hush_s > 0 ? w->r.hush_s : DEFAULT_HUSH_S;
    w->r.bot_turns = w->r.bot_turns ? w->r.bot_turns : DEFAULT_BOT_TURNS;
    w->at = w->last_line = w->refractory_end = w->hushed_end = INT64_MIN;
    w->dice = w->r.seed;
    *out = w;
    return 0;
}

void chela_willing_free(chela_willing *w) {
    if (!w)
        return;
    ch_arena_release(&w->arena);
    ch_free(w);
}

/* --- time */

/* w after `s` seconds. The rate is lower above the threshold. */
static double decay(const struct chela_willing_opts *o, double w, double s, double rate) {
    double lambda = M_LN2 / o->half_life_s * rate;
    if (w > o->threshold && o->threshold > 0) {
        double until = log(w / o->threshold) / (lambda * EAGER_RATE);
        if (s <= until)
            return w * exp(-lambda * EAGER_RATE * s);
        w = o->threshold;
        s -= until;
    }
    return w * exp(-lambda * s);
}

double chela_willing_at(const chela_willing *w, int64_t at) {
    CH_NEEDS_OR(w, NULL, 0);
    static const struct {
        double until, rate;
    } pieces[] = {{LIVELY_S, LIVELY_RATE}, {RECENT_S, RECENT_RATE}, {INFINITY, 1}};
    double value = w->w;
    if (w->at == INT64_MIN || at <= w->at || w->w <= 0)
        return value;
    double from = (double)(w->at - w->last_line) / 1000, to = (double)(at - w->last_line) / 1000;
    for (size_t i = 0; i < CH_LEN(pieces) && from < to; i++) {
        double end = fmin(to, pieces[i].until);
        if (end <= from)
            continue;
        value = decay(&w->o, value, end - from, pieces[i].rate);
        from = end;
    }
    return value < FORGOTTEN ? 0 : value;
}

/* Advances to `at`, or to LATEST. An earlier time than the present one is replaced by the
 * present one. */
static void advance(chela_willing *w, int64_t at) {
    at = CH_MIN(at, LATEST);
    at = w->at == INT64_MIN ? at : CH_MAX(at, w->at);
    w->w = chela_willing_at(w, at);
    w->at = at;
}

static bool is_quiet_hour(const struct chela_willing_rules *r, int64_t at) {
    int64_t minute = (at / 60000 + r->utc_offset) % DAY_MIN;
    minute = minute < 0 ? minute + DAY_MIN : minute;
    if (r->quiet_from == r->quiet_to)
        return false;
    if (r->quiet_from < r->quiet_to)
        return minute >= r->quiet_from && minute < r->quiet_to;
    return minute >= r->quiet_from || minute < r->quiet_to;
}

static int two_digits(const char *p, int most) {
    if (!isdigit((unsigned char)p[0]) || !isdigit((unsigned char)p[1]))
        return -1;
    int v = (p[0] - '0') * 10 + (p[1] - '0');
    return v <= most ? v : -1;
}

/* Minutes of "HH:MM" at p, if `end` follows; negative: the text has another form. */
static int clock_time(const char *p, char end) {
    size_t n = strnlen(p, 6);
    int h = n >= 5 ? two_digits(p, 23) : -1, m = n >= 5 ? two_digits(p + 3, 59) : -1;
    return h < 0 || m < 0 || p[2] != ':' || p[5] != end ? -1 : h * 60 + m;
}

int chela_quiet_hours_read(const char *text, int *from, int *to, struct chela_error *err) {
    CH_NEEDS_ARG(text, err);
    CH_NEEDS_ARG(from && to, err);
    int a = clock_time(text, '-'), b = a < 0 ? -1 : clock_time(text + 6, '\0');
    if (b < 0)
        return ch_fail(err, CHELA_EINVAL, "expected quiet hours such as 23:00-07:30");
    *from = a;
    *to = b;
    return 0;
}

int chela_utc_offset_read(const char *text, int *minutes, struct chela_error *err) {
    CH_NEEDS_ARG(text, err);
    CH_NEEDS_ARG(minutes, err);
    bool sign = *text == '+' || *text == '-';
    int m = sign ? clock_time(text + 1, '\0') : -1;
    if (m < 0 || m > 14 * 60)
        return ch_fail(err, CHELA_EINVAL, "expected an offset from UTC such as +08:00");
    *minutes = *text == '-' ? -m : m;
    return 0;
}

/* --- words */

static bool reply_propensity_is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool same_nocase(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[i]))
            return false;
    return true;
}

/* True: the text contains `word`. A word of Latin letters must be a whole word. */
static bool holds(struct chela_str text, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; n && i + n <= text.n; i++) {
        const char *p = text.p + i;
        bool begins =
            i == 0 || !reply_propensity_is_word(p[-1]) || !reply_propensity_is_word(word[0]);
        bool ends = i + n == text.n || !reply_propensity_is_word(p[n]) ||
                    !reply_propensity_is_word(word[n - 1]);
        if (begins && ends && same_nocase(p, word, n))
            return true;
    }
    return false;
}

static bool holds_any(struct chela_str text, const char *const *words) {
    for (; *words; words++)
        if (holds(text, *words))
            return true;
    return false;
}

/* --- willingness */

static double share(const chela_willing *w) {
    return w->all > 0 ? w->own / w->all : 0;
}

static void count_line(chela_willing *w, bool own) {
    double keep = 1 - 1 / SHARE_LINES;
    w->own = w->own * keep + own;
    w->all = w->all * keep + 1;
    w->lines++;
}

/* The gain of a line, by relative willingness: greatest in the middle, small near the top. */
static double dynamic(double r) {
    if (r < 0.2)
        return 1;
    if (r < 0.8)
        return fmax(1, 2 - 4 * (r - 0.5) * (r - 0.5));
    return 1 - (r - 0.8) / 0.2;
}

static double gain(const chela_willing *w, const struct chela_heard *line) {
    const struct chela_willing_opts *o = &w->o;
    double r = w->w / o->most;
    double score = o->text + (line->mention ? o->mention : 0) + (line->quote ? o->quote : 0) +
                   (w->kind == CHELA_CHAT_DIRECT ? o->direct : 0);
    if (holds_any(line->text, w->r.keywords))
        score *= o->keyword_factor;
    return score * fmax(0, 1 - r * r) * fmax(0, dynamic(r));
}

/* The threshold is lower for a companion with a small share of the lines. */
static double threshold(const chela_willing *w) {
    double s = share(w), low = w->o.share_low;
    if (w->lines < SHARE_KNOWN || s >= low)
        return w->o.threshold;
    return w->o.threshold * (LOWEST_THRESHOLD + (1 - LOWEST_THRESHOLD) * s / low);
}

/* The probability is reduced for a companion with a large share of the lines. */
static double restraint(const chela_willing *w) {
    double high = w->o.share_high, middle = (w->o.share_low + high) / 2, s = share(w);
    if (high >= 1 || s <= middle)
        return 1;
    return s >= high ? 0 : (high - s) / (high - middle);
}

static double probability(const chela_willing *w) {
    double over = w->w - threshold(w);
    return over <= 0 ? 0 : fmin(1, over * w->o.slope);
}

/* A random number below 1 (splitmix64). */
static double roll(chela_willing *w) {
    uint64_t z = w->dice += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53;
}

/* --- the decision */

/* Begins or ends the silence that a line asks for. True: the companion is silent. */
static bool update_hush(chela_willing *w, const struct chela_heard *line, bool for_us) {
    if (for_us && holds_any(line->text, w->r.stop_words)) {
        w->hushed_end = w->at + (int64_t)(w->r.hush_s * 1000);
        return true;
    }
    if (for_us)
        w->hushed_end = INT64_MIN; /* being addressed again ends the silence */
    return w->at < w->hushed_end;
}

/* Decides by rules: a line that addresses the companion is answered; a bot only a few times
 * in a row. */
static bool decide_by_rule(chela_willing *w, const struct chela_heard *line,
                           enum chela_urge_reason *out) {
    bool named = holds_any(line->text, w->r.names);
    bool all = w->o.answer_all, for_us = all || line->mention || named;
    if (line->bot && (!for_us || w->bot_turns >= w->r.bot_turns))
        *out = CHELA_URGE_BOT;
    else if (update_hush(w, line, for_us))
        *out = CHELA_URGE_HUSHED;
    else if (for_us)
        *out = all ? CHELA_URGE_DIRECT : line->mention ? CHELA_URGE_MENTION : CHELA_URGE_NAMED;
    else if (is_quiet_hour(&w->r, w->at))
        *out = CHELA_URGE_QUIET_HOURS;
    else if (w->at < w->refractory_end && !line->quote)
        *out = CHELA_URGE_REFRACTORY;
    else
        return false;
    return true;
}

static enum chela_urge_reason throw_dice(const chela_willing *w, struct chela_urge *out) {
    double p = probability(w);
    out->probability = p * restraint(w);
    if (p <= 0)
        return CHELA_URGE_LOW;
    if (out->roll < out->probability)
        return CHELA_URGE_WILLING;
    return out->roll < p ? CHELA_URGE_ENOUGH : CHELA_URGE_DICE;
}

void chela_willing_hear(chela_willing *w, const struct chela_heard *line,
                        struct chela_urge *out) {
    CH_NEEDS_OR(w, NULL, );
    *out = (struct chela_urge){.reason = CHELA_URGE_OWN, .roll = roll(w)};
    advance(w, line->at);
    if (!line->own) {
        w->w = fmin(w->o.most, w->w + gain(w, line));
        w->last_line = w->at;
        w->bot_turns = line->bot ? w->bot_turns : 0;
        count_line(w, false);
        if (decide_by_rule(w, line, &out->reason))
            out->probability = is_answered(out->reason);
        else
            out->reason = throw_dice(w, out);
        out->reply = is_answered(out->reason);
        w->bot_turns += out->reply && line->bot;
    }
    out->willingness = w->w;
    out->share = share(w);
}

/* Charges a turn: willingness drops to a fixed value, so that one mention does not lead to
 * further turns. */
static void pay(chela_willing *w, int64_t at) {
    advance(w, at);
    w->w = fmax(0, fmin(w->w, w->o.threshold) - w->o.reply_cost);
}

static void reply_propensity_rest(chela_willing *w) {
    w->refractory_end = w->at + (int64_t)(w->o.refractory_s * 1000);
}

void chela_willing_turn(chela_willing *w, int64_t at) {
    CH_NEEDS_OR(w, NULL, );
    pay(w, at);
    reply_propensity_rest(w);
    w->turning = true;
}

void chela_willing_said(chela_willing *w, int64_t at, unsigned lines) {
    CH_NEEDS_OR(w, NULL, );
    if (w->turning)
        advance(w, at);
    else
        pay(w, at);
    reply_propensity_rest(w);
    w->turning = false;
    while (lines--)
        count_line(w, true);
}

/* --- across processes */

static void add_time(struct ch_jw *j, const char *key, int64_t at) {
    if (at != INT64_MIN)
        ch_jw_kint(j, key, at);
}

char *chela_willing_save(const chela_willing *w) {
    CH_NEEDS_OR(w, NULL, NULL);
    struct ch_buf out = {0};
    struct ch_jw j = ch_jw(&out);
    ch_jw_begin(&j, '{');
    ch_jw_kdouble(&j, "w", w->w);
    add_time(&j, "at", w->at);
    add_time(&j, "line", w->last_line);
    add_time(&j, "refractory", w->refractory_end);
    add_time(&j, "hushed", w->hushed_end);
    ch_jw_kdouble(&j, "own", w->own);
    ch_jw_kdouble(&j, "all", w->all);
    ch_jw_kint(&j, "lines", w->lines);
    ch_jw_kint(&j, "bots", w->bot_turns);
    ch_jw_kint(&j, "dice", (int64_t)w->dice);
    ch_jw_kbool(&j, "turn", w->turning);
    ch_jw_end(&j, '}');
    return ch_buf_take(&out);
}

static double read_number(const struct ch_json *v, const char *key, double most) {
    double d = ch_json_double(ch_json_get(v, key), 0);
    return d > 0 ? fmin(d, most) : 0; /* also 0 for NaN */
}

static unsigned read_count(const struct ch_json *v, const char *key) {
    int64_t n = ch_json_int(ch_json_get(v, key), 0);
    return (unsigned)CH_MIN(CH_MAX(n, 0), INT32_MAX);
}

static int64_t read_time(const struct ch_json *v, const char *key) {
    int64_t at = ch_json_int(ch_json_get(v, key), -1);
    return at < 0 || at > LATEST ? INT64_MIN : at;
}

/* Reads the end of a rest, limited to the longest rest that the settings allow. */
static int64_t read_rest(const chela_willing *w, const struct ch_json *v, const char *key,
                         double most_s) {
    int64_t end = read_time(v, key);
    return w->at == INT64_MIN ? INT64_MIN : CH_MIN(end, w->at + (int64_t)(most_s * 1000));
}

/* The state was saved by a clock that was ahead: moves its times back. */
static void move_back(chela_willing *w, int64_t now) {
    int64_t *times[] = {&w->last_line, &w->refractory_end, &w->hushed_end, &w->at};
    int64_t by = w->at - now;
    for (size_t i = 0; i < CH_LEN(times); i++)
        if (*times[i] != INT64_MIN)
            *times[i] -= by;
}

int chela_willing_restore(chela_willing *w, const char *json, size_t len, int64_t now,
                          struct chela_error *err) {
    CH_NEEDS(w, err);
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    int rc = ch_json_parse(&arena, ch_sv(json, len), CH_JSON_REPLACE, &v, NULL, err);
    if (rc < 0)
        return rc;
    if (!ch_json_is(v, CH_JSON_OBJECT))
        return ch_fail(err, CHELA_EPARSE, "expected an object");
    int64_t line = read_time(v, "line");
    w->at = read_time(v, "at");
    w->last_line = line == INT64_MIN || line > w->at ? w->at : line;
    w->w = w->at == INT64_MIN ? 0 : read_number(v, "w", w->o.most);
    w->refractory_end = read_rest(w, v, "refractory", w->o.refractory_s);
    w->hushed_end = read_rest(w, v, "hushed", w->r.hush_s);
    if (w->at != INT64_MIN && w->at > now)
        move_back(w, now);
    w->all = read_number(v, "all", SHARE_LINES);
    w->own = read_number(v, "own", w->all);
    w->lines = read_count(v, "lines");
    w->bot_turns = read_count(v, "bots");
    w->dice = (uint64_t)ch_json_int(ch_json_get(v, "dice"), (int64_t)w->dice);
    w->turning = ch_json_bool(ch_json_get(v, "turn"), false);
    return 0;
}

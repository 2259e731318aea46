/* loop_detector.c -- see loop_detector.h.
 *
 * A step is one hash of tool, arguments and result. Values that change by themselves are
 * left out: members such as "timestamp" or "pid", clock times, dates, long numbers,
 * durations, UUIDs. Equal steps mean that nothing new was learnt. The lowest bit of a step
 * tells whether the call is a poll (is_poll). */
#include "agent/machine/loop_detector.h"

#include "base/chars.h"
#include "base/mem.h"
#include "model/message/ids.h"

const char *ch_loop_kind_name(enum ch_loop_kind kind) {
    static const char *const names[] = {
#define NAME(name, text, limit) text,
        CH_LOOPS(NAME)
#undef NAME
    };
    return names[kind];
}

static int64_t limit_of(const struct chela_loop_guard *given, enum ch_loop_kind kind) {
    static const struct chela_loop_guard defaults = {
        .repeats = 5, .cycles = 3, .texts = 3, .polls = 12, .unknown_tools = 3};
    const int64_t limits[] = {
#define LIMIT(name, text, limit) given->limit ? given->limit : defaults.limit,
        CH_LOOPS(LIMIT)
#undef LIMIT
    };
    return limits[kind];
}

/* --- values that change without progress ----------------------------------------- */

static bool loop_detector_is_word(char c) {
    return ch_char_is(c, CH_CHAR_WORD);
}

static bool loop_detector_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_among(struct ch_sv word, const struct ch_sv *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (list[i].n == word.n && ch_sv_eq(word, list[i]))
            return true;
    return false;
}

/* True: the value of a member with this name says nothing about progress. */
static bool is_volatile(struct ch_sv name) {
    static const struct ch_sv names[] = {
        CH_SV("timestamp"),  CH_SV("time"),       CH_SV("date"),       CH_SV("now"),
        CH_SV("ts"),         CH_SV("created_at"), CH_SV("updated_at"), CH_SV("pid"),
        CH_SV("elapsed"),    CH_SV("duration"),   CH_SV("elapsed_ms"), CH_SV("duration_ms"),
        CH_SV("request_id"), CH_SV("trace_id"),   CH_SV("nonce"),      CH_SV("uptime"),
        CH_SV("expires_at")};
    return is_among(name, names, CH_LEN(names));
}

/* p is behind `"name"`. Returns the end of the member's value if the member is volatile,
 * otherwise p. */
static const char *skip_member(struct ch_sv name, const char *p, const char *end) {
    const char *at = p;
    while (at < end && *at == ' ')
        at++;
    if (at == end || *at != ':' || !is_volatile(name))
        return p;
    for (at++; at < end && *at == ' ';)
        at++;
    if (at < end && *at == '"') {
        for (at++; at < end && *at != '"'; at++)
            if (*at == '\\' && at + 1 < end)
                at++;
        return at < end ? at + 1 : end;
    }
    while (at < end && *at != ',' && *at != '}' && *at != ']' && *at != '\n')
        at++;
    return at;
}

static bool is_uuid(struct ch_sv token) {
    if (token.n != 36)
        return false;
    for (size_t i = 0; i < token.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        char c = token.p[i];
        bool hex = loop_detector_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (dash ? c != '-' : !hex)
            return false;
    }
    return true;
}

static bool is_unit(struct ch_sv s) {
    static const struct ch_sv units[] = {CH_SV("ns"),  CH_SV("us"),     CH_SV("ms"),
                                         CH_SV("s"),   CH_SV("sec"),    CH_SV("seconds"),
                                         CH_SV("min"), CH_SV("minutes")};
    return s.n && is_among(s, units, CH_LEN(units));
}

/* True: the token is a time, a date, a time stamp or a duration, such as 12:30,
 * 2026-11-15T12:30:00Z, 1794729389411 or 0.53s. The token begins with a digit. */
static bool is_clock(struct ch_sv token) {
    size_t digits = 0, number = 0;
    bool colon = false;
    for (size_t i = 0; i < token.n; i++) {
        digits += loop_detector_is_digit(token.p[i]);
        colon |= token.p[i] == ':' && i + 2 < token.n && loop_detector_is_digit(token.p[i + 1]);
    }
    while (number < token.n && (loop_detector_is_digit(token.p[number]) || token.p[number] == '.'))
        number++;
    bool date = number == 4 && token.n >= 10 && token.p[4] == '-' && token.p[7] == '-';
    bool stamp = digits >= 9 && digits == token.n;
    return colon || date || stamp || is_unit(ch_sv(token.p + number, token.n - number));
}

static const char *token_end(const char *p, const char *end) {
    while (p < end &&
           (loop_detector_is_word(*p) || (p + 1 < end && loop_detector_is_word(p[1]) &&
                                          (*p == ':' || *p == '.' || *p == '-' || *p == '+'))))
        p++;
    return p;
}

/* Skips a unit of time that follows a number, as in "3.2 seconds". */
static const char *skip_unit(const char *p, const char *end) {
    if (p == end || *p != ' ')
        return p;
    const char *last = token_end(p + 1, end);
    return is_unit(ch_sv(p + 1, (size_t)(last - p - 1))) ? last : p;
}

/* Returns the end of a volatile text at p, which begins a string or a word. If there is none,
 * returns p, and *past is the end of the quote or of the word. */
static const char *skip_volatile(const char *p, const char *end, const char **past) {
    *past = p + 1;
    if (*p == '"') {
        const char *close = memchr(p + 1, '"', CH_MIN((size_t)(end - p - 1), 24));
        if (!close)
            return p;
        const char *after = skip_member(ch_sv(p + 1, (size_t)(close - p - 1)), close + 1, end);
        return after == close + 1 ? p : after;
    }
    const char *last = *past = token_end(p, end);
    struct ch_sv token = ch_sv(p, (size_t)(last - p));
    if (is_uuid(token) || (loop_detector_is_digit(*p) && is_clock(token)))
        return last;
    const char *unit = loop_detector_is_digit(*p) ? skip_unit(last, end) : last;
    return unit == last ? p : unit;
}

static uint64_t digest(uint64_t h, struct ch_sv s) {
    const char *p = s.p, *end = s.p + s.n, *from = p;
    while (p < end) {
        bool begins = *p == '"' || loop_detector_is_word(*p);
        const char *token = p + 1, *next = begins ? skip_volatile(p, end, &token) : p;
        if (next != p) {
            h = ch_hash(h, ch_sv(from, (size_t)(p - from)));
            from = token = next;
        }
        p = token;
    }
    return ch_hash(h, ch_sv(from, (size_t)(end - from)));
}

/* --- calls and results ------------------------------------------------------------- */

static uint32_t step_before(const struct ch_loop_detector *g, unsigned back) {
    return g->steps[(g->n - 1 - back) % CH_LOOP_DETECTOR_STEPS];
}

static unsigned remembered(const struct ch_loop_detector *g) {
    return CH_MIN(g->n, CH_LOOP_DETECTOR_STEPS);
}

/* True: `step` is among the `last` newest steps. */
static bool seen(const struct ch_loop_detector *g, uint32_t step, unsigned last) {
    for (unsigned i = 0; i < last && i < remembered(g); i++)
        if (step_before(g, i) == step)
            return true;
    return false;
}

/* True: the tool asks for the status of something. Equal answers are expected for a while. */
static bool is_poll(struct ch_sv name) {
    static const char *const words[] = {"poll", "status", "wait", "progress", "process"};
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (ch_sv_contains_nocase(name, words[i]))
            return true;
    return false;
}

void ch_loop_detector_call(struct ch_loop_detector *g, struct ch_sv name, struct ch_sv arguments,
                           struct ch_sv result, bool unknown_tool) {
    uint64_t call = unknown_tool ? ch_hash(1, name) : digest(ch_hash(0, name), arguments);
    uint64_t whole = unknown_tool ? call : digest(call, result);
    uint32_t step = ((uint32_t)(whole ^ whole >> 32) & ~(uint32_t)1) | is_poll(name);
    if (seen(g, step, g->turn))
        return; /* the same call twice in one turn counts once */
    bool again = g->n > 0 && step_before(g, 0) == step;
    g->news |= !seen(g, step, CH_LOOP_DETECTOR_STEPS);
    g->turn++;
    g->same = again ? g->same + 1 : 1;
    g->unknown = unknown_tool;
    g->steps[g->n++ % CH_LOOP_DETECTOR_STEPS] = step;
}

/* Returns how many times in a row the last `period` steps were repeated. */
static unsigned cycles(const struct ch_loop_detector *g, unsigned period) {
    unsigned same = 0, most = remembered(g);
    while (same + period < most && step_before(g, same) == step_before(g, same + period))
        same++;
    return same / period + 1;
}

static bool polled(const struct ch_loop_detector *g, unsigned last) {
    for (unsigned i = 0; i < last && i < remembered(g); i++)
        if (step_before(g, i) & 1)
            return true;
    return false;
}

/* Raises the verdict: a note at the limit of the kind, the end at one and a half times the
 * limit. */
static void consider(struct ch_loop_detector *g, const struct chela_loop_guard *limits,
                     enum ch_loop_kind kind, unsigned count, enum ch_loop_verdict *worst) {
    int64_t limit = limit_of(limits, kind);
    if (limit < 0 || count < limit)
        return;
    enum ch_loop_verdict v =
        count >= limit + (limit + 1) / 2 ? CH_LOOP_VERDICT_END : CH_LOOP_VERDICT_NOTE;
    if (v <= *worst)
        return;
    *worst = v;
    g->kind = kind;
    g->count = count;
}

static enum ch_loop_verdict judge(struct ch_loop_detector *g,
                                  const struct chela_loop_guard *limits) {
    enum ch_loop_verdict worst = CH_LOOP_VERDICT_FINE;
    consider(g, limits,
             g->unknown     ? CH_LOOP_UNKNOWN
             : polled(g, 1) ? CH_LOOP_POLL
                            : CH_LOOP_REPEAT,
             g->same, &worst);
    for (unsigned p = 2; g->same < 2 && p <= CH_LOOP_DETECTOR_PERIOD; p++) {
        enum ch_loop_kind kind = p == 2 ? CH_LOOP_PING_PONG : CH_LOOP_SEQUENCE;
        consider(g, limits, polled(g, p) ? CH_LOOP_POLL : kind, cycles(g, p), &worst);
    }
    consider(g, limits, CH_LOOP_TEXT, g->texts, &worst);
    return worst;
}

enum ch_loop_verdict ch_loop_detector_turn(struct ch_loop_detector *g,
                                           const struct chela_loop_guard *limits,
                                           struct ch_sv text) {
    uint64_t h = text.n ? digest(0, text) : 0;
    bool again = text.n && h == g->text && !g->news;
    g->texts = again ? g->texts + 1 : text.n > 0;
    g->text = h;
    g->news = false;
    g->turn = 0;
    enum ch_loop_verdict v = judge(g, limits);
    bool told = g->noted;
    g->noted = v != CH_LOOP_VERDICT_FINE;
    if (told)
        return v == CH_LOOP_VERDICT_END ? CH_LOOP_VERDICT_END : CH_LOOP_VERDICT_FINE;
    return CH_MIN(v, CH_LOOP_VERDICT_NOTE);
}

void ch_loop_detector_describe(const struct ch_loop_detector *g, struct ch_sv last,
                               struct ch_buf *out) {
    int n = (int)last.n;
    switch (g->kind) {
    case CH_LOOP_NONE:
        return;
    case CH_LOOP_REPEAT:
        ch_buf_addf(out, "%.*s was called %u times in a row with the same result", n, last.p,
                    g->count);
        return;
    case CH_LOOP_POLL:
        ch_buf_addf(out, "%.*s was asked %u times and nothing changed", n, last.p, g->count);
        return;
    case CH_LOOP_PING_PONG:
        ch_buf_addf(out, "the same two calls took turns %u times with the same results, %.*s last",
                    g->count, n, last.p);
        return;
    case CH_LOOP_SEQUENCE:
        ch_buf_addf(out, "the same calls were made %u times over with the same results, %.*s last",
                    g->count, n, last.p);
        return;
    case CH_LOOP_TEXT:
        ch_buf_addf(out, "the same was said %u times and nothing new was done", g->count);
        return;
    case CH_LOOP_UNKNOWN:
        ch_buf_addf(out, "%.*s, which is no tool, was called %u times", n, last.p, g->count);
        return;
    }
}

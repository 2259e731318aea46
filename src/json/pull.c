/* pull.c -- see pull.h.
 *
 * The state between calls is a position, a depth and whether a comma is
 * expected. The caller knows the kind of the open container, since it entered
 * the container. Only skipping a container meets nesting that the caller does
 * not walk; it keeps one bit per level. */
#include "json/pull.h"

#include "json/scan.h"

static bool pull_fail(struct ch_pull *p) {
    p->failed = true;
    p->at = p->end;
    return false;
}

void ch_pull_init(struct ch_pull *p, struct ch_sv text, struct ch_buf *scratch) {
    if (!text.p)
        text = CH_SV("");
    *p = (struct ch_pull){.at = text.p, .end = text.p + text.n, .scratch = scratch, .fresh = true};
    if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
        p->at += 3;
    if (text.n > CH_LIMIT_JSON_TEXT)
        pull_fail(p);
}

/* Record that a value ended at `at`. */
static inline bool pull_ended(struct ch_pull *p, const char *at) {
    p->at = at;
    p->fresh = false;
    if (CH_SCAN_LIKELY(p->depth > 0))
        return true;
    p->at = ch_scan_space(at, p->end);
    return p->at == p->end || pull_fail(p);
}

char ch_pull_peek(struct ch_pull *p) {
    return ch_scan_next(&p->at, p->end);
}

/* Reserve n bytes that do not move while this text is read. Decoding makes a
 * string at most three times as long as its source, so the memory reserved at
 * the first string is enough for one walk. The check stops a caller that reads
 * the same text repeatedly through copies of p. */
static char *scratch_room(struct ch_pull *p, const char *from, size_t n) {
    struct ch_buf *scratch = p->scratch;
    if (!p->scratch_ready) {
        ch_buf_clear(scratch);
        p->scratch_ready = ch_buf_reserve(scratch, 3 * (size_t)(p->end - from));
    }
    if (!p->scratch_ready || scratch->cap - scratch->n <= n)
        return NULL;
    return scratch->p + scratch->n;
}

/* Add the decoded text between `begin` and `end` to the scratch buffer. */
static void pull_keep(struct ch_pull *p, char *begin, char *end, struct ch_sv *out) {
    *out = ch_sv(begin, (size_t)(end - begin));
    ch_buf_commit(p->scratch, out->n);
}

/* Take a string that is longer than its head, which is decoded in `begin`. */
static const char *pull_long_string(struct ch_pull *p, const char *start, struct ch_scan_head done,
                                    char *begin, struct ch_sv *out) {
    struct ch_scan_string s;
    struct ch_scan_fail why;
    const char *quote = done.at ? ch_scan_quote(done.at, p->end) : NULL;
    char *end = quote && scratch_room(p, start, (size_t)(quote - start) + CH_SCAN_BEYOND)
                    ? ch_scan_unescape_rest(done.at, quote, p->end, done.out)
                    : NULL;
    if (end) {
        pull_keep(p, begin, end, out);
        return quote + 1;
    }
    if (!ch_scan_string_rest(start, p->end, CH_JSON_REPLACE, &s, &why))
        return NULL;
    begin = scratch_room(p, start, (size_t)(s.quote - start) + s.extra);
    if (!begin)
        return NULL;
    pull_keep(p, begin, begin + ch_scan_decode(&s, start, begin), out);
    return s.quote + 1;
}

__attribute__((noinline)) static const char *pull_rich_string(struct ch_pull *p, const char *start,
                                                              const char *at, struct ch_sv *out) {
    struct ch_scan_head done = {0};
    at = ch_scan_text_rest(at, p->end);
    if (at < p->end && *at == '"') {
        *out = ch_sv(start, (size_t)(at - start));
        return at + 1;
    }
    char *begin = scratch_room(p, start, ch_scan_head_room(start, at, p->end));
    if (begin)
        done = ch_scan_unescape_head(start, at, p->end, begin);
    if (!done.at || *done.at != '"')
        return pull_long_string(p, start, done, begin, out);
    pull_keep(p, begin, done.out, out);
    return done.at + 1;
}

/* Take the string whose opening quote is at `at`; returns its end, or NULL. */
static inline const char *take_string(struct ch_pull *p, const char *at, struct ch_sv *out) {
    const char *start = at + 1, *stop = ch_scan_plain(start, p->end);
    if (stop == p->end || *stop != '"')
        return pull_rich_string(p, start, stop, out);
    *out = ch_sv(start, (size_t)(stop - start));
    return stop + 1;
}

/* Skip a value of another type than requested. */
static bool pull_pass_over(struct ch_pull *p) {
    ch_pull_skip(p);
    return false;
}

bool ch_pull_enter(struct ch_pull *p, char open) {
    const char *at = p->at;
    if (ch_scan_next(&at, p->end) != open)
        return pull_pass_over(p);
    if (p->depth == CH_LIMIT_PULL_DEPTH)
        return pull_fail(p);
    p->at = at + 1;
    p->depth++;
    p->fresh = true;
    return true;
}

/* Leave the container whose closing bracket is at `at`. */
static bool pull_leave(struct ch_pull *p, const char *at) {
    p->depth--;
    pull_ended(p, at + 1);
    return false;
}

bool ch_pull_key(struct ch_pull *p, struct ch_sv *key) {
    const char *at = p->at, *end = p->end;
    char c = ch_scan_next(&at, end);
    if (c == '}' && p->depth)
        return pull_leave(p, at);
    if (!p->fresh) {
        if (c != ',')
            return pull_fail(p);
        at++;
        c = ch_scan_next(&at, end);
    }
    if (c != '"' || !(at = take_string(p, at, key)))
        return pull_fail(p);
    if (ch_scan_next(&at, end) != ':')
        return pull_fail(p);
    p->at = at + 1;
    return true;
}

bool ch_pull_item(struct ch_pull *p) {
    const char *at = p->at;
    char c = ch_scan_next(&at, p->end);
    if (c == ']' && p->depth)
        return pull_leave(p, at);
    if (!p->fresh) {
        if (c != ',')
            return pull_fail(p);
        at++;
        c = ch_scan_next(&at, p->end);
    }
    if (c == ']' || c == '\0')
        return pull_fail(p);
    p->at = at;
    return true;
}

bool ch_pull_str(struct ch_pull *p, struct ch_sv *out) {
    const char *at = p->at;
    if (ch_scan_next(&at, p->end) != '"')
        return pull_pass_over(p);
    at = take_string(p, at, out);
    return at ? pull_ended(p, at) : pull_fail(p);
}

bool ch_pull_str_raw(struct ch_pull *p, struct ch_sv *out, struct ch_sv *raw) {
    const char *start = ch_pull_peek(p) ? p->at + 1 : NULL;
    if (!ch_pull_str(p, out))
        return false;
    *raw = ch_sv(start, (size_t)(p->at - 1 - start));
    return true;
}

/* Take a number as a node, for the functions of number.h. */
static inline bool pull_take_number(struct ch_pull *p, struct ch_json *v) {
    struct ch_scan_fail why;
    bool integer;
    const char *start = p->at;
    char c = ch_scan_next(&start, p->end);
    if (c != '-' && !ch_scan_is_digit(c))
        return pull_pass_over(p);
    const char *at = ch_scan_number(start, p->end, &integer, &why);
    if (!at)
        return pull_fail(p);
    *v = (struct ch_json){.type = CH_JSON_NUMBER, .n = (uint32_t)(at - start), .s = start};
    return pull_ended(p, at);
}

bool ch_pull_int(struct ch_pull *p, int64_t *out) {
    struct ch_json v;
    return pull_take_number(p, &v) && ch_json_as_int(&v, out);
}

bool ch_pull_bool(struct ch_pull *p, bool *out) {
    char c = ch_pull_peek(p);
    ch_pull_skip(p);
    if (p->failed || (c != 't' && c != 'f'))
        return false;
    *out = c == 't';
    return true;
}

static const char *skip_string(const char *at, const char *end) {
    struct ch_scan_string s;
    struct ch_scan_fail why;
    at = ch_scan_plain(at, end);
    if (at < end && *at == '"')
        return at + 1;
    return ch_scan_string_rest(at, end, CH_JSON_REPLACE, &s, &why) ? s.quote + 1 : NULL;
}

static const char *skip_scalar(const char *at, const char *end) {
    struct ch_scan_fail why;
    enum ch_json_type type;
    bool integer;
    if (at < end && *at == '"')
        return skip_string(at + 1, end);
    if (at < end && (*at == '-' || ch_scan_is_digit(*at)))
        return ch_scan_number(at, end, &integer, &why);
    return ch_scan_literal(at, end, &type, &why);
}

/* The end of a member's name and colon. */
static const char *skip_name(const char *at, const char *end) {
    at = ch_scan_space(at, end);
    if (at == end || *at != '"' || !(at = skip_string(at + 1, end)))
        return NULL;
    at = ch_scan_space(at, end);
    return at < end && *at == ':' ? at + 1 : NULL;
}

/* The containers open while skipping, one bit each: set for an object. */
struct levels {
    uint64_t bits[(CH_LIMIT_PULL_DEPTH + 63) / 64];
    unsigned n;
};

static bool in_object(const struct levels *l) {
    return l->bits[(l->n - 1) / 64] >> (l->n - 1) % 64 & 1;
}

static void pull_push(struct levels *l, bool object) {
    uint64_t bit = UINT64_C(1) << l->n % 64;
    uint64_t *word = &l->bits[l->n++ / 64];
    *word = object ? *word | bit : *word & ~bit;
}

/* Skip a container's opening bracket and, in an object, its first name; or the
 * whole container if it is empty. */
static const char *skip_open(const char *at, const char *end, struct levels *l) {
    char close = (char)(*at + 2); /* in ASCII, } is { + 2 and ] is [ + 2 */
    bool object = *at == '{';
    at = ch_scan_space(at + 1, end);
    if (at < end && *at == close)
        return at + 1;
    pull_push(l, object);
    return object ? skip_name(at, end) : at;
}

/* Skip closing brackets and the comma after a value, up to the next value or
 * the end of the outermost container. */
static const char *skip_separators(const char *at, const char *end, struct levels *l) {
    while (at && l->n) {
        bool object = in_object(l);
        at = ch_scan_space(at, end);
        if (at < end && *at == ',')
            return object ? skip_name(at + 1, end) : at + 1;
        if (at == end || *at != (object ? '}' : ']'))
            return NULL;
        l->n--;
        at++;
    }
    return at;
}

static const char *skip_value(const char *at, const char *end, unsigned levels_left) {
    struct levels l = {0};
    do {
        at = ch_scan_space(at, end);
        if (at < end && (*at == '{' || *at == '[')) {
            unsigned before = l.n;
            if (before == levels_left)
                return NULL;
            at = skip_open(at, end, &l);
            if (l.n > before)
                continue;
        } else {
            at = skip_scalar(at, end);
        }
        at = skip_separators(at, end, &l);
    } while (at && l.n);
    return at;
}

void ch_pull_skip(struct ch_pull *p) {
    if (p->failed)
        return;
    const char *at = p->at;
    char c = ch_scan_next(&at, p->end);
    if (CH_SCAN_LIKELY(c != '{' && c != '['))
        at = skip_scalar(at, p->end);
    else
        at = skip_value(at, p->end, CH_LIMIT_PULL_DEPTH - p->depth);
    if (at)
        pull_ended(p, at);
    else
        pull_fail(p);
}

const char *ch_pull_past(const char *at, const char *end) {
    struct ch_pull p = {.at = at, .end = end, .depth = 1};
    ch_pull_skip(&p);
    return p.failed ? NULL : p.at;
}

bool ch_pull_raw(struct ch_pull *p, struct ch_sv *out) {
    if (p->failed)
        return false;
    const char *start = ch_scan_space(p->at, p->end);
    const char *at = skip_value(start, p->end, CH_LIMIT_PULL_DEPTH - p->depth);
    if (!at)
        return pull_fail(p);
    *out = ch_sv(start, (size_t)(at - start));
    return pull_ended(p, at);
}

/* writer.c -- see writer.h.
 *
 * A value of known length (a plain string, a number, a key with its colon) is
 * written with one reservation in the buffer. */
#include "json/writer.h"

#include <assert.h>
#include <math.h>
#include <time.h>

#include "base/limits.h"
#include "json/number.h"
#include "json/scan.h"

/* Writes the escape of a quote, backslash or control character. Returns its end. */
static inline char *put_escape(char *to, unsigned char c) {
    static const char hex[] = "0123456789abcdef";
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    char letter = c < 0x20 ? letters[c] : (char)c;
    *to++ = '\\';
    *to++ = letter ? letter : 'u';
    if (letter)
        return to;
    *to++ = '0';
    *to++ = '0';
    *to++ = hex[c >> 4];
    *to++ = hex[c & 15];
    return to;
}

/* Adds at most SPAN bytes of ASCII, escaped byte by byte: several escapes are often close
 * together, and a search for each would take longer. Returns the first byte that was not added.
 * The bytes are written in place, except near the end of the buffer. */
static const char *add_escaped(struct ch_buf *out, const char *at, const char *end) {
    enum { SPAN = 24, LONGEST = 6 };
    char aside[LONGEST * SPAN];
    bool direct = out->cap - out->n > sizeof(aside) && !out->overflow;
    char *start = direct ? out->p + out->n : aside, *to = start;
    const char *stop = at + CH_MIN(end - at, SPAN);
    for (; at < stop && !(*at & 0x80); at++) {
        if (ch_scan_is_plain(*at))
            *to++ = *at;
        else
            to = put_escape(to, (unsigned char)*at);
    }
    if (direct)
        ch_buf_commit(out, (size_t)(to - start));
    else
        ch_buf_add(out, aside, (size_t)(to - aside));
    return at;
}

void ch_json_escape(struct ch_buf *out, struct ch_sv s) {
    const char *at = s.p, *end = s.p + s.n;
    while (at < end) {
        const char *stop = ch_scan_text(at, end);
        ch_buf_add(out, at, (size_t)(stop - at));
        at = stop;
        if (at < end && (*at & 0x80)) {
            CH_BUF_LIT(out, "\xef\xbf\xbd");
            at++;
        } else if (at < end) {
            at = add_escaped(out, at, end);
        }
    }
}

/* Write `before`, s in quotes, and `after`; `before` and `after` may be 0
 * (none). */
static void json_writer_add_quoted(struct ch_buf *out, char before, struct ch_sv s, char after) {
    size_t n = s.n + 2 + (before != 0) + (after != 0);
    char *to = ch_buf_reserve(out, n);
    if (!to)
        return;
    if (before)
        *to++ = before;
    *to++ = '"';
    if (s.n)
        memcpy(to, s.p, s.n);
    to += s.n;
    *to++ = '"';
    if (after)
        *to = after;
    ch_buf_commit(out, n);
}

/* As json_writer_add_quoted, for a string that may need escapes. */
static void add_string(struct ch_buf *out, char before, struct ch_sv s, char after) {
    if (s.n == 0 || ch_scan_plain(s.p, s.p + s.n) == s.p + s.n) {
        json_writer_add_quoted(out, before, s, after);
        return;
    }
    ch_buf_add(out, (char[]){before, '"'} + !before, before ? 2 : 1);
    ch_json_escape(out, s);
    ch_buf_add(out, (char[]){'"', after}, after ? 2 : 1);
}

void ch_json_quote(struct ch_buf *out, struct ch_sv s) {
    add_string(out, 0, s, 0);
}

/* The character to write before the next value or key; 0: none. */
static inline char separator(const struct ch_jw *w) {
    return w->comma ? ',' : 0;
}

void ch_jw_begin(struct ch_jw *w, char open) {
    if (w->comma)
        ch_buf_addc(w->out, ',');
    ch_buf_addc(w->out, open);
    w->comma = false;
}

void ch_jw_end(struct ch_jw *w, char close) {
    ch_buf_addc(w->out, close);
    w->comma = true;
}

void ch_jw_key_sv(struct ch_jw *w, struct ch_sv key) {
    add_string(w->out, separator(w), key, ':');
    w->comma = false;
}

void ch_jw_key(struct ch_jw *w, const char *key) {
    ch_jw_key_sv(w, ch_sv_str(key));
}

void ch_jw_str(struct ch_jw *w, struct ch_sv s) {
    add_string(w->out, separator(w), s, 0);
    w->comma = true;
}

void ch_jw_raw(struct ch_jw *w, struct ch_sv json) {
    if (w->comma)
        ch_buf_addc(w->out, ',');
    ch_buf_add_sv(w->out, json);
    w->comma = true;
}

void ch_jw_null(struct ch_jw *w) {
    ch_jw_raw(w, CH_SV("null"));
}

void ch_jw_bool(struct ch_jw *w, bool v) {
    ch_jw_raw(w, v ? CH_SV("true") : CH_SV("false"));
}

void ch_jw_cstr(struct ch_jw *w, const char *s) {
    if (s)
        ch_jw_str(w, ch_sv_str(s));
    else
        ch_jw_null(w);
}

void ch_jw_int(struct ch_jw *w, int64_t v) {
    char text[20], *at = text + sizeof(text); /* "-9223372036854775808" */
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0)
        *--at = '-';
    ch_jw_raw(w, ch_sv(at, (size_t)(text + sizeof(text) - at)));
}

void ch_jw_double(struct ch_jw *w, double v) {
    char text[CH_NUMBER_MAX];
    if (isfinite(v))
        ch_jw_raw(w, ch_sv(text, ch_number_format(text, v)));
    else
        ch_jw_null(w);
}

static void write_string(struct ch_jw *w, const struct ch_json *v, char after) {
    struct ch_sv s = ch_sv(v->s, v->n);
    if (v->flags & CH_JSON_PLAIN)
        json_writer_add_quoted(w->out, separator(w), s, after);
    else
        add_string(w->out, separator(w), s, after);
    w->comma = !after;
}

static void write_scalar(struct ch_jw *w, const struct ch_json *v) {
    switch ((enum ch_json_type)v->type) {
    case CH_JSON_NUMBER:
        ch_jw_raw(w, ch_sv(v->s, v->n));
        break;
    case CH_JSON_STRING:
        write_string(w, v, 0);
        break;
    case CH_JSON_TRUE:
    case CH_JSON_FALSE:
        ch_jw_bool(w, v->type == CH_JSON_TRUE);
        break;
    default:
        ch_jw_null(w);
        break;
    }
}

/* Nodes are in document order: walk them once, and close a container after its
 * last node. */
void ch_jw_value(struct ch_jw *w, const struct ch_json *v) {
    const struct ch_json *open[CH_LIMIT_JSON_DEPTH], *end = v ? ch_json_next(v) : NULL;
    size_t depth = 0;
    bool name = false; /* v is a member's name */
    if (!v)
        ch_jw_null(w);
    for (; v != end; v++) {
        bool member = depth && open[depth - 1]->type == CH_JSON_OBJECT;
        name = member && !name;
        if (name) {
            write_string(w, v, ':');
        } else if (v->type >= CH_JSON_ARRAY) {
            assert(depth < CH_LIMIT_JSON_DEPTH);
            ch_jw_begin(w, v->type == CH_JSON_OBJECT ? '{' : '[');
            open[depth++] = v;
        } else {
            write_scalar(w, v);
        }
        while (depth && v + 1 == ch_json_next(open[depth - 1]))
            ch_jw_end(w, open[--depth]->type == CH_JSON_OBJECT ? '}' : ']');
    }
}

void ch_json_add_text(struct ch_buf *out, const struct ch_json *v) {
    struct ch_jw w = ch_jw(out);
    if (ch_json_is(v, CH_JSON_STRING))
        ch_buf_add_sv(out, ch_json_str(v));
    else
        ch_jw_value(&w, v);
}

void ch_jw_kbegin(struct ch_jw *w, const char *key, char open) {
    ch_jw_key(w, key);
    ch_jw_begin(w, open);
}

void ch_jw_kstr(struct ch_jw *w, const char *key, struct ch_sv s) {
    ch_jw_key(w, key);
    ch_jw_str(w, s);
}

void ch_jw_kcstr(struct ch_jw *w, const char *key, const char *s) {
    ch_jw_key(w, key);
    ch_jw_cstr(w, s);
}

void ch_jw_kint(struct ch_jw *w, const char *key, int64_t v) {
    ch_jw_key(w, key);
    ch_jw_int(w, v);
}

void ch_jw_ktime(struct ch_jw *w, const char *key, int64_t ms) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    char text[40];

    bool ok = gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    ch_jw_kcstr(w, key, ok ? text : NULL);
}

void ch_jw_kdouble(struct ch_jw *w, const char *key, double v) {
    ch_jw_key(w, key);
    ch_jw_double(w, v);
}

void ch_jw_kbool(struct ch_jw *w, const char *key, bool v) {
    ch_jw_key(w, key);
    ch_jw_bool(w, v);
}

void ch_jw_kraw(struct ch_jw *w, const char *key, struct ch_sv json) {
    ch_jw_key(w, key);
    ch_jw_raw(w, json);
}

void ch_jw_kvalue(struct ch_jw *w, const char *key, const struct ch_json *v) {
    ch_jw_key(w, key);
    ch_jw_value(w, v);
}

/* scan.c -- tokens beyond the inline paths of scan.h. */
#include "json/scan.h"

#include "base/utf8.h"
#include "base/vector.h"

const bool ch_scan_plain_bytes[256] = {
    [' '] = true,
    ['!'] = true,
    ['#' ... '['] = true,
    [']' ... 0x7f] = true,
};

/* Marks the bytes of w that are not plain. Bytes from 0x80 on are marked by
 * their own high bit, so the subtractions need no correction. */
static uint64_t stops(uint64_t w) {
    uint64_t quote = (w ^ CH_WORD_OF('"')) - CH_WORD_OF(1);
    uint64_t slash = (w ^ CH_WORD_OF('\\')) - CH_WORD_OF(1);
    uint64_t control = w - CH_WORD_OF(0x20);
    return (quote | slash | control | w) & CH_WORD_HIGH;
}

/* The same for a vector. As signed numbers, bytes from 0x80 on are less than a space too. */
static ch_vector vector_stops(ch_vector v) {
    return (ch_vector)((v == '"') | (v == '\\') | ((ch_vector_signed)v < 0x20));
}

/* The zero bytes that pad the last word count as not plain. */
const char *ch_scan_plain_run(const char *at, const char *end) {
    for (; end - at >= 2 * CH_VECTOR; at += 2 * CH_VECTOR) {
        ch_vector first = vector_stops(ch_vector_load(at)),
                  second = vector_stops(ch_vector_load(at + CH_VECTOR));
        if (!ch_vector_any(first | second))
            continue;
        return ch_vector_any(first) ? at + ch_vector_first(first)
                                    : at + CH_VECTOR + ch_vector_first(second);
    }
    while (end - at >= 8) {
        uint64_t stop = stops(ch_word_load(at));
        if (stop)
            return at + ch_word_first(stop);
        at += 8;
    }
    return at + ch_word_first(stops(ch_word_load_part(at, (size_t)(end - at))));
}

static const char *scan_refuse(struct ch_scan_fail *fail, const char *at, const char *why) {
    *fail = (struct ch_scan_fail){at, why};
    return NULL;
}

/* Pretty-printed text has a newline followed by many spaces. */
const char *ch_scan_space_run(const char *at, const char *end) {
    for (;;) {
        while (end - at >= 8 && ch_word_load(at) == CH_WORD_OF(' '))
            at += 8;
        while (at < end && *at == ' ')
            at++;
        if (at == end || (*at != '\n' && *at != '\r' && *at != '\t'))
            return at;
        at++;
    }
}

static const char *scan_digits(const char *at, const char *end) {
    while (at < end && ch_scan_is_digit(*at))
        at++;
    return at;
}

const char *ch_scan_fraction(const char *at, const char *end, struct ch_scan_fail *fail) {
    if (*at == '.') {
        const char *first = ++at;
        at = scan_digits(at, end);
        if (at == first)
            return scan_refuse(fail, at, "expected a digit after the decimal point");
    }
    if (at == end || (*at | 0x20) != 'e')
        return at;
    at++;
    if (at < end && (*at == '+' || *at == '-'))
        at++;
    const char *first = at;
    at = scan_digits(at, end);
    return at == first ? scan_refuse(fail, at, "expected a digit in the exponent") : at;
}

const char *ch_scan_literal(const char *at, const char *end, enum ch_json_type *type,
                            struct ch_scan_fail *fail) {
    size_t n = (size_t)(end - at);
    if (n >= 4 && memcmp(at, "true", 4) == 0) {
        *type = CH_JSON_TRUE;
        return at + 4;
    }
    if (n >= 4 && memcmp(at, "null", 4) == 0) {
        *type = CH_JSON_NULL;
        return at + 4;
    }
    if (n >= 5 && memcmp(at, "false", 5) == 0) {
        *type = CH_JSON_FALSE;
        return at + 5;
    }
    return scan_refuse(fail, at, n ? "expected a value" : "unexpected end of text");
}

/* Values of hexadecimal digits plus one; 0 for other bytes. */
static const uint8_t hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static inline int hex4_at(const char *at) {
    const unsigned char *b = (const unsigned char *)at;
    int d0 = hex_digits[b[0]], d1 = hex_digits[b[1]], d2 = hex_digits[b[2]],
        d3 = hex_digits[b[3]];
    if (!d0 | !d1 | !d2 | !d3)
        return -1;
    return (d0 << 12) + (d1 << 8) + (d2 << 4) + d3 - 0x1111;
}

int ch_scan_hex4(const char *at, const char *end) {
    return end - at < 4 ? -1 : hex4_at(at);
}

/* The characters of escapes of two bytes; 0 for bytes that make no such escape. */
static const char simple_escapes[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

static bool is_high_surrogate(int unit) {
    return (unit & ~0x3ff) == 0xd800;
}

static bool is_low_surrogate(int unit) {
    return (unit & ~0x3ff) == 0xdc00;
}

/* The low surrogate at `at` that completes a pair, or -1. */
static int low_half(const char *at, const char *end) {
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    int unit = ch_scan_hex4(at + 2, end);
    return is_low_surrogate(unit) ? unit : -1;
}

const char *ch_scan_escape(const char *at, const char *end, enum ch_json_mode mode,
                           struct ch_scan_fail *fail) {
    if (end - at < 2)
        return scan_refuse(fail, end, "unexpected end of text in a string");
    if (simple_escapes[(unsigned char)at[1]])
        return at + 2;
    if (at[1] != 'u')
        return scan_refuse(fail, at, "unknown escape in a string");
    int unit = end - at < 6 ? -1 : hex4_at(at + 2);
    if (unit < 0)
        return scan_refuse(fail, at, "expected four hexadecimal digits after \\u");
    if (is_high_surrogate(unit) && low_half(at + 6, end) >= 0)
        return at + 12;
    if (mode == CH_JSON_STRICT && (is_high_surrogate(unit) || is_low_surrogate(unit)))
        return scan_refuse(fail, at, "lone surrogate in a string");
    return at + 6;
}

/* The end of the characters from 0x80 on that start at `at`; at least one byte
 * further. */
static const char *check_multibyte(const char *at, const char *end, enum ch_json_mode mode,
                                   struct ch_scan_string *s, struct ch_scan_fail *fail) {
    const char *next = ch_utf8_run_multibyte(at, end);
    if (CH_SCAN_LIKELY(next != at))
        return next;
    if (mode == CH_JSON_STRICT)
        return scan_refuse(fail, at, "invalid UTF-8 in a string");
    s->decode = true;
    s->extra += 2; /* one byte becomes the three of U+FFFD */
    return at + 1;
}

bool ch_scan_string_rest(const char *at, const char *end, enum ch_json_mode mode,
                         struct ch_scan_string *s, struct ch_scan_fail *fail) {
    *s = (struct ch_scan_string){0};
    while (at && (at = ch_scan_plain_run(at, end)) < end) {
        if (*at == '"') {
            s->quote = at;
            return true;
        }
        if (*at == '\\') {
            s->decode = true;
            do { /* escapes often follow each other */
                bool simple = end - at >= 2 && simple_escapes[(unsigned char)at[1]];
                at = simple ? at + 2 : ch_scan_escape(at, end, mode, fail);
            } while (at && at < end && *at == '\\');
        } else if (*at & 0x80) {
            at = check_multibyte(at, end, mode, s, fail);
        } else if (mode == CH_JSON_REPLACE) {
            at++;
        } else {
            at = scan_refuse(fail, at, "raw control character in a string");
        }
    }
    if (at)
        scan_refuse(fail, end, "unexpected end of text in a string");
    return false;
}

static char *put_valid(char *out, const char *at, const char *end) {
    for (;;) {
        const char *bad = ch_utf8_run(at, end);
        size_t n = (size_t)(bad - at);
        memcpy(out, at, n);
        out += n;
        if (bad == end)
            return out;
        out += ch_utf8_put(out, 0xfffd);
        at = bad + 1;
    }
}

/* Decodes the escape \u at `at`; *used is its length in the source. */
static char *scan_put_escape(char *out, const char *at, const char *end, size_t *used) {
    int unit = hex4_at(at + 2);
    int low = is_high_surrogate(unit) ? low_half(at + 6, end) : -1;
    *used = low >= 0 ? 12 : 6;
    uint32_t cp = (uint32_t)unit;
    if (low >= 0)
        cp = 0x10000 + ((cp & 0x3ff) << 10 | ((uint32_t)low & 0x3ff));
    else if (is_high_surrogate(unit) || is_low_surrogate(unit))
        cp = 0xfffd;
    char bytes[4];
    unsigned n = ch_utf8_put(bytes, cp);
    memcpy(out, bytes, sizeof(bytes)); /* the escape is longer: there is room for all four */
    return out + n;
}

/* Copies up to the next backslash, or to the end; the text is valid UTF-8. Whole vectors are
 * copied: the room for the text that is left holds them. */
static char *put_plain(char *out, const char **from, const char *end) {
    const char *at = *from;
    for (; end - at >= CH_VECTOR; at += CH_VECTOR, out += CH_VECTOR) {
        ch_vector v = ch_vector_load(at), slash = (ch_vector)(v == '\\');
        ch_vector_store(out, v);
        if (ch_vector_any(slash)) {
            unsigned n = ch_vector_first(slash);
            *from = at + n;
            return out + n;
        }
    }
    while (at < end && *at != '\\')
        *out++ = *at++;
    *from = at;
    return out;
}

size_t ch_scan_decode(const struct ch_scan_string *s, const char *at, char *out) {
    char *start = out;
    const char *end = s->quote;
    while (at < end) {
        size_t used = 2;
        if (*at == '\\' && at[1] != 'u') {
            *out++ = simple_escapes[(unsigned char)at[1]];
            at += 2;
        } else if (*at == '\\') {
            out = scan_put_escape(out, at, end, &used);
            at += used;
        } else if (!s->extra) {
            out = put_plain(out, &at, end);
        } else {
            const char *slash = memchr(at, '\\', (size_t)(end - at));
            const char *stop = slash ? slash : end;
            out = put_valid(out, at, stop);
            at = stop;
        }
    }
    return (size_t)(out - start);
}

/* --- strings with escapes, in one pass */

const char *ch_scan_quote(const char *slash, const char *end) {
    const char *quote = slash;
    while ((quote = memchr(quote, '"', (size_t)(end - quote)))) {
        const char *before = quote;
        while (before > slash && before[-1] == '\\')
            before--;
        if ((quote - before) % 2 == 0)
            return quote;
        quote++;
    }
    return NULL;
}

/* Decodes the escape at *at, which the closing quote does not follow. Returns the new end of out;
 * NULL: an escape that is malformed or half of a surrogate pair. */
static inline char *take_escape(char *out, const char **at, const char *quote) {
    char simple = simple_escapes[(unsigned char)(*at)[1]];
    if (simple) {
        *out = simple;
        *at += 2;
        return out + 1;
    }
    int unit = (*at)[1] == 'u' && quote - *at >= 6 ? hex4_at(*at + 2) : -1;
    if (unit < 0x800 || is_high_surrogate(unit) || is_low_surrogate(unit)) {
        size_t used;
        if (unit < 0 || is_low_surrogate(unit) ||
            (is_high_surrogate(unit) && low_half(*at + 6, quote) < 0))
            return NULL;
        out = scan_put_escape(out, *at, quote, &used);
        *at += used;
        return out;
    }
    out[0] = (char)(0xe0 | unit >> 12);
    out[1] = (char)(0x80 | (unit >> 6 & 0x3f));
    out[2] = (char)(0x80 | (unit & 0x3f));
    *at += 6;
    return out + 3;
}

/* Copies plain characters. Whole vectors are copied: the room for the text that is left holds
 * them. */
static inline char *take_plain(char *out, const char **from, const char *quote) {
    const char *at = *from;
    for (; quote - at >= CH_VECTOR; at += CH_VECTOR, out += CH_VECTOR) {
        ch_vector v = ch_vector_load(at);
        ch_vector stop = (ch_vector)((v == '\\') | ((ch_vector_signed)v < 0x20));
        ch_vector_store(out, v);
        if (ch_vector_any(stop)) {
            unsigned n = ch_vector_first(stop);
            *from = at + n;
            return out + n;
        }
    }
    while (at < quote && ch_scan_is_plain(*at))
        *out++ = *at++;
    *from = at;
    return out;
}

char *ch_scan_unescape(const char *start, const char *slash, const char *quote, char *out) {
    const char *at = slash;
    memcpy(out, start, (size_t)(slash - start));
    out += slash - start;
    while (out && at < quote) {
        if (*at == '\\') {
            out = take_escape(out, &at, quote);
            continue;
        }
        out = take_plain(out, &at, quote);
        if (at == quote || *at == '\\')
            continue;
        const char *next = ch_utf8_run_multibyte(at, quote);
        if (next == at) /* a control character, or invalid UTF-8 */
            return NULL;
        memcpy(out, at, (size_t)(next - at));
        out += next - at;
        at = next;
    }
    return out;
}

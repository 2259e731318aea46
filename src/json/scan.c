/* scan.c -- tokens beyond the inline paths of scan.h. */
#include "json/scan.h"

#include "base/utf8_scan.h"

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
    if (CH_SCAN_LIKELY(end - at >= 8)) {
        const char *stop = ch_scan_plain_eight(at);
        if (stop)
            return stop;
        at += 8;
    }
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

/* Values of hexadecimal digits; -1 for other bytes. */
static const int8_t hex_digits[256] = {
    [0 ... '/'] = -1,   ['0'] = 0,  1,  2,  3,  4,  5, 6, 7, 8, 9,
    [':' ... '@'] = -1, ['A'] = 10, 11, 12, 13, 14, 15,
    ['G' ... '`'] = -1, ['a'] = 10, 11, 12, 13, 14, 15,
    ['g' ... 255] = -1,
};

static inline int hex_digit(char c) {
    return hex_digits[(unsigned char)c];
}

/* Negative if a byte is no digit. */
static inline int hex4_at(const char *at) {
    return hex_digit(at[0]) * 0x1000 | hex_digit(at[1]) * 0x100 | hex_digit(at[2]) * 0x10 |
           hex_digit(at[3]);
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

static int pair(int high, int low) {
    return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

static inline char next_byte(int bits) {
    return (char)(0x80 | (bits & 0x3f));
}

/* As ch_utf8_put, inline. An escape is longer, so there is room. Returns the end. */
static inline char *put_code_point(char *out, int cp) {
    if (CH_SCAN_LIKELY(cp >= 0x800 && cp < 0x10000)) {
        *out++ = (char)(0xe0 | cp >> 12);
        *out++ = next_byte(cp >> 6);
    } else if (cp < 0x80) {
        *out++ = (char)cp;
        return out;
    } else if (cp < 0x800) {
        *out++ = (char)(0xc0 | cp >> 6);
    } else {
        *out++ = (char)(0xf0 | cp >> 18);
        *out++ = next_byte(cp >> 12);
        *out++ = next_byte(cp >> 6);
    }
    *out++ = next_byte(cp);
    return out;
}

/* The low surrogate at `at` that completes a pair, or -1. */
static inline int low_half(const char *at, const char *end) {
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    int unit = hex4_at(at + 2);
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

/* Marks the bytes below 0x80 that end a text: quotes, backslashes and control characters. */
static inline ch_vector text_stops(ch_vector v) {
    return (ch_vector)((v == '"') | (v == '\\') | (v < 0x20));
}

/* Passes plain bytes and characters one by one while they begin before `stop`. Each common length
 * is a branch of its own: the next character would wait for a length that is computed. */
static inline const char *pass_each(const char *at, const char *stop, const char *end) {
    while (at < stop) {
        if (ch_scan_is_plain(*at)) {
            at++;
        } else if (end - at >= 4 && ch_utf8_is_three(ch_word_load_half(at))) {
            at += 3;
        } else {
            unsigned n = *at & 0x80 ? ch_utf8_step(at, end) : 0;
            if (n == 0)
                break;
            at += n;
        }
    }
    return at;
}

const char *ch_scan_text_run(const char *at, const char *end) {
    while (at < end && (*at & 0x80)) {
        const char *next = ch_utf8_pass(at, end, text_stops);
        if (next == at)
            return pass_each(at, end, end);
        at = ch_scan_plain_run(next, end);
    }
    return at;
}

const char *ch_scan_text_short(const char *at, const char *end) {
    while (end - at >= CH_VECTOR && (at[12] & 0xf0) == 0xe0 && /* a fifth character of three */
           ch_utf8_is_five_of_three(ch_vector_load(at)))
        at += 15;
    const char *stop = at + CH_MIN(end - at, 2 * CH_VECTOR);
    at = pass_each(at, stop, end);
    return at < stop ? at : ch_scan_text_run(at, end);
}

bool ch_scan_string_rest(const char *at, const char *end, enum ch_json_mode mode,
                         struct ch_scan_string *s, struct ch_scan_fail *fail) {
    *s = (struct ch_scan_string){0};
    while (at && (at = ch_scan_text_run(ch_scan_plain_run(at, end), end)) < end) {
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
        } else if (mode == CH_JSON_STRICT) {
            at = scan_refuse(fail, at,
                             *at & 0x80 ? "invalid UTF-8 in a string"
                                        : "raw control character in a string");
        } else {
            s->decode |= *at & 0x80;
            s->extra += *at & 0x80 ? 2 : 0; /* one byte becomes the three of U+FFFD */
            at++;
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
    if (low >= 0)
        unit = pair(unit, low);
    else if (is_high_surrogate(unit) || is_low_surrogate(unit))
        unit = 0xfffd;
    return put_code_point(out, unit);
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
        } else {
            const char *slash = memchr(at, '\\', (size_t)(end - at));
            const char *stop = slash ? slash : end;
            out = put_valid(out, at, stop);
            at = stop;
        }
    }
    return (size_t)(out - start);
}

/* --- strings with escapes */

/* True if a backslash that is not itself escaped precedes `at`; `from` is not within an escape. */
static bool is_escaped(const char *from, const char *at) {
    const char *before = at;
    while (before > from && before[-1] == '\\')
        before--;
    return (at - before) % 2;
}

/* Text is checked in blocks of two vectors. */
enum { BLOCK = 2 * CH_VECTOR };

/* Marks the quotes at `at` that may be the closing one: most quotes inside a string follow a single
 * backslash. */
static inline ch_vector closing(const char *at) {
    return (ch_vector)((ch_vector_load(at) == '"') &
                       ((ch_vector_load(at - 1) != '\\') | (ch_vector_load(at - 2) == '\\')));
}

/* The index of the closing quote among the two vectors at `at`; BLOCK if it is not there. */
static inline unsigned closing_quote(const char *from, const char *at) {
    unsigned n = ch_vector_first_of_two(closing(at), closing(at + CH_VECTOR));
    while (n < BLOCK && (at[n] != '"' || is_escaped(from, at + n)))
        n++;
    return n;
}

/* Marks the bytes at `at` that are no part of a valid character. */
static inline ch_vector invalid(const char *at) {
    return ch_utf8_invalid(ch_vector_load(at), ch_vector_load(at - 1), ch_vector_load(at - 2),
                           ch_vector_load(at - 3));
}

/* Escapes are ASCII, so UTF-8 can be checked without regard to them. */
const char *ch_scan_quote(const char *from, const char *end) {
    if (end - from < BLOCK)
        return NULL;
    ch_vector bad = {0};
    const char *last = end - BLOCK;
    for (const char *at = from;; at = CH_MIN(at + BLOCK, last)) {
        ch_vector v = ch_vector_load(at), w = ch_vector_load(at + CH_VECTOR);
        ch_vector wrong = (ch_vector)(v < 0x20), wrong2 = (ch_vector)(w < 0x20);
        ch_vector since = ch_vector_load(at - 3) | ch_vector_load(at + CH_VECTOR - 3) | w;
        if (ch_vector_any(since & 0x80)) {
            wrong |= invalid(at);
            wrong2 |= invalid(at + CH_VECTOR);
        }
        if (ch_vector_any((ch_vector)((v == '"') | (w == '"')))) {
            unsigned n = closing_quote(from, at);
            if (n < BLOCK)
                return ch_vector_any(bad) || ch_vector_first_of_two(wrong, wrong2) <= n ? NULL
                                                                                        : at + n;
        }
        bad |= wrong | wrong2;
        if (at == last)
            return NULL;
    }
}

/* Decodes the escapes \u at *from, which often follow each other, while they begin before `stop`.
 * Returns the new end of out; NULL: an escape is malformed or half of a surrogate pair. */
__attribute__((always_inline)) static inline char *take_units(char *out, const char **from,
                                                              const char *stop, const char *end) {
    const char *at = *from;
    do {
        int unit = end - at >= 6 ? hex4_at(at + 2) : -1;
        at += 6;
        if (!CH_SCAN_LIKELY(!is_high_surrogate(unit))) {
            int low = low_half(at, end);
            at += 6;
            unit = low < 0 ? -1 : pair(unit, low);
        }
        if (unit < 0 || is_low_surrogate(unit))
            return NULL;
        out = put_code_point(out, unit);
    } while (at < stop && at[0] == '\\' && at[1] == 'u');
    *from = at;
    return out;
}

/* Source bytes of a head. A text of up to twice as many is decoded to its end, so that at least
 * BLOCK bytes are left for ch_scan_quote otherwise. */
enum { HEAD = 128 };
_Static_assert(CH_SCAN_HEAD >= 2 * HEAD && HEAD >= BLOCK + 12, "an escape has at most 12 bytes");

/* Copies a run of characters of three bytes, or one other character, that begins before `stop`. The
 * bytes after each are copied too, up to four. Returns the new end of out; NULL: the character
 * is invalid or among the last three bytes. */
static inline char *take_characters(char *out, const char **from, const char *stop,
                                    const char *end) {
    const char *at = *from;
    stop = CH_MIN(stop, end - CH_MIN(end - at, 3));
    for (; at < stop && ch_utf8_is_three(ch_word_load_half(at)); at += 3, out += 3)
        memcpy(out, at, 4);
    if (at == *from) {
        unsigned n = at < stop ? ch_utf8_length(ch_word_load_half(at)) : 0;
        if (n == 0)
            return NULL;
        memcpy(out, at, 4);
        out += n;
        at += n;
    }
    *from = at;
    return out;
}

/* Decodes character by character: HEAD bytes, or up to the closing quote if it comes first, or the
 * rest of the text if it is not much longer. */
__attribute__((noinline)) static struct ch_scan_head unescape_each(const char *at, const char *end,
                                                                   char *out) {
    const char *stop = end - at <= 2 * HEAD ? end - 1 : at + HEAD;
    while (at < stop) {
        if (*at == '\\') {
            char simple = simple_escapes[(unsigned char)at[1]];
            if (CH_SCAN_LIKELY(simple)) {
                *out++ = simple;
                at += 2;
            } else if (at[1] != 'u' || !(out = take_units(out, &at, stop, end))) {
                return (struct ch_scan_head){0};
            }
        } else if (*at == '"') {
            break;
        } else if (ch_scan_is_plain(*at)) {
            *out++ = *at++;
        } else if (!(out = take_characters(out, &at, stop, end))) {
            return (struct ch_scan_head){0};
        }
        /* Plain bytes, in most strings. */
        for (size_t n = 8; n == 8 && stop - at >= 8; at += n, out += n) {
            const char *next = ch_scan_plain_eight(at);
            ch_word_store(out, ch_word_load(at));
            n = next ? (size_t)(next - at) : 8;
        }
    }
    return at < end ? (struct ch_scan_head){at, out} : (struct ch_scan_head){0};
}

struct ch_scan_head ch_scan_unescape_head(const char *start, const char *slash, const char *end,
                                          char *out) {
    size_t n = (size_t)(slash - start);
    if (CH_SCAN_LIKELY(n <= 2 * BLOCK && end - start >= 2 * BLOCK))
        memcpy(out, start, 2 * BLOCK); /* of constant size: no call */
    else
        memcpy(out, start, n);
    return unescape_each(slash, end, out + n);
}

/* The backslashes of a vector are found at once, so that the search for the next escape need not
 * wait for the end of the one before. Whole vectors are copied: the room for the text that is left
 * holds them. */
char *ch_scan_unescape_rest(const char *at, const char *quote, const char *end, char *out) {
    const char *slash, *vector = at;
    while (quote - vector >= 2 * CH_VECTOR) {
        uint64_t slashes = ch_vector_bits((ch_vector)(ch_vector_load(vector) == '\\'));
        for (; __builtin_expect(slashes != 0, false); slashes &= slashes - 1) {
            slash = vector + __builtin_ctzll(slashes) / 4;
            if (slash < at)
                continue;
            ch_vector_store(out, ch_vector_load(at));
            out += slash - at;
            at = slash;
            char simple = simple_escapes[(unsigned char)at[1]];
            if (simple) {
                *out++ = simple;
                at += 2;
                continue;
            }
            out = at[1] == 'u' ? take_units(out, &at, quote, quote) : NULL;
            if (!out)
                return NULL;
            if (at >= vector + CH_VECTOR) {
                vector = at - CH_VECTOR; /* the next vector begins after the escapes */
                break;
            }
        }
        vector += CH_VECTOR;
        if (at < vector) {
            ch_vector_store(out, ch_vector_load(at));
            out += vector - at;
            at = vector;
        }
    }
    for (; (*at & 0xc0) == 0x80; at--) /* a vector ended within a character */
        out--;
    return unescape_each(at, end, out).out;
}

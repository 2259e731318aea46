/* scan.c -- tokens beyond the inline paths of scan.h. */
#include "json/scan.h"

#include "base/utf8.h"

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

/* The zero bytes that pad the last word count as not plain. */
const char *ch_scan_plain_run(const char *at, const char *end) {
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

int ch_scan_hex4(const char *at, const char *end) {
    int value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i], letter = (char)(c | 0x20);
        if (ch_scan_is_digit(c))
            value = value << 4 | (c - '0');
        else if (letter >= 'a' && letter <= 'f')
            value = value << 4 | (letter - 'a' + 10);
        else
            return -1;
    }
    return value;
}

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
    switch (at[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return at + 2;
    case 'u':
        break;
    default:
        return scan_refuse(fail, at, "unknown escape in a string");
    }
    int unit = ch_scan_hex4(at + 2, end);
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
            at = ch_scan_escape(at, end, mode, fail);
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

static char simple_escape(char c) {
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c;
    }
}

/* Decodes the escape at `at`; *used is its length in the source. */
static char *scan_put_escape(char *out, const char *at, const char *end, size_t *used) {
    if (at[1] != 'u') {
        *used = 2;
        *out = simple_escape(at[1]);
        return out + 1;
    }
    int unit = ch_scan_hex4(at + 2, end);
    int low = is_high_surrogate(unit) ? low_half(at + 6, end) : -1;
    *used = low >= 0 ? 12 : 6;
    uint32_t cp = (uint32_t)unit;
    if (low >= 0)
        cp = 0x10000 + ((cp & 0x3ff) << 10 | ((uint32_t)low & 0x3ff));
    else if (is_high_surrogate(unit) || is_low_surrogate(unit))
        cp = 0xfffd;
    char bytes[4];
    unsigned n = ch_utf8_put(bytes, cp);
    memcpy(out, bytes, n);
    return out + n;
}

size_t ch_scan_decode(const char *at, const char *end, char *out) {
    char *start = out;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        const char *stop = slash ? slash : end;
        size_t used = 0;
        out = put_valid(out, at, stop);
        if (slash)
            out = scan_put_escape(out, slash, end, &used);
        at = stop + used;
    }
    return (size_t)(out - start);
}

/* scan.h -- the tokens of JSON, shared by the reader, the pull reader and the
 * repair.
 *
 * Each function takes the current position and the end of the text. It returns
 * the end of its token, or NULL with the reason in *fail. Text is scanned a
 * word at a time; no byte before `at` or from `end` on is read. The common
 * cases (a short string of plain ASCII, a small integer, no white space) are
 * inline; the rest is in scan.c. */
#ifndef CH_JSON_SCAN_H
#define CH_JSON_SCAN_H
#include <stdbool.h>
#include <stdint.h>

#include "base/word.h"
#include "json/json.h"

struct ch_scan_fail {
    const char *at;
    const char *why; /* a string literal */
};

/* The position of a string's closing quote and how to decode the contents. */
struct ch_scan_string {
    const char *quote;
    bool decode;  /* contents differ from the source: escapes or bad bytes */
    size_t extra; /* bytes by which the decoded text may exceed the source */
};

#define CH_SCAN_LIKELY(x) __builtin_expect(!!(x), 1)

static inline bool ch_scan_is_digit(char c) {
    return (unsigned)(unsigned char)c - '0' < 10;
}

/* Bytes that need no escape in a string: printable ASCII without the quote and
 * the backslash. */
extern const bool ch_scan_plain_bytes[256];

static inline bool ch_scan_is_plain(char c) {
    return ch_scan_plain_bytes[(unsigned char)c];
}

/* The first of eight bytes that is not plain, or NULL. The processor predicts the branches, so that
 * the next token need not wait as for the result of arithmetic on words. */
__attribute__((always_inline)) static inline const char *ch_scan_plain_eight(const char *at) {
#define STOP_AT(i)                \
    if (!ch_scan_is_plain(at[i])) \
    return at + (i)
    STOP_AT(0);
    STOP_AT(1);
    STOP_AT(2);
    STOP_AT(3);
    STOP_AT(4);
    STOP_AT(5);
    STOP_AT(6);
    STOP_AT(7);
#undef STOP_AT
    return NULL;
}

/* The first byte that is not plain, or end. The first eight bytes are tested one by one. */
const char *ch_scan_plain_run(const char *at, const char *end);

/* The same with eight more such tests, inline, for places where short strings are likely. */
__attribute__((always_inline)) static inline const char *ch_scan_plain(const char *at,
                                                                       const char *end) {
    if (CH_SCAN_LIKELY(end - at >= 8)) {
        const char *stop = ch_scan_plain_eight(at);
        if (stop)
            return stop;
        at += 8;
    }
    return ch_scan_plain_run(at, end);
}

const char *ch_scan_space_run(const char *at, const char *end);

/* Skip white space. The first test serves minified text, which has none. */
static inline const char *ch_scan_space(const char *at, const char *end) {
    if (CH_SCAN_LIKELY(at < end && (unsigned char)*at > ' '))
        return at;
    return ch_scan_space_run(at, end);
}

/* As ch_scan_space, after a comma or a colon, which one space often follows. */
static inline const char *ch_scan_gap(const char *at, const char *end) {
    if (at < end && *at == ' ')
        at++;
    if (CH_SCAN_LIKELY(at < end && (unsigned char)*at > ' '))
        return at;
    return ch_scan_space_run(at, end);
}

/* Skip white space in *at and return the next byte; 0 at the end. */
static inline char ch_scan_next(const char **at, const char *end) {
    if (CH_SCAN_LIKELY(*at < end && (unsigned char)**at > ' '))
        return **at;
    *at = ch_scan_space_run(*at, end);
    return *at < end ? **at : '\0';
}

const char *ch_scan_fraction(const char *at, const char *end, struct ch_scan_fail *fail);

/* Scan a number; *integer is set if the number has neither fraction nor
 * exponent. */
static inline const char *ch_scan_number(const char *at, const char *end, bool *integer,
                                         struct ch_scan_fail *fail) {
    if (at < end && *at == '-')
        at++;
    const char *first = at;
    while (at < end && ch_scan_is_digit(*at))
        at++;
    if (at == first || (*first == '0' && at - first > 1)) {
        *fail = (struct ch_scan_fail){first, at == first ? "expected a digit" : "leading zero"};
        return NULL;
    }
    *integer = at == end || (*at != '.' && (*at | 0x20) != 'e');
    return CH_SCAN_LIKELY(*integer) ? at : ch_scan_fraction(at, end, fail);
}

/* The first byte of a string's contents that is neither plain nor part of a valid character from
 * 0x80 on: the closing quote, a backslash or a fault. `end` if there is none. */
const char *ch_scan_text_run(const char *at, const char *end);

static inline const char *ch_scan_text(const char *at, const char *end) {
    at = ch_scan_plain_run(at, end);
    return at < end && (*at & 0x80) ? ch_scan_text_run(at, end) : at;
}

/* As ch_scan_text_run. Passes the first characters of another length than three bytes one by one:
 * that is faster for a short text. */
const char *ch_scan_text_short(const char *at, const char *end);

static inline const char *ch_scan_text_rest(const char *at, const char *end) {
    return at < end && (*at & 0x80) ? ch_scan_text_short(at, end) : at;
}

/* Scan the rest of a string from its first byte that is not plain. Checks
 * escapes and UTF-8. Bytes that CH_JSON_STRICT rejects are counted for
 * replacement in the other mode. */
bool ch_scan_string_rest(const char *at, const char *end, enum ch_json_mode mode,
                         struct ch_scan_string *s, struct ch_scan_fail *fail);

/* The end of the escape whose backslash is at `at`; checks the escape for the
 * mode. */
const char *ch_scan_escape(const char *at, const char *end, enum ch_json_mode mode,
                           struct ch_scan_fail *fail);

/* Decode the contents of a checked string, which begin at `at`, into out. out must have room
 * for quote - at + extra bytes. Returns the number of bytes written. */
size_t ch_scan_decode(const struct ch_scan_string *s, const char *at, char *out);

/* Strings with escapes are decoded in two steps. ch_scan_unescape_head decodes character by
 * character, up to the closing quote or for about 128 bytes: most strings end there, and one pass
 * is the fastest for them. For the rest of a longer string, ch_scan_quote finds the closing quote
 * and checks the text, then ch_scan_unescape_rest decodes it, both with vectors.
 *
 * A fault in the string makes each of the three return NULL (at NULL). The caller then calls
 * ch_scan_string_rest, which reports the fault or counts it for ch_scan_decode to replace. */

/* The contents up to `at` are decoded up to `out`. */
struct ch_scan_head {
    const char *at;
    char *out;
};

enum { CH_SCAN_HEAD = 264 }; /* bytes that the head may write after the first escape */

/* The room that ch_scan_unescape_head needs. */
static inline size_t ch_scan_head_room(const char *start, const char *slash, const char *end) {
    return (size_t)(slash - start + CH_MIN(end - slash, CH_SCAN_HEAD));
}

/* Decode contents, which begin at `start` and whose first escape (or fault) is at `slash`, into
 * out. The string is complete if the byte at `at` of the result is the closing quote. */
struct ch_scan_head ch_scan_unescape_head(const char *start, const char *slash, const char *end,
                                          char *out);

/* The closing quote of the string that is decoded up to `at`. NULL also if there is none, or if
 * fewer bytes than two vectors are left. Reads three bytes before `at`. */
const char *ch_scan_quote(const char *at, const char *end);

enum { CH_SCAN_BEYOND = 8 }; /* bytes that may be written after the decoded text */

/* Decode from `at` to `quote` into out, which has room for CH_SCAN_BEYOND bytes more than the
 * source has. Returns the end of the decoded text. */
char *ch_scan_unescape_rest(const char *at, const char *quote, const char *end, char *out);

/* Scan true, false or null; `at` is at the first letter. */
const char *ch_scan_literal(const char *at, const char *end, enum ch_json_type *type,
                            struct ch_scan_fail *fail);

/* The value of four hexadecimal digits; negative if they are not hexadecimal. */
int ch_scan_hex4(const char *at, const char *end);

#endif

/* scan.h -- the lexical level of JSON, shared by reader, pull form and repair.
 *
 * Each function takes where it stands and where the text ends and returns
 * where its token ends, or NULL with the reason in *fail. Text is looked at a
 * word at a time; nothing before `at` or from `end` on is ever read. What
 * nearly every token is (a short string of plain ASCII, a small integer, no
 * white space) is inline; the rest is in scan.c. */
#ifndef CH_JSON_SCAN_H
#define CH_JSON_SCAN_H
#include <stdbool.h>
#include <stdint.h>

#include "base/word.h"
#include "json/json.h"

struct ch_scan_fail {
    const char *at;
    const char *why; /* a literal */
};

/* A string's closing quote and what its contents need. */
struct ch_scan_string {
    const char *quote;
    bool decode;  /* has escapes or bad bytes: contents differ from source */
    size_t extra; /* bytes by which decoding may exceed the source's length */
};

#define CH_SCAN_LIKELY(x) __builtin_expect(!!(x), 1)

static inline bool ch_scan_is_digit(char c) {
    return (unsigned)(unsigned char)c - '0' < 10;
}

/* Bytes that stand for themselves in a string: printable ASCII without the
 * quote and the backslash. */
extern const bool ch_scan_plain_bytes[256];

static inline bool ch_scan_is_plain(char c) {
    return ch_scan_plain_bytes[(unsigned char)c];
}

/* The first byte that is not plain, or end; see ch_scan_plain. */
const char *ch_scan_plain_run(const char *at, const char *end);

/* The same, for where short strings are likely: their end is found sooner byte
 * by byte, where the processor guesses ahead, than by arithmetic on words that
 * the next token has to wait for. */
__attribute__((always_inline)) static inline const char *ch_scan_plain(const char *at,
                                                                       const char *end) {
#define STOP_AT(i)                \
    if (!ch_scan_is_plain(at[i])) \
    return at + (i)
    if (CH_SCAN_LIKELY(end - at >= 8)) {
        STOP_AT(0);
        STOP_AT(1);
        STOP_AT(2);
        STOP_AT(3);
        STOP_AT(4);
        STOP_AT(5);
        STOP_AT(6);
        STOP_AT(7);
        at += 8;
    }
#undef STOP_AT
    return ch_scan_plain_run(at, end);
}

const char *ch_scan_space_run(const char *at, const char *end);

/* Past white space. Minified text has none, hence the first test. */
static inline const char *ch_scan_space(const char *at, const char *end) {
    if (CH_SCAN_LIKELY(at < end && (unsigned char)*at > ' '))
        return at;
    return ch_scan_space_run(at, end);
}

/* The byte after white space, to which *at moves; 0 at the end. */
static inline char ch_scan_next(const char **at, const char *end) {
    if (CH_SCAN_LIKELY(*at < end && (unsigned char)**at > ' '))
        return **at;
    *at = ch_scan_space_run(*at, end);
    return *at < end ? **at : '\0';
}

const char *ch_scan_fraction(const char *at, const char *end, struct ch_scan_fail *fail);

/* A number; *integer tells that it has neither fraction nor exponent. */
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

/* The rest of a string from the first byte that is not plain on. Checks
 * escapes and UTF-8; what strict refuses is counted for replacement in the
 * other mode. */
bool ch_scan_string_rest(const char *at, const char *end, enum ch_json_mode mode,
                         struct ch_scan_string *s, struct ch_scan_fail *fail);

/* Past the escape whose backslash is at `at`; checks it for the mode. */
const char *ch_scan_escape(const char *at, const char *end, enum ch_json_mode mode,
                           struct ch_scan_fail *fail);

/* The contents [at, end) of a string that was checked, decoded into out, which
 * has room for end - at + extra bytes; returns how many were written. */
size_t ch_scan_decode(const char *at, const char *end, char *out);

/* true, false or null at `at`, which is the word's first letter. */
const char *ch_scan_literal(const char *at, const char *end, enum ch_json_type *type,
                            struct ch_scan_fail *fail);

/* The value of four hexadecimal digits, -1 if they are not. */
int ch_scan_hex4(const char *at, const char *end);

#endif

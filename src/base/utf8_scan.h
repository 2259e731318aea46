/* utf8_scan.h -- check UTF-8 sixteen bytes at a time, with few branches.
 *
 * Words, spaces and punctuation make runs of characters short and of unpredictable length, so a
 * branch for each character would cost more than the check. For scanners that add their own stops;
 * other callers use ch_utf8_run. */
#ifndef CH_BASE_UTF8_SCAN_H
#define CH_BASE_UTF8_SCAN_H
#include "base/utf8.h"
#include "base/vector.h"

/* True if w, the next four bytes of a text, begins with a character of three bytes that is valid.
 * The first comparison checks the lead and the continuation bits, the others the bits that reveal
 * overlong forms and surrogates. */
static inline bool ch_utf8_is_three(uint32_t w) {
    return (w & 0xc0c0f0) == 0x8080e0 && w & 0x200f && (w & 0x200f) != 0x200d;
}

/* The length of the character from 0x80 on that begins w; 0: there is none, or it is invalid. */
static inline unsigned ch_utf8_length(uint32_t w) {
    if (ch_utf8_is_three(w))
        return 3;
    if ((w & 0xc0e0) == 0x80c0)
        return w & 0x1e ? 2 : 0;
    uint32_t tell = w & 0x3007; /* reveals overlong forms and values past U+10FFFF */
    return (w & 0xc0c0c0f8) == 0x808080f0 && tell && (tell <= 4 || !(tell & 4)) ? 4 : 0;
}

/* The same for the next bytes of a text, which may be fewer than four. */
static inline unsigned ch_utf8_step(const char *at, const char *end) {
    return end - at >= 4 ? ch_utf8_length(ch_word_load_half(at))
                         : ch_utf8_next(ch_sv(at, (size_t)(end - at)), NULL);
}

/* v, moved by n bytes towards its end; zero bytes move in. */
#define CH_UTF8_MOVED(v, n)                                                                       \
    __builtin_shufflevector((ch_vector){0}, v, 16 - (n), 17 - (n), 18 - (n), 19 - (n), 20 - (n),  \
                            21 - (n), 22 - (n), 23 - (n), 24 - (n), 25 - (n), 26 - (n), 27 - (n), \
                            28 - (n), 29 - (n), 30 - (n), 31 - (n))

/* Marks overlong forms and surrogates at the second of their three bytes; `one` holds the bytes one
 * place before those of v. */
static inline ch_vector ch_utf8_invalid_three(ch_vector v, ch_vector one) {
    return (ch_vector)((one ^ ((ch_vector)(v >= 0xa0) & 0x0d)) == 0xe0);
}

/* True if v begins with five characters of three bytes, as Chinese, Japanese and Korean ones are.
 */
static inline bool ch_utf8_is_five_of_three(ch_vector v) {
    static const ch_vector bits = {0xf0, 0xc0, 0xc0, 0xf0, 0xc0, 0xc0, 0xf0, 0xc0,
                                   0xc0, 0xf0, 0xc0, 0xc0, 0xf0, 0xc0, 0xc0, 0},
                           form = {0xe0, 0x80, 0x80, 0xe0, 0x80, 0x80, 0xe0, 0x80,
                                   0x80, 0xe0, 0x80, 0x80, 0xe0, 0x80, 0x80, 0};
    return !ch_vector_any((ch_vector)((v & bits) != form) |
                          ch_utf8_invalid_three(v, CH_UTF8_MOVED(v, 1)));
}

/* Marks bytes of v at which a character is invalid; its last character may be incomplete. `one`,
 * `two` and `three` hold the bytes that are as many places before those of v. The last term finds
 * overlong forms and values past U+10FFFF. */
static inline ch_vector ch_utf8_invalid(ch_vector v, ch_vector one, ch_vector two,
                                        ch_vector three) {
    ch_vector due = (ch_vector)((one >= 0xc0) | (two >= 0xe0) | (three >= 0xf0)),
              not_next = (ch_vector)((ch_vector_signed)v >= -64),
              no_first = (ch_vector)((ch_vector_signed)v < -62); /* 0xc0 and 0xc1 are none either */
    return (due & not_next) | (~due & no_first) | (ch_vector)(v >= 0xf5) |
           ch_utf8_invalid_three(v, one) |
           (ch_vector)((one ^ ((ch_vector)(v >= 0x90) & 0x04)) == 0xf0);
}

/* The number of bytes before `end`, of at least three, that belong to an incomplete character. */
static inline unsigned ch_utf8_incomplete(const char *end) {
    const unsigned char *e = (const unsigned char *)end;
    return e[-1] >= 0xc0 ? 1 : e[-2] >= 0xe0 ? 2 : e[-3] >= 0xf0 ? 3 : 0;
}

/* Passes valid text from the beginning of a character on. Returns the first byte of ASCII that
 * `stops` marks, or the beginning of a block of two vectors that is ASCII alone, has a fault, or is
 * not complete. */
__attribute__((always_inline)) static inline const char *ch_utf8_pass(
    const char *at, const char *end, ch_vector (*stops)(ch_vector)) {
    for (;;) {
        while (end - at >= 2 * CH_VECTOR && ch_utf8_is_five_of_three(ch_vector_load(at)))
            at += 15;
        if (end - at < 2 * CH_VECTOR)
            return at;
        ch_vector v = ch_vector_load(at), w = ch_vector_load(at + CH_VECTOR);
        ch_vector bad = ch_utf8_invalid(v, CH_UTF8_MOVED(v, 1), CH_UTF8_MOVED(v, 2),
                                        CH_UTF8_MOVED(v, 3)),
                  bad2 = ch_utf8_invalid(w, ch_vector_load(at + CH_VECTOR - 1),
                                         ch_vector_load(at + CH_VECTOR - 2),
                                         ch_vector_load(at + CH_VECTOR - 3)),
                  stop = stops(v), stop2 = stops(w);
        if (ch_vector_any(bad | bad2 | stop | stop2)) {
            unsigned n = ch_vector_first_of_two(stop, stop2);
            return n < ch_vector_first_of_two(bad, bad2) ? at + n : at;
        }
        if (!ch_vector_any((v | w) & 0x80))
            return at;
        at += 2 * CH_VECTOR;
        at -= ch_utf8_incomplete(at);
    }
}

#endif

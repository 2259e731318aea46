/* chars.c -- see chars.h. */
#include "base/chars.h"

#define SEEN (CH_CHAR_VISIBLE | CH_CHAR_TEXT)
#define SIGN (SEEN | CH_CHAR_SIGN)

const uint8_t ch_char_classes[256] = {
    ['\t'] = CH_CHAR_TEXT,
    [' '] = CH_CHAR_TEXT,
    ['!'] = SIGN,
    ['"'] = SEEN,
    ['#' ... '\''] = SIGN,
    ['(' ... ')'] = SEEN,
    ['*' ... '+'] = SIGN,
    [','] = SEEN,
    ['-'] = SEEN | CH_CHAR_DASH,
    ['.'] = SEEN | CH_CHAR_DOT,
    ['/'] = SEEN,
    ['0' ... '9'] = SEEN | CH_CHAR_ALNUM,
    [':' ... '@'] = SEEN,
    ['A' ... 'Z'] = SEEN | CH_CHAR_ALNUM,
    ['[' ... ']'] = SEEN,
    ['^'] = SIGN,
    ['_'] = SEEN | CH_CHAR_LINE,
    ['`'] = SIGN,
    ['a' ... 'z'] = SEEN | CH_CHAR_ALNUM,
    ['{'] = SEEN,
    ['|'] = SIGN,
    ['}'] = SEEN,
    ['~'] = SIGN,
    [0x80 ... 0xff] = CH_CHAR_TEXT,
};

/* Four bytes at a time: most of the time goes to the loop, not to the table. */
size_t ch_char_run(struct ch_sv s, unsigned classes) {
    size_t n = 0;
    while (s.n - n >= 4 && ch_char_is(s.p[n], classes) && ch_char_is(s.p[n + 1], classes) &&
           ch_char_is(s.p[n + 2], classes) && ch_char_is(s.p[n + 3], classes))
        n += 4;
    while (n < s.n && ch_char_is(s.p[n], classes))
        n++;
    return n;
}

/* chars.h -- classes of ASCII characters, by one look into a table.
 *
 * Names, ids and header values are checked byte by byte in every request, which comparisons with
 * the bounds of ranges make several times as expensive. Bytes from 0x80 on have no class but
 * CH_CHAR_TEXT. */
#ifndef CH_BASE_CHARS_H
#define CH_BASE_CHARS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"

enum {
    CH_CHAR_ALNUM = 1, /* letters and digits */
    CH_CHAR_LINE = 2,  /* the underscore */
    CH_CHAR_DASH = 4,
    CH_CHAR_DOT = 8,
    CH_CHAR_SIGN = 16,    /* the other signs of a token of HTTP: !#$%&'*+^`|~ */
    CH_CHAR_VISIBLE = 32, /* from '!' to '~' */
    CH_CHAR_TEXT = 64,    /* not a control character, or a tab */
    CH_CHAR_WORD = CH_CHAR_ALNUM | CH_CHAR_LINE,
    CH_CHAR_TOKEN = CH_CHAR_WORD | CH_CHAR_DASH | CH_CHAR_DOT | CH_CHAR_SIGN
};

extern const uint8_t ch_char_classes[256];

/* True if c has one of the classes. */
static inline bool ch_char_is(char c, unsigned classes) {
    return ch_char_classes[(unsigned char)c] & classes;
}

/* The value of a hexadecimal digit; negative: c is no such digit. */
static inline int ch_hex_digit(char c) {
    unsigned digit = (unsigned char)c - '0', letter = ((unsigned char)c | 0x20) - 'a';
    return digit < 10 ? (int)digit : letter < 6 ? (int)letter + 10 : -1;
}

/* Number of bytes at the beginning of s that have one of the classes. */
size_t ch_char_run(struct ch_sv s, unsigned classes);

#endif

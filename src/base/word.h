/* word.h -- eight bytes at a time, on any machine.
 *
 * Scanners look at text a word at a time. A word is loaded so that the first
 * byte of the text is the lowest one whatever the byte order, and a match is a
 * mask with the high bit of each matching byte set. Masks made with a
 * subtraction are exact only up to their first set bit, which is all a scanner
 * asks for. */
#ifndef CH_BASE_WORD_H
#define CH_BASE_WORD_H
#include <stdint.h>
#include <string.h>

#define CH_WORD_OF(byte) (UINT64_C(0x0101010101010101) * (byte))
#define CH_WORD_HIGH CH_WORD_OF(0x80)

static inline uint64_t ch_word_load(const char *p) {
    uint64_t w;
    memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* Index of the first marked byte; mask must not be 0. */
static inline unsigned ch_word_first(uint64_t mask) {
    return (unsigned)__builtin_ctzll(mask) / 8;
}

#endif

/* word.h -- scan text eight bytes at a time, portably.
 *
 * A word is loaded so that the first byte of the text is the lowest byte on any
 * byte order. A match is a mask with the high bit of each matching byte set.
 * Masks computed by subtraction are exact only up to their first set bit, which
 * is the only bit a scanner uses. */
#ifndef CH_BASE_WORD_H
#define CH_BASE_WORD_H
#include <stddef.h>
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

static inline void ch_word_store(char *p, uint64_t w) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    memcpy(p, &w, sizeof(w));
}

static inline uint32_t ch_word_load_half(const char *p) {
    uint32_t w;
    memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap32(w);
#endif
    return w;
}

/* Load the n < 8 bytes at p, padded with zero bytes; no other byte is read.
 * Four or more bytes are read as two overlapping halves, fewer as first, middle
 * and last byte. */
static inline uint64_t ch_word_load_part(const char *p, size_t n) {
    const unsigned char *b = (const unsigned char *)p;
    if (n >= 4) {
        uint64_t low = ch_word_load_half(p), high = ch_word_load_half(p + n - 4);
        return low | high << 8 * (n - 4);
    }
    if (n == 0)
        return 0;
    size_t middle = n / 2, last = n - 1;
    return b[0] | (uint64_t)b[middle] << 8 * middle | (uint64_t)b[last] << 8 * last;
}

/* Index of the first marked byte; mask must not be 0. */
static inline unsigned ch_word_first(uint64_t mask) {
    return (unsigned)__builtin_ctzll(mask) / 8;
}

#endif

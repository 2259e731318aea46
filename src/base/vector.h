/* vector.h -- compare sixteen bytes at a time.
 *
 * The vectors are those of GNU C: the compiler uses the instructions of the processor, or
 * plain arithmetic where there are none, with the same results. A mask has the value 0xff in
 * each byte that matches and 0 in the others. */
#ifndef CH_BASE_VECTOR_H
#define CH_BASE_VECTOR_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/word.h"

typedef uint8_t ch_vector __attribute__((vector_size(16)));
typedef int8_t ch_vector_signed __attribute__((vector_size(16)));

#define CH_VECTOR 16

static inline ch_vector ch_vector_load(const char *p) {
    ch_vector v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void ch_vector_store(char *p, ch_vector v) {
    memcpy(p, &v, sizeof(v));
}

/* A bit for each matching byte: bit 4 * i for byte i. */
static inline uint64_t ch_vector_bits(ch_vector mask) {
    typedef uint16_t pairs __attribute__((vector_size(16)));
    typedef uint8_t half __attribute__((vector_size(8)));
    half nibbles = __builtin_convertvector((pairs)mask >> 4, half);
    uint64_t bits;
    memcpy(&bits, &nibbles, sizeof(bits));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bits = __builtin_bswap64(bits);
    bits = (bits << 4 & CH_WORD_OF(0x10)) | (bits >> 4 & CH_WORD_OF(0x01));
#endif
    return bits & CH_WORD_OF(0x11);
}

static inline bool ch_vector_any(ch_vector mask) {
    uint64_t half[2];
    memcpy(half, &mask, sizeof(half));
    return half[0] | half[1];
}

/* Index of the first matching byte; the mask must have one. */
static inline unsigned ch_vector_first(ch_vector mask) {
    char bytes[CH_VECTOR];
    memcpy(bytes, &mask, sizeof(bytes));
    uint64_t low = ch_word_load(bytes);
    return low ? ch_word_first(low) : 8 + ch_word_first(ch_word_load(bytes + 8));
}

/* Index of the first matching byte of two vectors; 2 * CH_VECTOR: there is none. */
static inline unsigned ch_vector_first_of_two(ch_vector first, ch_vector second) {
    if (ch_vector_any(first))
        return ch_vector_first(first);
    return CH_VECTOR + (ch_vector_any(second) ? ch_vector_first(second) : CH_VECTOR);
}

/* True if the n bytes at a and b are equal. For texts that nearly always are: there is no
 * branch for each vector, and the last vector overlaps the one before it. */
static inline bool ch_vector_same(const char *a, const char *b, size_t n) {
    ch_vector differ = {0};
    if (n < CH_VECTOR)
        return memcmp(a, b, n) == 0;
    for (size_t i = 0; i + CH_VECTOR < n; i += CH_VECTOR)
        differ |= ch_vector_load(a + i) ^ ch_vector_load(b + i);
    differ |= ch_vector_load(a + n - CH_VECTOR) ^ ch_vector_load(b + n - CH_VECTOR);
    return !ch_vector_any(differ);
}

#endif

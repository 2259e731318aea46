/* checksum.c -- see checksum.h. Four lanes of four bytes each let the processor
 * work in parallel; the remainder is processed by words, then by bytes. */
#include "base/checksum.h"

#include <string.h>

#define P1 2654435761u
#define P2 2246822519u
#define P3 3266489917u
#define P4 668265263u
#define P5 374761393u

static uint32_t rotate(uint32_t v, int by) {
    return v << by | v >> (32 - by);
}

/* Little endian on every machine. */
static uint32_t checksum_word(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t checksum_mix(uint32_t lane, uint32_t input) {
    return rotate(lane + input * P2, 13) * P1;
}

static uint32_t lanes(uint32_t seed, const unsigned char **p, const unsigned char *end) {
    uint32_t a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;

    for (; end - *p >= 16; *p += 16) {
        a = checksum_mix(a, checksum_word(*p));
        b = checksum_mix(b, checksum_word(*p + 4));
        c = checksum_mix(c, checksum_word(*p + 8));
        d = checksum_mix(d, checksum_word(*p + 12));
    }
    return rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
}

uint32_t ch_checksum(uint32_t seed, const void *data, size_t n) {
    static const unsigned char none;
    const unsigned char *p = n ? data : &none, *end = p + n;
    uint32_t h = (n >= 16 ? lanes(seed, &p, end) : seed + P5) + (uint32_t)n;

    for (; end - p >= 4; p += 4)
        h = rotate(h + checksum_word(p) * P3, 17) * P4;
    for (; p < end; p++)
        h = rotate(h + *p * P5, 11) * P1;
    h = (h ^ h >> 15) * P2;
    h = (h ^ h >> 13) * P3;
    return h ^ h >> 16;
}

/* mix.h -- a fast 64-bit hash, for tables and ids. The hash does not protect against texts that
 * were chosen to collide. */
#ifndef CH_BASE_MIX_H
#define CH_BASE_MIX_H
#include <stdint.h>

#include "base/sv.h"

/* Every bit of the result depends on every bit of h and word. */
static inline uint64_t ch_mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

/* The same on every machine. */
uint64_t ch_mix_text(uint64_t h, struct ch_sv s);

#endif

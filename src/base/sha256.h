/* sha256.h -- a digest that nobody can forge (FIPS 180-4). For naming content:
 * it is not a way to keep passwords. */
#ifndef CH_BASE_SHA256_H
#define CH_BASE_SHA256_H
#include <stdint.h>

#include "base/sv.h"

#define CH_SHA256_SIZE 32

struct ch_sha256 {
    uint32_t state[8];
    uint64_t bytes; /* so far */
    unsigned char block[64];
};

void ch_sha256_init(struct ch_sha256 *h);
void ch_sha256_add(struct ch_sha256 *h, const void *p, size_t n);
void ch_sha256_end(struct ch_sha256 *h, unsigned char out[CH_SHA256_SIZE]);

#endif

/* sha256.h -- a digest that nobody can forge (FIPS 180-4). For naming content:
 * it is not a way to keep passwords. */
#ifndef CH_BASE_SHA256_H
#define CH_BASE_SHA256_H
#include <stdbool.h>
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
/* Of one text. */
void ch_sha256_of(struct ch_sv text, unsigned char out[CH_SHA256_SIZE]);

/* A digest that only who has the key can make (RFC 2104). out may be the key's
 * own memory. */
void ch_hmac_sha256(struct ch_sv key, struct ch_sv text, unsigned char out[CH_SHA256_SIZE]);

/* Of two digests, in constant time. */
bool ch_sha256_equal(const unsigned char a[CH_SHA256_SIZE], const unsigned char b[CH_SHA256_SIZE]);
/* A digest in hexadecimal, lower case; false: it is none. */
bool ch_sha256_read(struct ch_sv hex, unsigned char out[CH_SHA256_SIZE]);
void ch_sha256_hex(const unsigned char digest[CH_SHA256_SIZE], char out[2 * CH_SHA256_SIZE + 1]);

#endif

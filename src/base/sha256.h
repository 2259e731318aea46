/* sha256.h -- SHA-256 (FIPS 180-4) and HMAC-SHA-256. For content digests and
 * signatures, not for storing passwords. */
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
/* Digest of one text. */
void ch_sha256_of(struct ch_sv text, unsigned char out[CH_SHA256_SIZE]);

/* HMAC-SHA-256 (RFC 2104). out may overlap the key's memory. */
void ch_hmac_sha256(struct ch_sv key, struct ch_sv text, unsigned char out[CH_SHA256_SIZE]);

/* Compare two digests in constant time. */
bool ch_sha256_equal(const unsigned char a[CH_SHA256_SIZE], const unsigned char b[CH_SHA256_SIZE]);
/* Parse a digest written in lower-case hexadecimal; false if the text is not a
 * digest. */
bool ch_sha256_read(struct ch_sv hex, unsigned char out[CH_SHA256_SIZE]);
void ch_sha256_hex(const unsigned char digest[CH_SHA256_SIZE], char out[2 * CH_SHA256_SIZE + 1]);

#endif

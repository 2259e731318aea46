/* checksum.h -- a fast 32-bit checksum (XXH32). It detects accidental damage to
 * stored bytes: disk errors, truncation, edits. It does not protect against
 * deliberate changes. */
#ifndef CH_BASE_CHECKSUM_H
#define CH_BASE_CHECKSUM_H
#include <stddef.h>
#include <stdint.h>

uint32_t ch_checksum(uint32_t seed, const void *data, size_t n);

#endif

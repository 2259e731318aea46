/* crc32.h -- CRC-32 (IEEE 802.3), as in zlib, PNG and Amazon's event streams.
 * It detects accidental damage, not deliberate changes. */
#ifndef CH_BASE_CRC32_H
#define CH_BASE_CRC32_H
#include <stddef.h>
#include <stdint.h>

/* Continue the checksum `crc` with n bytes; start with 0. */
uint32_t ch_crc32(uint32_t crc, const void *p, size_t n);

#endif

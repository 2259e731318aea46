/* crc32.h -- the checksum of zlib, PNG and Amazon's event streams (IEEE
 * 802.3). It finds damage, not malice. */
#ifndef CH_BASE_CRC32_H
#define CH_BASE_CRC32_H
#include <stddef.h>
#include <stdint.h>

/* Continue from `crc`; 0 to begin. */
uint32_t ch_crc32(uint32_t crc, const void *p, size_t n);

#endif

/* checksum.h -- a fast 32-bit checksum (XXH32): finds what a disk, a cut or an
 * editor did to stored bytes. No protection against somebody who means it. */
#ifndef CH_BASE_CHECKSUM_H
#define CH_BASE_CHECKSUM_H
#include <stddef.h>
#include <stdint.h>

uint32_t ch_checksum(uint32_t seed, const void *data, size_t n);

#endif

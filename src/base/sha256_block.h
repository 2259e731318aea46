/* sha256_block.h -- the compression function of SHA-256. */
#ifndef CH_BASE_SHA256_BLOCK_H
#define CH_BASE_SHA256_BLOCK_H
#include <stddef.h>
#include <stdint.h>

#define CH_SHA256_BLOCK 64

/* Adds n blocks at p to the state H. */
typedef void ch_sha256_blocks_fn(uint32_t H[8], const unsigned char *p, size_t n);

/* With the instructions of the processor where it has them, otherwise in plain C. */
ch_sha256_blocks_fn ch_sha256_blocks;
/* In plain C. */
ch_sha256_blocks_fn ch_sha256_blocks_plain;

#endif

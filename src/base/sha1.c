/* sha1.c -- see sha1.h. Follows FIPS 180-4, section 6.1, with the standard's
 * variable names. */
#include "base/sha1.h"

#include <stdint.h>

static uint32_t rotl(uint32_t x, unsigned n) {
    return x << n | x >> (32 - n);
}

static void sha1_schedule(uint32_t W[80], const unsigned char block[64]) {
    for (size_t t = 0; t < 16; t++) {
        const unsigned char *p = block + 4 * t;
        W[t] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    }
    for (size_t t = 16; t < 80; t++)
        W[t] = rotl(W[t - 3] ^ W[t - 8] ^ W[t - 14] ^ W[t - 16], 1);
}

static uint32_t f(size_t t, uint32_t b, uint32_t c, uint32_t d) {
    if (t < 20)
        return (b & c) ^ (~b & d);
    return t >= 40 && t < 60 ? (b & c) ^ (b & d) ^ (c & d) : b ^ c ^ d;
}

static void sha1_compress(uint32_t H[5], const unsigned char block[64]) {
    static const uint32_t K[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t W[80], a = H[0], b = H[1], c = H[2], d = H[3], e = H[4];
    sha1_schedule(W, block);
    for (size_t t = 0; t < 80; t++) {
        uint32_t T = rotl(a, 5) + f(t, b, c, d) + e + K[t / 20] + W[t];
        e = d;
        d = c;
        c = rotl(b, 30);
        b = a;
        a = T;
    }
    H[0] += a;
    H[1] += b;
    H[2] += c;
    H[3] += d;
    H[4] += e;
}

void ch_sha1(struct ch_sv text, unsigned char out[CH_SHA1_SIZE]) {
    uint32_t H[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    unsigned char last[128] = {0};
    size_t at = 0;
    for (; text.n - at >= 64; at += 64)
        sha1_compress(H, (const unsigned char *)text.p + at);
    size_t left = text.n - at, blocks = left < 56 ? 1 : 2;
    if (left)
        memcpy(last, text.p + at, left);
    last[left] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[64 * blocks - 1 - i] = (unsigned char)((uint64_t)text.n * 8 >> (8 * i));
    for (size_t i = 0; i < blocks; i++)
        sha1_compress(H, last + 64 * i);
    for (size_t i = 0; i < CH_SHA1_SIZE; i++)
        out[i] = (unsigned char)(H[i / 4] >> (24 - 8 * (i % 4)));
}

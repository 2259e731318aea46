/* sha256.c -- see sha256.h. Follows FIPS 180-4, section 6.2, with the
 * standard's variable names. */
#include "base/sha256.h"

#include "base/mem.h"

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n) {
    return x >> n | x << (32 - n);
}

static uint32_t sha256_load(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void sha256_schedule(uint32_t W[64], const unsigned char block[64]) {
    for (size_t t = 0; t < 16; t++)
        W[t] = sha256_load(block + 4 * t);
    for (size_t t = 16; t < 64; t++) {
        uint32_t s0 = rotr(W[t - 15], 7) ^ rotr(W[t - 15], 18) ^ W[t - 15] >> 3;
        uint32_t s1 = rotr(W[t - 2], 17) ^ rotr(W[t - 2], 19) ^ W[t - 2] >> 10;
        W[t] = s1 + W[t - 7] + s0 + W[t - 16];
    }
}

static void sha256_compress(uint32_t H[8], const unsigned char block[64]) {
    uint32_t W[64];
    uint32_t a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];

    sha256_schedule(W, block);
    for (size_t t = 0; t < 64; t++) {
        uint32_t ch = (e & f) ^ (~e & g), maj = (a & b) ^ (a & c) ^ (b & c);
        uint32_t T1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ch + K[t] + W[t];
        uint32_t T2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + maj;
        h = g, g = f, f = e, e = d + T1;
        d = c, c = b, b = a, a = T1 + T2;
    }
    H[0] += a, H[1] += b, H[2] += c, H[3] += d;
    H[4] += e, H[5] += f, H[6] += g, H[7] += h;
}

void ch_sha256_init(struct ch_sha256 *h) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memcpy(h->state, start, sizeof(start));
    h->bytes = 0;
}

void ch_sha256_add(struct ch_sha256 *h, const void *p, size_t n) {
    const unsigned char *at = p;

    while (n) {
        size_t have = h->bytes % sizeof(h->block);
        size_t take = CH_MIN(n, sizeof(h->block) - have);
        memcpy(h->block + have, at, take);
        h->bytes += take;
        at += take;
        n -= take;
        if (have + take == sizeof(h->block))
            sha256_compress(h->state, h->block);
    }
}

void ch_sha256_end(struct ch_sha256 *h, unsigned char out[CH_SHA256_SIZE]) {
    static const unsigned char padding[64] = {0x80};
    uint64_t bits = h->bytes * 8;
    unsigned char length[8];
    size_t have = h->bytes % sizeof(h->block);

    for (size_t i = 0; i < sizeof(length); i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    ch_sha256_add(h, padding, have < 56 ? 56 - have : 120 - have);
    ch_sha256_add(h, length, sizeof(length));
    for (size_t i = 0; i < CH_SHA256_SIZE; i++)
        out[i] = (unsigned char)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

void ch_sha256_of(struct ch_sv text, unsigned char out[CH_SHA256_SIZE]) {
    struct ch_sha256 h;
    ch_sha256_init(&h);
    ch_sha256_add(&h, text.p, text.n);
    ch_sha256_end(&h, out);
}

/* One half of an HMAC: the digest of the masked key followed by some bytes. */
static void sha256_keyed(const unsigned char key[64], unsigned char mask, const void *p, size_t n,
                         unsigned char out[CH_SHA256_SIZE]) {
    unsigned char pad[64];
    struct ch_sha256 h;

    for (size_t i = 0; i < sizeof(pad); i++)
        pad[i] = key[i] ^ mask;
    ch_sha256_init(&h);
    ch_sha256_add(&h, pad, sizeof(pad));
    ch_sha256_add(&h, p, n);
    ch_sha256_end(&h, out);
}

void ch_hmac_sha256(struct ch_sv key, struct ch_sv text, unsigned char out[CH_SHA256_SIZE]) {
    unsigned char block[64] = {0}, inner[CH_SHA256_SIZE];

    if (key.n > sizeof(block)) {
        struct ch_sha256 h;
        ch_sha256_init(&h);
        ch_sha256_add(&h, key.p, key.n);
        ch_sha256_end(&h, block);
    } else if (key.n) {
        memcpy(block, key.p, key.n);
    }
    sha256_keyed(block, 0x36, text.p, text.n, inner);
    sha256_keyed(block, 0x5c, inner, sizeof(inner), out);
}

/* --- digests in hexadecimal */

bool ch_sha256_equal(const unsigned char a[CH_SHA256_SIZE], const unsigned char b[CH_SHA256_SIZE]) {
    unsigned char difference = 0;
    for (size_t i = 0; i < CH_SHA256_SIZE; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

bool ch_sha256_read(struct ch_sv hex, unsigned char out[CH_SHA256_SIZE]) {
    if (hex.n != 2 * CH_SHA256_SIZE)
        return false;
    for (size_t i = 0; i < hex.n; i++) {
        char c = hex.p[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        out[i / 2] = (unsigned char)(i % 2 ? out[i / 2] << 4 | digit : digit);
    }
    return true;
}

void ch_sha256_hex(const unsigned char digest[CH_SHA256_SIZE], char out[2 * CH_SHA256_SIZE + 1]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < CH_SHA256_SIZE; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * CH_SHA256_SIZE] = '\0';
}

/* sha256.c -- see sha256.h. */
#include "base/sha256.h"

#include "base/mem.h"
#include "base/sha256_block.h"

void ch_sha256_init(struct ch_sha256 *h) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memcpy(h->state, start, sizeof(start));
    h->bytes = 0;
}

void ch_sha256_add(struct ch_sha256 *h, const void *p, size_t n) {
    const unsigned char *at = p;
    size_t have = h->bytes % sizeof(h->block);
    size_t fill = have ? CH_MIN(n, sizeof(h->block) - have) : 0;

    if (!n)
        return;
    h->bytes += n;
    memcpy(h->block + have, at, fill);
    if (fill && have + fill == sizeof(h->block))
        ch_sha256_blocks(h->state, h->block, 1);
    at += fill;
    n -= fill;
    size_t blocks = n / sizeof(h->block);
    if (blocks)
        ch_sha256_blocks(h->state, at, blocks);
    memcpy(h->block, at + blocks * sizeof(h->block), n % sizeof(h->block));
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

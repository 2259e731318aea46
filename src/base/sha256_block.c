/* sha256_block.c -- see sha256_block.h. Follows FIPS 180-4, section 6.2, with the standard's
 * variable names.
 *
 * Every request to a model is hashed for the journal. The instructions of arm64 and x86-64
 * processors, which x86-64 processors in servers often lack, hash several times as fast as plain
 * C. Both compute four rounds at a time from four words of the schedule: w[0] to w[3] hold the
 * next sixteen words. */
#include "base/sha256_block.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#if defined(__aarch64__) && defined(__linux__) && (!defined(__clang__) || __clang_major__ >= 16)
#define SHA256_ARM /* earlier versions of clang offer the instructions to whole files only */
#include <arm_neon.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#define SHA256_X86
#include <cpuid.h>
#include <immintrin.h>
#endif

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

/* --- plain C ---------------------------------------------------------------------- */

static uint32_t rotr(uint32_t x, unsigned n) {
    return x >> n | x << (32 - n);
}

static uint32_t sha256_load(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The schedules of LANES blocks at the same time: lane i of W[t] is word t of block i. A
 * compiler without vector instructions for the target splits the operations. */
#define LANES 4
typedef uint32_t sha256_lanes __attribute__((vector_size(4 * LANES)));

static sha256_lanes rotr_lanes(sha256_lanes x, unsigned n) {
    return x >> n | x << (32 - n);
}

/* n: number of blocks; the lanes above repeat the last one. */
static void sha256_schedule(sha256_lanes W[64], const unsigned char *p, size_t n) {
    for (size_t t = 0; t < 16; t++)
        for (size_t i = 0; i < LANES; i++)
            W[t][i] = sha256_load(p + CH_SHA256_BLOCK * (i < n ? i : n - 1) + 4 * t);
    for (size_t t = 16; t < 64; t++) {
        sha256_lanes x = W[t - 15], y = W[t - 2];
        sha256_lanes s0 = rotr_lanes(x, 7) ^ rotr_lanes(x, 18) ^ x >> 3;
        sha256_lanes s1 = rotr_lanes(y, 17) ^ rotr_lanes(y, 19) ^ y >> 10;
        W[t] = s1 + W[t - 7] + s0 + W[t - 16];
    }
}

/* Eight rounds return every variable to its place: a round renames the variables and moves
 * none. */
static void sha256_compress(uint32_t H[8], const sha256_lanes W[64], size_t lane) {
    uint32_t v[8];

    memcpy(v, H, sizeof(v));
    for (unsigned t = 0; t < 64; t += 8) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            uint32_t a = v[-i % 8], b = v[(1 - i) % 8], c = v[(2 - i) % 8], *d = &v[(3 - i) % 8];
            uint32_t e = v[(4 - i) % 8], f = v[(5 - i) % 8], g = v[(6 - i) % 8];
            uint32_t *h = &v[(7 - i) % 8], ch = g ^ (e & (f ^ g)), maj = (a & b) | (c & (a | b));
            uint32_t T1 = *h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ch + K[t + i] +
                          W[t + i][lane];
            *d += T1;
            *h = T1 + (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + maj;
        }
    }
    for (size_t i = 0; i < 8; i++)
        H[i] += v[i];
}

void ch_sha256_blocks_plain(uint32_t H[8], const unsigned char *p, size_t n) {
    sha256_lanes W[64];

    while (n) {
        size_t k = n < LANES ? n : LANES;
        sha256_schedule(W, p, k);
        for (size_t i = 0; i < k; i++)
            sha256_compress(H, W, i);
        p += k * CH_SHA256_BLOCK;
        n -= k;
    }
}

/* --- instructions of the processor -------------------------------------------------- */

#ifdef SHA256_ARM
static bool sha256_is_fast(void) {
    return getauxval(AT_HWCAP) & HWCAP_SHA2;
}

__attribute__((target("+crypto"))) static void sha256_blocks_fast(uint32_t H[8],
                                                                   const unsigned char *p,
                                                                   size_t n) {
    uint32x4_t abcd = vld1q_u32(H), efgh = vld1q_u32(H + 4);

    for (; n; n--, p += CH_SHA256_BLOCK) {
        uint32x4_t w[4], abcd0 = abcd, efgh0 = efgh;
        for (unsigned i = 0; i < 4; i++)
            w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(p + 16 * i)));
        for (unsigned t = 0; t < 16; t++) {
            uint32x4_t *next = &w[t % 4], kw = vaddq_u32(*next, vld1q_u32(K + 4 * t));
            uint32x4_t before = abcd;
            abcd = vsha256hq_u32(abcd, efgh, kw);
            efgh = vsha256h2q_u32(efgh, before, kw);
            *next = vsha256su1q_u32(vsha256su0q_u32(*next, w[(t + 1) % 4]), w[(t + 2) % 4],
                                    w[(t + 3) % 4]);
        }
        abcd = vaddq_u32(abcd, abcd0);
        efgh = vaddq_u32(efgh, efgh0);
    }
    vst1q_u32(H, abcd);
    vst1q_u32(H + 4, efgh);
}
#endif

#ifdef SHA256_X86
static bool sha256_is_fast(void) {
    unsigned a, b, c, d;
    bool shuffles = __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSSE3 && c & bit_SSE4_1;
    return shuffles && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}

/* The instructions keep the state as ABEF and CDGH, from the highest word to the lowest. */
__attribute__((target("sha,ssse3,sse4.1"))) static void
sha256_blocks_fast(uint32_t H[8], const unsigned char *p, size_t n) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)H), 0xb1);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(H + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);

    for (; n; n--, p += CH_SHA256_BLOCK) {
        __m128i w[4], abef0 = abef, cdgh0 = cdgh;
        for (unsigned i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p + i), big_endian);
        for (unsigned t = 0; t < 16; t++) {
            __m128i *next = &w[t % 4], last = w[(t + 3) % 4];
            __m128i kw = _mm_add_epi32(*next, _mm_loadu_si128((const __m128i *)(K + 4 * t)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, kw);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(kw, 0x0e));
            __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(*next, w[(t + 1) % 4]),
                                        _mm_alignr_epi8(last, w[(t + 2) % 4], 4));
            *next = _mm_sha256msg2_epu32(sum, last);
        }
        abef = _mm_add_epi32(abef, abef0);
        cdgh = _mm_add_epi32(cdgh, cdgh0);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)H, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(H + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

#if defined(SHA256_ARM) || defined(SHA256_X86)
void ch_sha256_blocks(uint32_t H[8], const unsigned char *p, size_t n) {
    static _Atomic(ch_sha256_blocks_fn *) chosen; /* asking an x86-64 processor is slow */
    ch_sha256_blocks_fn *fn = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (!fn) {
        fn = sha256_is_fast() ? sha256_blocks_fast : ch_sha256_blocks_plain;
        atomic_store_explicit(&chosen, fn, memory_order_relaxed);
    }
    fn(H, p, n);
}
#else
void ch_sha256_blocks(uint32_t H[8], const unsigned char *p, size_t n) {
    ch_sha256_blocks_plain(H, p, n);
}
#endif

/* crc32.c -- CRC-32, sixteen bytes per step, with tables built by the compiler.
 *
 * table[k][b] is the effect of byte b on the checksum when k more bytes follow.
 * The checksum is linear, so an entry is the exclusive or of the entries of its
 * byte's bits. All those bit entries form one sequence in which each constant
 * is the previous one shifted by a bit. The 128 constants S0 to S127 therefore
 * define every table. */
#include "base/crc32.h"

#define POLYNOMIAL 0xedb88320u
#define SHIFT(s) ((s)&1 ? POLYNOMIAL ^ ((s) >> 1) : (s) >> 1)
#define NEXT8(a, b, c, d, e, f, g, h, before)                                                \
    a = SHIFT(before), b = SHIFT(a), c = SHIFT(b), d = SHIFT(c), e = SHIFT(d), f = SHIFT(e), \
    g = SHIFT(f), h = SHIFT(g)

enum {
    NEXT8(S0, S1, S2, S3, S4, S5, S6, S7, 1u),
    NEXT8(S8, S9, S10, S11, S12, S13, S14, S15, S7),
    NEXT8(S16, S17, S18, S19, S20, S21, S22, S23, S15),
    NEXT8(S24, S25, S26, S27, S28, S29, S30, S31, S23),
    NEXT8(S32, S33, S34, S35, S36, S37, S38, S39, S31),
    NEXT8(S40, S41, S42, S43, S44, S45, S46, S47, S39),
    NEXT8(S48, S49, S50, S51, S52, S53, S54, S55, S47),
    NEXT8(S56, S57, S58, S59, S60, S61, S62, S63, S55),
    NEXT8(S64, S65, S66, S67, S68, S69, S70, S71, S63),
    NEXT8(S72, S73, S74, S75, S76, S77, S78, S79, S71),
    NEXT8(S80, S81, S82, S83, S84, S85, S86, S87, S79),
    NEXT8(S88, S89, S90, S91, S92, S93, S94, S95, S87),
    NEXT8(S96, S97, S98, S99, S100, S101, S102, S103, S95),
    NEXT8(S104, S105, S106, S107, S108, S109, S110, S111, S103),
    NEXT8(S112, S113, S114, S115, S116, S117, S118, S119, S111),
    NEXT8(S120, S121, S122, S123, S124, S125, S126, S127, S119),
};

#define BIT(byte, bit, s) ((byte) >> (bit)&1 ? (uint32_t)(s) : 0)
#define ENTRY(i, a, b, c, d, e, f, g, h)                                                      \
    BIT(i, 7, a) ^ BIT(i, 6, b) ^ BIT(i, 5, c) ^ BIT(i, 4, d) ^ BIT(i, 3, e) ^ BIT(i, 2, f) ^ \
        BIT(i, 1, g) ^ BIT(i, 0, h)
#define FOUR(i, ...)                                                             \
    ENTRY(i, __VA_ARGS__), ENTRY(i + 1, __VA_ARGS__), ENTRY(i + 2, __VA_ARGS__), \
        ENTRY(i + 3, __VA_ARGS__)
#define SIXTEEN(i, ...)                                                       \
    FOUR(i, __VA_ARGS__), FOUR(i + 4, __VA_ARGS__), FOUR(i + 8, __VA_ARGS__), \
        FOUR(i + 12, __VA_ARGS__)
#define SIXTY_FOUR(i, ...)                                                               \
    SIXTEEN(i, __VA_ARGS__), SIXTEEN(i + 16, __VA_ARGS__), SIXTEEN(i + 32, __VA_ARGS__), \
        SIXTEEN(i + 48, __VA_ARGS__)
#define BYTES(...)                                                                             \
    {                                                                                          \
        SIXTY_FOUR(0, __VA_ARGS__), SIXTY_FOUR(64, __VA_ARGS__), SIXTY_FOUR(128, __VA_ARGS__), \
            SIXTY_FOUR(192, __VA_ARGS__)                                                       \
    }

static const uint32_t table[16][256] = {
    BYTES(S0, S1, S2, S3, S4, S5, S6, S7),
    BYTES(S8, S9, S10, S11, S12, S13, S14, S15),
    BYTES(S16, S17, S18, S19, S20, S21, S22, S23),
    BYTES(S24, S25, S26, S27, S28, S29, S30, S31),
    BYTES(S32, S33, S34, S35, S36, S37, S38, S39),
    BYTES(S40, S41, S42, S43, S44, S45, S46, S47),
    BYTES(S48, S49, S50, S51, S52, S53, S54, S55),
    BYTES(S56, S57, S58, S59, S60, S61, S62, S63),
    BYTES(S64, S65, S66, S67, S68, S69, S70, S71),
    BYTES(S72, S73, S74, S75, S76, S77, S78, S79),
    BYTES(S80, S81, S82, S83, S84, S85, S86, S87),
    BYTES(S88, S89, S90, S91, S92, S93, S94, S95),
    BYTES(S96, S97, S98, S99, S100, S101, S102, S103),
    BYTES(S104, S105, S106, S107, S108, S109, S110, S111),
    BYTES(S112, S113, S114, S115, S116, S117, S118, S119),
    BYTES(S120, S121, S122, S123, S124, S125, S126, S127),
};

static uint32_t little_endian(const unsigned char *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The effect of four bytes when 4 * k more bytes follow. */
static uint32_t four(size_t k, uint32_t bytes) {
    const uint32_t(*t)[256] = table + 4 * k;
    return t[3][bytes & 255] ^ t[2][bytes >> 8 & 255] ^ t[1][bytes >> 16 & 255] ^ t[0][bytes >> 24];
}

uint32_t ch_crc32(uint32_t crc, const void *p, size_t n) {
    const unsigned char *at = p;

    crc = ~crc;
    for (; n >= 16; n -= 16, at += 16)
        crc = four(3, crc ^ little_endian(at)) ^ four(2, little_endian(at + 4)) ^
              four(1, little_endian(at + 8)) ^ four(0, little_endian(at + 12));
    for (; n >= 4; n -= 4, at += 4)
        crc = four(0, crc ^ little_endian(at));
    for (; n > 0; n--)
        crc = crc >> 8 ^ table[0][(crc ^ *at++) & 255];
    return ~crc;
}

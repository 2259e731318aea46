/* base64.c -- see base64.h. */
#include "base/base64.h"

#include <stdint.h>

int ch_base64_add(struct ch_buf *out, struct ch_sv bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)bytes.p;
    size_t n = bytes.n, size = n / 3 * 4 + (n % 3 ? 4 : 0);
    char *at = ch_buf_reserve(out, size);

    if (!at)
        return CHELA_ELIMIT;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? p[i + 2] : 0);
        *at++ = digits[v >> 18];
        *at++ = digits[v >> 12 & 63];
        *at++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
        *at++ = i + 2 < n ? digits[v & 63] : '=';
    }
    ch_buf_commit(out, size);
    return 0;
}

/* The value of a digit plus 1; 0: no digit. A table, because comparisons of random digits are
 * predicted badly. */
static const unsigned char values[256] = {
    ['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
    14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    ['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
    40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
    ['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62,
    ['+'] = 63, ['-'] = 63, ['/'] = 64, ['_'] = 64,
};

/* True if only padding and white space begin at `from`. */
static bool ends_at(struct ch_sv s, size_t from) {
    for (size_t i = from; i < s.n; i++)
        if (s.p[i] != '=' && (unsigned char)s.p[i] > ' ')
            return false;
    return true;
}

bool ch_base64_read(struct ch_sv s, struct ch_buf *out) {
    unsigned bits = 0, have = 0;
    size_t i = 0;
    for (; i < s.n && s.p[i] != '='; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (!values[c] && c <= ' ')
            continue;
        if (!values[c])
            return false;
        bits = bits << 6 | (values[c] - 1u);
        have += 6;
        if (have >= 8) {
            have -= 8;
            ch_buf_addc(out, (char)(bits >> have));
        }
    }
    return have < 6 && ends_at(s, i);
}

size_t ch_base64_size(struct ch_sv s) {
    size_t digits = 0;
    for (size_t i = 0; i < s.n && s.p[i] != '='; i++)
        digits += values[(unsigned char)s.p[i]] != 0;
    return digits / 4 * 3 + digits % 4 * 3 / 4;
}

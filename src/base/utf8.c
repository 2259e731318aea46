/* utf8.c -- see utf8.h. */
#include "base/utf8.h"

#include "base/vector.h"

static unsigned length_by_lead(unsigned char lead) {
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2)
        return 0; /* a continuation byte, or the first byte of an overlong form */
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

unsigned ch_utf8_next(struct ch_sv s, uint32_t *cp) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *b = (const unsigned char *)s.p;
    if (s.n == 0)
        return 0;
    unsigned n = length_by_lead(b[0]);
    if (n == 0 || n > s.n)
        return 0;
    uint32_t c = n == 1 ? b[0] : b[0] & (0xffu >> (n + 1));
    for (unsigned i = 1; i < n; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (b[i] & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    if (cp)
        *cp = c;
    return n;
}

/* Chinese, Japanese and Korean characters take three bytes, so these are
 * checked as one number: first the lead and continuation bits, then the bits
 * that reveal overlong forms and surrogates. */
static bool three_bytes(const unsigned char *b) {
    uint32_t c = (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
    uint32_t tell = c & 0x0f2000;
    return (c & 0xf0c0c0) == 0xe08080 && tell != 0 && tell != 0x0d2000;
}

/* Five such characters at once. Those that may be overlong forms or surrogates, which begin
 * with 0xe0 or 0xed, are left to three_bytes. */
static const char *three_bytes_run(const char *at, const char *end) {
    static const ch_vector bits = {0xf0, 0xc0, 0xc0, 0xf0, 0xc0, 0xc0, 0xf0, 0xc0,
                                   0xc0, 0xf0, 0xc0, 0xc0, 0xf0, 0xc0, 0xc0, 0},
                           form = {0xe0, 0x80, 0x80, 0xe0, 0x80, 0x80, 0xe0, 0x80,
                                   0x80, 0xe0, 0x80, 0x80, 0xe0, 0x80, 0x80, 0},
                           leads = {0xff, 0, 0, 0xff, 0, 0, 0xff, 0, 0, 0xff, 0, 0, 0xff, 0, 0, 0};
    for (; end - at >= CH_VECTOR; at += 15) {
        ch_vector v = ch_vector_load(at);
        ch_vector other = (ch_vector)((v & bits) != form),
                  unsure = (ch_vector)((v == 0xe0) | (v == 0xed)) & leads;
        if (ch_vector_any(other | unsure))
            break;
    }
    return at;
}

const char *ch_utf8_run_multibyte(const char *at, const char *end) {
    at = three_bytes_run(at, end);
    while (at < end && (*at & 0x80)) {
        if (end - at >= 3 && three_bytes((const unsigned char *)at)) {
            at += 3;
            continue;
        }
        unsigned n = ch_utf8_next(ch_sv(at, (size_t)(end - at)), NULL);
        if (n == 0)
            break;
        at += n;
    }
    return at;
}

static const char *ascii_run(const char *at, const char *end) {
    while (end - at >= 8) {
        uint64_t high = ch_word_load(at) & CH_WORD_HIGH;
        if (high)
            return at + ch_word_first(high);
        at += 8;
    }
    while (at < end && !(*at & 0x80))
        at++;
    return at;
}

const char *ch_utf8_run(const char *at, const char *end) {
    for (;;) {
        at = ascii_run(at, end);
        const char *next = ch_utf8_run_multibyte(at, end);
        if (next == at)
            return at;
        at = next;
    }
}

bool ch_utf8_valid(struct ch_sv s) {
    return s.n == 0 || ch_utf8_run(s.p, s.p + s.n) == s.p + s.n;
}

unsigned ch_utf8_put(char out[4], uint32_t cp) {
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xc0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xe0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        out[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    out[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}

int ch_utf8_add_valid(struct ch_buf *out, struct ch_sv s) {
    if (s.n == 0)
        return 0;
    const char *at = s.p, *end = s.p + s.n;
    int rc = 0;
    while (at < end && rc == 0) {
        const char *bad = ch_utf8_run(at, end);
        rc = ch_buf_add(out, at, (size_t)(bad - at));
        if (bad < end && rc == 0)
            rc = CH_BUF_LIT(out, "\xef\xbf\xbd");
        at = bad + 1;
    }
    return rc;
}

static bool continues(char c) {
    return ((unsigned char)c & 0xc0) == 0x80;
}

struct ch_sv ch_utf8_cut(struct ch_sv s, size_t max) {
    if (s.n <= max)
        return s;
    size_t back = 0;
    while (back < 3 && back < max && continues(s.p[max - back]))
        back++;
    bool character = !continues(s.p[max - back]);
    return ch_sv(s.p, character ? max - back : max);
}

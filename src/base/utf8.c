/* utf8.c -- see utf8.h. */
#include "base/utf8.h"

#include "base/utf8_scan.h"

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

static const char *ascii_run(const char *at, const char *end) {
    while (end - at >= 32 && !((ch_word_load(at) | ch_word_load(at + 8) | ch_word_load(at + 16) |
                                ch_word_load(at + 24)) &
                               CH_WORD_HIGH))
        at += 32;
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

static inline ch_vector no_stops(ch_vector v) {
    return v ^ v;
}

/* As ch_utf8_run, character by character. */
static const char *run_of_each(const char *at, const char *end) {
    for (unsigned n = 1; n && at < end; at += n)
        n = *at & 0x80 ? ch_utf8_step(at, end) : 1;
    return at;
}

const char *ch_utf8_run(const char *at, const char *end) {
    while ((at = ascii_run(at, end)) < end) {
        const char *next = ch_utf8_pass(at, end, no_stops);
        if (next == at)
            return run_of_each(at, end);
        at = next;
    }
    return at;
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

/* bignum.c -- see bignum.h. Schoolbook algorithms are fast enough for ten thousand digits
 * and simple to verify. Division is Knuth's algorithm D (The Art of Computer Programming,
 * volume 2, 4.3.1). */
#include "tool/builtin/data/bignum.h"

#include <stdlib.h>

#define MEMORY_MAX (64 * CH_MB)

static const uint32_t powers[] = {1,      10,      100,      1000,      10000,
                                  100000, 1000000, 10000000, 100000000, 1000000000};

/* Charge the work budget for an operation whose result has n limbs, and allocate the limbs. */
static uint32_t *bignum_begin(struct ch_big_ctx *c, uint64_t cost, size_t n) {
    if (cost > c->work || c->arena->total > MEMORY_MAX) {
        c->exhausted = true;
        return NULL;
    }
    c->work -= cost;
    if (n > CH_BIG_LIMBS)
        return NULL;
    return ch_arena_zalloc(c->arena, (n ? n : 1) * sizeof(uint32_t));
}

static struct ch_big bignum_finish(const uint32_t *limbs, size_t n, bool negative) {
    while (n > 0 && limbs[n - 1] == 0)
        n--;
    return (struct ch_big){.negative = negative && n > 0, .n = (uint32_t)n, .limbs = limbs};
}

bool ch_big_from_digits(struct ch_big_ctx *c, struct ch_sv digits, struct ch_big *out) {
    size_t n = (digits.n + CH_BIG_DIGITS - 1) / CH_BIG_DIGITS;
    uint32_t *limbs = bignum_begin(c, digits.n, n);

    if (!limbs)
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t end = digits.n - i * CH_BIG_DIGITS;
        size_t from = end > CH_BIG_DIGITS ? end - CH_BIG_DIGITS : 0;
        for (size_t k = from; k < end; k++)
            limbs[i] = limbs[i] * 10 + (uint32_t)(digits.p[k] - '0');
    }
    *out = bignum_finish(limbs, n, false);
    return true;
}

struct ch_big ch_big_small(struct ch_big_ctx *c, uint32_t v) {
    uint32_t *limb = ch_arena_alloc(c->arena, sizeof(*limb));

    *limb = v;
    return bignum_finish(limb, 1, false);
}

struct ch_big ch_big_negate(struct ch_big a) {
    a.negative = !a.negative && a.n > 0;
    return a;
}

static int bignum_compare_magnitude(struct ch_big a, struct ch_big b) {
    if (a.n != b.n)
        return a.n < b.n ? -1 : 1;
    for (size_t i = a.n; i > 0; i--)
        if (a.limbs[i - 1] != b.limbs[i - 1])
            return a.limbs[i - 1] < b.limbs[i - 1] ? -1 : 1;
    return 0;
}

int ch_big_compare(struct ch_big a, struct ch_big b) {
    if (a.negative != b.negative)
        return a.negative ? -1 : 1;
    return a.negative ? -bignum_compare_magnitude(a, b) : bignum_compare_magnitude(a, b);
}

static bool add_magnitudes(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, bool negative,
                           struct ch_big *out) {
    size_t n = CH_MAX(a.n, b.n) + (size_t)1;
    uint32_t *sum = bignum_begin(c, n, n), carry = 0;

    if (!sum)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t v = (i < a.n ? a.limbs[i] : 0) + (i < b.n ? b.limbs[i] : 0) + carry;
        carry = v >= CH_BIG_BASE;
        sum[i] = carry ? v - CH_BIG_BASE : v;
    }
    *out = bignum_finish(sum, n, negative);
    return true;
}

/* Requires |a| >= |b|. */
static bool sub_magnitudes(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, bool negative,
                           struct ch_big *out) {
    uint32_t *diff = bignum_begin(c, a.n, a.n), borrow = 0;

    if (!diff)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        uint32_t take = (i < b.n ? b.limbs[i] : 0) + borrow;
        borrow = a.limbs[i] < take;
        diff[i] = a.limbs[i] + (borrow ? CH_BIG_BASE : 0) - take;
    }
    *out = bignum_finish(diff, a.n, negative);
    return true;
}

bool ch_big_add(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, struct ch_big *out) {
    if (a.negative == b.negative)
        return add_magnitudes(c, a, b, a.negative, out);
    if (bignum_compare_magnitude(a, b) >= 0)
        return sub_magnitudes(c, a, b, a.negative, out);
    return sub_magnitudes(c, b, a, b.negative, out);
}

bool ch_big_sub(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, struct ch_big *out) {
    return ch_big_add(c, a, ch_big_negate(b), out);
}

bool ch_big_mul(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, struct ch_big *out) {
    size_t n = (size_t)a.n + b.n;
    uint32_t *prod = bignum_begin(c, (uint64_t)a.n * b.n + 1, n);

    if (!prod)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        uint64_t carry = 0;
        for (size_t j = 0; j < b.n; j++) {
            uint64_t v = (uint64_t)a.limbs[i] * b.limbs[j] + prod[i + j] + carry;
            prod[i + j] = (uint32_t)(v % CH_BIG_BASE);
            carry = v / CH_BIG_BASE;
        }
        prod[i + b.n] = (uint32_t)carry;
    }
    *out = bignum_finish(prod, n, a.negative != b.negative);
    return true;
}

bool ch_big_shift(struct ch_big_ctx *c, struct ch_big a, uint32_t k, struct ch_big *out) {
    size_t whole = k / CH_BIG_DIGITS, n = a.n + whole + 1;
    uint32_t factor = powers[k % CH_BIG_DIGITS];
    uint64_t carry = 0;
    uint32_t *limbs = bignum_begin(c, n, n);

    if (!limbs)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        uint64_t v = (uint64_t)a.limbs[i] * factor + carry;
        limbs[i + whole] = (uint32_t)(v % CH_BIG_BASE);
        carry = v / CH_BIG_BASE;
    }
    limbs[a.n + whole] = (uint32_t)carry;
    *out = bignum_finish(limbs, n, a.negative);
    return true;
}

/* --- division ------------------------------------------------------------ */

/* Divide a by d; returns the remainder. quot may alias a's limbs. */
static uint32_t div_small(struct ch_big a, uint32_t d, uint32_t *quot) {
    uint64_t r = 0;

    for (size_t i = a.n; i > 0; i--) {
        uint64_t v = r * CH_BIG_BASE + a.limbs[i - 1];
        quot[i - 1] = (uint32_t)(v / d);
        r = v % d;
    }
    return (uint32_t)r;
}

/* out = limbs * f; out has one limb more. */
static void scale_up(uint32_t *out, struct ch_big a, uint32_t f) {
    uint64_t carry = 0;

    for (size_t i = 0; i < a.n; i++) {
        uint64_t v = (uint64_t)a.limbs[i] * f + carry;
        out[i] = (uint32_t)(v % CH_BIG_BASE);
        carry = v / CH_BIG_BASE;
    }
    out[a.n] = (uint32_t)carry;
}

/* u[0..n] -= q * v[0..n-1]; returns true on underflow. */
static bool subtract_multiple(uint32_t *u, const uint32_t *v, size_t n, uint64_t q) {
    uint64_t carry = 0;
    int64_t borrow = 0;

    for (size_t i = 0; i <= n; i++) {
        uint64_t p = (i < n ? q * v[i] : 0) + carry;
        carry = p / CH_BIG_BASE;
        int64_t t = (int64_t)u[i] - (int64_t)(p % CH_BIG_BASE) - borrow;
        borrow = t < 0;
        u[i] = (uint32_t)(t + (borrow ? CH_BIG_BASE : 0));
    }
    return borrow;
}

static void add_back(uint32_t *u, const uint32_t *v, size_t n) {
    uint32_t carry = 0;

    for (size_t i = 0; i <= n; i++) {
        uint32_t t = u[i] + (i < n ? v[i] : 0) + carry;
        carry = t >= CH_BIG_BASE;
        u[i] = carry ? t - CH_BIG_BASE : t;
    }
}

/* Quotient digits of u by v, both scaled so that v's top limb is at least half the base; u
 * receives the remainder. */
static void long_division(uint32_t *u, const uint32_t *v, uint32_t *quot, size_t n, size_t m) {
    for (size_t j = m + 1; j > 0; j--) {
        uint32_t *at = u + j - 1;
        uint64_t top = (uint64_t)at[n] * CH_BIG_BASE + at[n - 1];
        uint64_t q = top / v[n - 1], r = top % v[n - 1];

        while (q >= CH_BIG_BASE || q * v[n - 2] > r * CH_BIG_BASE + at[n - 2]) {
            q--;
            r += v[n - 1];
            if (r >= CH_BIG_BASE)
                break;
        }
        if (subtract_multiple(at, v, n, q)) {
            q--;
            add_back(at, v, n);
        }
        quot[j - 1] = (uint32_t)q;
    }
}

static bool div_long(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, struct ch_big *quot,
                     struct ch_big *rem) {
    size_t n = b.n, m = a.n - b.n;
    uint32_t f = CH_BIG_BASE / (b.limbs[n - 1] + 1);
    uint32_t *q = bignum_begin(c, (uint64_t)(m + 1) * n, m + 1);
    uint32_t *u = bignum_begin(c, a.n, (size_t)a.n + 1), *v = bignum_begin(c, n, n + 1);

    if (!q || !u || !v)
        return false;
    scale_up(u, a, f);
    scale_up(v, b, f);
    long_division(u, v, q, n, m);
    div_small((struct ch_big){.n = (uint32_t)n, .limbs = u}, f, u);
    *quot = bignum_finish(q, m + 1, a.negative != b.negative);
    *rem = bignum_finish(u, n, a.negative);
    return true;
}

bool ch_big_divmod(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, struct ch_big *quot,
                   struct ch_big *rem) {
    if (bignum_compare_magnitude(a, b) < 0) {
        *quot = (struct ch_big){0};
        *rem = a;
        return true;
    }
    if (b.n > 1)
        return div_long(c, a, b, quot, rem);
    uint32_t *q = bignum_begin(c, a.n, a.n), *r = bignum_begin(c, 1, 1);
    if (!q || !r)
        return false;
    *r = div_small(a, b.limbs[0], q);
    *quot = bignum_finish(q, a.n, a.negative != b.negative);
    *rem = bignum_finish(r, 1, a.negative);
    return true;
}

/* --- looking at a number ------------------------------------------------- */

static uint32_t limb_digits(uint32_t v) {
    uint32_t n = 0;

    while (n < CH_BIG_DIGITS && v >= powers[n])
        n++;
    return n;
}

uint32_t ch_big_digits(struct ch_big a) {
    return a.n ? (a.n - 1) * CH_BIG_DIGITS + limb_digits(a.limbs[a.n - 1]) : 0;
}

uint32_t ch_big_trailing_zeros(struct ch_big a) {
    uint32_t zeros = 0, i = 0;

    while (i < a.n && a.limbs[i] == 0)
        i++;
    if (i == a.n)
        return 0;
    while (a.limbs[i] % powers[zeros + 1] == 0)
        zeros++;
    return i * CH_BIG_DIGITS + zeros;
}

bool ch_big_to_int(struct ch_big a, int64_t *out) {
    int64_t v = 0;

    if (a.n > 2) /* eighteen digits suffice for all callers */
        return false;
    for (size_t i = a.n; i > 0; i--)
        v = v * CH_BIG_BASE + a.limbs[i - 1];
    *out = a.negative ? -v : v;
    return true;
}

void ch_big_write(struct ch_big a, struct ch_buf *out) {
    if (a.n == 0)
        ch_buf_addc(out, '0');
    for (size_t i = a.n; i > 0; i--)
        ch_buf_addf(out, i == a.n ? "%u" : "%09u", a.limbs[i - 1]);
}

/* Converts through decimal text, which strtod rounds correctly. At least 28 digits are
 * passed; further digits are far below a double's precision. */
double ch_big_to_double(struct ch_big a, int64_t exponent) {
    uint32_t used = CH_MIN(a.n, 4);
    struct ch_big head = {.n = used, .limbs = a.limbs + (a.n - used)};
    CH_BUF_AUTO text = {0};

    ch_big_write(head, &text);
    ch_buf_addf(&text, "e%lld", (long long)(exponent + (int64_t)(a.n - used) * CH_BIG_DIGITS));
    double d = strtod(ch_buf_str(&text), NULL);
    return a.negative ? -d : d;
}

/* number.c -- see number.h.
 *
 * Each operation first tries exact arithmetic. If the result needs too many digits, the
 * operation falls back to doubles. If the work budget is exhausted, the operation fails
 * instead of returning a double. Exact numbers have no trailing zeros in the fraction, so
 * equal numbers have equal representations. */
#include "tool/builtin/data/number.h"

#include <math.h>

#include "json/writer.h"

#define TOO_LARGE "the result is too large"
#define TOO_SMALL "the result is too small"
#define TOO_MUCH "this is too much to compute"
#define BY_ZERO "division by zero"
#define DIVISION_DIGITS 40 /* fraction digits tried before giving up */

/* --- making -------------------------------------------------------------- */

const char *ch_number_approx(double d, struct ch_number *out) {
    if (isnan(d))
        return "the result is not a number";
    if (isinf(d))
        return TOO_LARGE;
    *out = (struct ch_number){.approx = d};
    return NULL;
}

struct ch_number ch_number_small(struct ch_big_ctx *c, uint32_t v) {
    return (struct ch_number){.exact = true, .coefficient = ch_big_small(c, v)};
}

/* False if no exact form is possible: too many digits, or budget exhausted. */
static bool make_exact(struct ch_big_ctx *c, struct ch_big coefficient, int64_t scale,
                       struct ch_number *out) {
    struct ch_big unit, rest;
    int64_t zeros = ch_big_trailing_zeros(coefficient);

    if (ch_big_is_zero(coefficient))
        scale = 0;
    if (scale < 0) {
        if (-scale > CH_LIMIT_CALC_DIGITS ||
            !ch_big_shift(c, coefficient, (uint32_t)-scale, &coefficient))
            return false;
        scale = 0;
    } else if (scale > 0 && zeros > 0) {
        int64_t drop = CH_MIN(scale, zeros);
        if (!ch_big_shift(c, ch_big_small(c, 1), (uint32_t)drop, &unit) ||
            !ch_big_divmod(c, coefficient, unit, &coefficient, &rest))
            return false;
        scale -= drop;
    }
    if (ch_big_digits(coefficient) > CH_LIMIT_CALC_DIGITS || scale > CH_LIMIT_CALC_DIGITS)
        return false;
    *out = (struct ch_number){.exact = true, .coefficient = coefficient, .scale = (uint32_t)scale};
    return true;
}

static int64_t read_exponent(struct ch_sv text) {
    int64_t e = 0;
    bool negative = text.n && text.p[0] == '-';

    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] >= '0' && text.p[i] <= '9' && e < 1000000)
            e = e * 10 + (text.p[i] - '0');
    return negative ? -e : e;
}

const char *ch_number_read(struct ch_big_ctx *c, struct ch_sv text, struct ch_number *out) {
    struct ch_sv mantissa = text, exponent = {NULL, 0};
    CH_BUF_AUTO digits = {0};
    int64_t scale = 0;
    struct ch_big coefficient;

    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == 'e' || text.p[i] == 'E') {
            mantissa = ch_sv(text.p, i);
            exponent = ch_sv(text.p + i + 1, text.n - i - 1);
        }
    struct ch_sv fraction = mantissa, whole = ch_sv_split(&fraction, '.');
    ch_buf_add_sv(&digits, whole);
    ch_buf_add_sv(&digits, fraction);
    scale = (int64_t)fraction.n - read_exponent(exponent);
    if (ch_big_from_digits(c, ch_buf_sv(&digits), &coefficient) &&
        make_exact(c, coefficient, scale, out))
        return NULL;
    return c->exhausted ? TOO_MUCH : "the number has too many digits";
}

/* --- looking ------------------------------------------------------------- */

double ch_number_double(struct ch_number a) {
    return a.exact ? ch_big_to_double(a.coefficient, -(int64_t)a.scale) : a.approx;
}

double ch_number_split(struct ch_number a, int64_t *exponent) {
    double d = ch_number_double(a);
    int64_t digits = ch_big_digits(a.coefficient);

    *exponent = 0;
    if (!a.exact || ch_big_is_zero(a.coefficient) || isnormal(d))
        return d;
    *exponent = digits - (int64_t)a.scale;
    return ch_big_to_double(a.coefficient, -digits);
}

bool ch_number_is_zero(struct ch_number a) {
    return a.exact ? ch_big_is_zero(a.coefficient) : a.approx == 0;
}

bool ch_number_is_negative(struct ch_number a) {
    return a.exact ? a.coefficient.negative : a.approx < 0;
}

bool ch_number_to_int(struct ch_number a, int64_t *out) {
    return a.exact && a.scale == 0 && ch_big_to_int(a.coefficient, out);
}

bool ch_number_same(struct ch_number a, struct ch_number b) {
    return a.exact && b.exact && a.scale == b.scale &&
           ch_big_compare(a.coefficient, b.coefficient) == 0;
}

struct ch_number ch_number_negate(struct ch_number a) {
    a.coefficient = ch_big_negate(a.coefficient);
    a.approx = -a.approx;
    return a;
}

/* Bring both to the same scale; false if that takes too many digits. */
static bool align(struct ch_big_ctx *c, struct ch_number a, struct ch_number b, struct ch_big *x,
                  struct ch_big *y, uint32_t *scale) {
    *scale = CH_MAX(a.scale, b.scale);
    return a.exact && b.exact && ch_big_shift(c, a.coefficient, *scale - a.scale, x) &&
           ch_big_shift(c, b.coefficient, *scale - b.scale, y);
}

bool ch_number_less(struct ch_big_ctx *c, struct ch_number a, struct ch_number b) {
    struct ch_big x, y;
    uint32_t scale;

    if (align(c, a, b, &x, &y, &scale))
        return ch_big_compare(x, y) < 0;
    return ch_number_double(a) < ch_number_double(b);
}

/* --- arithmetic ---------------------------------------------------------- */

const char *ch_number_add(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out) {
    struct ch_big x, y, sum;
    uint32_t scale;

    if (align(c, a, b, &x, &y, &scale) && ch_big_add(c, x, y, &sum) &&
        make_exact(c, sum, scale, out))
        return NULL;
    if (c->exhausted)
        return TOO_MUCH;
    return ch_number_approx(ch_number_double(a) + ch_number_double(b), out);
}

const char *ch_number_sub(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out) {
    return ch_number_add(c, a, ch_number_negate(b), out);
}

/* Fail if a product of non-zero doubles underflowed to 0. */
static const char *approx_product(double d, struct ch_number a, struct ch_number b,
                                  struct ch_number *out) {
    if (d == 0 && !ch_number_is_zero(a) && !ch_number_is_zero(b))
        return TOO_SMALL;
    return ch_number_approx(d, out);
}

const char *ch_number_mul(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out) {
    struct ch_big product;

    if (a.exact && b.exact && ch_big_mul(c, a.coefficient, b.coefficient, &product) &&
        make_exact(c, product, (int64_t)a.scale + b.scale, out))
        return NULL;
    if (c->exhausted)
        return TOO_MUCH;
    return approx_product(ch_number_double(a) * ch_number_double(b), a, b, out);
}

/* Exact division; false if the fraction does not end within the digit limit. */
static bool div_exact(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                      struct ch_number *out) {
    struct ch_big longer, quot, rem;

    return a.exact && b.exact && ch_big_shift(c, a.coefficient, DIVISION_DIGITS, &longer) &&
           ch_big_divmod(c, longer, b.coefficient, &quot, &rem) && ch_big_is_zero(rem) &&
           make_exact(c, quot, DIVISION_DIGITS + (int64_t)a.scale - b.scale, out);
}

const char *ch_number_div(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out) {
    if (ch_number_is_zero(b))
        return BY_ZERO;
    if (div_exact(c, a, b, out))
        return NULL;
    if (c->exhausted)
        return TOO_MUCH;
    int64_t ea, eb;
    double d = ch_number_split(a, &ea) / ch_number_split(b, &eb);
    if (ea != eb)
        d *= pow(10, (double)(ea - eb));
    return approx_product(d, a, ch_number_small(c, 1), out);
}

const char *ch_number_mod(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out) {
    struct ch_big x, y, quot, rem;
    uint32_t scale;

    if (ch_number_is_zero(b))
        return BY_ZERO;
    if (align(c, a, b, &x, &y, &scale) && ch_big_divmod(c, x, y, &quot, &rem)) {
        bool wrong_side = !ch_big_is_zero(rem) && rem.negative != y.negative;
        if ((!wrong_side || ch_big_add(c, rem, y, &rem)) && make_exact(c, rem, scale, out))
            return NULL;
    }
    if (c->exhausted)
        return TOO_MUCH;
    double d = fmod(ch_number_double(a), ch_number_double(b));
    return ch_number_approx(
        d != 0 && (d < 0) != ch_number_is_negative(b) ? d + ch_number_double(b) : d, out);
}

/* --- powers -------------------------------------------------------------- */

static bool pow_exact(struct ch_big_ctx *c, struct ch_number base, uint64_t e,
                      struct ch_number *out) {
    struct ch_number result = ch_number_small(c, 1);
    uint64_t digits = ch_big_digits(base.coefficient);

    /* b^e has more than (digits - 1) * e digits: reject too large results early. */
    if (digits > 1 && e > CH_LIMIT_CALC_DIGITS / (digits - 1))
        return false;
    if (base.scale > 0 && e > CH_LIMIT_CALC_DIGITS / base.scale)
        return false;
    for (; e > 0; e >>= 1) {
        if (e & 1 && !(ch_number_mul(c, result, base, &result) == NULL && result.exact))
            return false;
        if (e > 1 && !(ch_number_mul(c, base, base, &base) == NULL && base.exact))
            return false;
    }
    *out = result;
    return true;
}

const char *ch_number_pow(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out) {
    struct ch_number power;
    int64_t e;

    if (ch_number_is_zero(a) && ch_number_is_negative(b))
        return BY_ZERO;
    if (a.exact && ch_number_to_int(b, &e) &&
        pow_exact(c, a, e < 0 ? (uint64_t)-e : (uint64_t)e, &power)) {
        if (e < 0)
            return ch_number_div(c, ch_number_small(c, 1), power, out);
        *out = power;
        return NULL;
    }
    if (c->exhausted)
        return TOO_MUCH;
    double x = ch_number_double(a), y = ch_number_double(b);
    if (x < 0 && y != floor(y))
        return "a negative number cannot be raised to a fraction";
    return approx_product(pow(x, y), a, ch_number_small(c, 1), out);
}

const char *ch_number_factorial(struct ch_big_ctx *c, struct ch_number a, struct ch_number *out) {
    struct ch_number result = ch_number_small(c, 1);
    int64_t n;

    if (!ch_number_to_int(a, &n) || n < 0)
        return "the factorial needs a whole number that is not negative";
    if (n > CH_LIMIT_CALC_DIGITS)
        return TOO_LARGE;
    for (int64_t i = 2; i <= n; i++) {
        const char *wrong = ch_number_mul(c, result, ch_number_small(c, (uint32_t)i), &result);
        if (wrong || !result.exact)
            return wrong ? wrong : TOO_LARGE;
    }
    *out = result;
    return NULL;
}

/* --- rounding ------------------------------------------------------------ */

static bool round_exact(struct ch_big_ctx *c, struct ch_number a, int64_t digits,
                        struct ch_number *out) {
    struct ch_big unit, quot, rem, twice;
    int64_t drop = (int64_t)a.scale - digits;

    if (drop <= 0) {
        *out = a;
        return true;
    }
    if (drop > CH_LIMIT_CALC_DIGITS ||
        !ch_big_shift(c, ch_big_small(c, 1), (uint32_t)drop, &unit) ||
        !ch_big_divmod(c, a.coefficient, unit, &quot, &rem) || !ch_big_add(c, rem, rem, &twice))
        return false;
    twice.negative = false;
    if (ch_big_compare(twice, unit) >= 0) {
        struct ch_big one = ch_big_small(c, 1);
        if (!ch_big_add(c, quot, a.coefficient.negative ? ch_big_negate(one) : one, &quot))
            return false;
    }
    return make_exact(c, quot, digits, out);
}

const char *ch_number_round(struct ch_big_ctx *c, struct ch_number a, int64_t digits,
                            struct ch_number *out) {
    if (digits > CH_LIMIT_CALC_DIGITS || digits < -CH_LIMIT_CALC_DIGITS)
        return "too many digits to round to";
    if (a.exact)
        return round_exact(c, a, digits, out) ? NULL : TOO_MUCH;
    if (digits > 300 || digits < -300) {
        *out = digits > 0 ? a : ch_number_small(c, 0);
        return NULL;
    }
    double unit = pow(10, (double)digits), scaled = a.approx * unit;
    return ch_number_approx(isinf(scaled) ? a.approx : round(scaled) / unit, out);
}

const char *ch_number_floor(struct ch_big_ctx *c, struct ch_number a, struct ch_number *out) {
    struct ch_big unit, quot, rem;

    if (!a.exact)
        return ch_number_approx(floor(a.approx), out);
    if (ch_big_shift(c, ch_big_small(c, 1), a.scale, &unit) &&
        ch_big_divmod(c, a.coefficient, unit, &quot, &rem) &&
        (!rem.negative || ch_big_sub(c, quot, ch_big_small(c, 1), &quot)) &&
        make_exact(c, quot, 0, out))
        return NULL;
    return TOO_MUCH;
}

/* --- writing ------------------------------------------------------------- */

void ch_number_write(struct ch_number a, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    CH_BUF_AUTO digits = {0};

    if (!a.exact) {
        ch_jw_double(&w, a.approx);
        return;
    }
    ch_big_write(a.coefficient, &digits);
    if (a.coefficient.negative)
        ch_buf_addc(out, '-');
    size_t whole = digits.n > a.scale ? digits.n - a.scale : 0;
    if (whole == 0)
        ch_buf_addc(out, '0');
    ch_buf_add(out, ch_buf_str(&digits), whole);
    if (a.scale == 0)
        return;
    ch_buf_addc(out, '.');
    for (size_t i = digits.n; i < a.scale; i++)
        ch_buf_addc(out, '0');
    ch_buf_add(out, ch_buf_str(&digits) + whole, digits.n - whole);
}

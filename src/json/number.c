/* number.c -- exact operations on the text of numbers.
 *
 * Nodes keep a number's text, so no precision is lost. Exact questions (is it
 * an integer, which of two is larger) are answered on the decimal digits:
 *
 *   value = +-0.d1 d2 ... dn * 10^(point + exponent),  d1 and dn not 0
 *
 * The exponent stays text, since 1e99999999999999999999 is valid JSON. Only
 * doubles go through the C library, in the "C" locale: the process may run in a
 * locale with a decimal comma. */
#include "json/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/scan.h"

struct decimal {
    bool negative;
    const char *digits; /* from d1; may contain a decimal point */
    const char *digits_end;
    size_t n;      /* digits without the point; 0: the value is zero */
    int64_t point; /* digits before the decimal point; may be negative */
    bool exponent_negative;
    struct ch_sv exponent; /* digits without leading zeros */
};

static struct ch_sv without_leading_zeros(struct ch_sv s) {
    while (s.n && s.p[0] == '0')
        s = ch_sv(s.p + 1, s.n - 1);
    return s;
}

static void take_exponent(struct decimal *d, const char *at, const char *end) {
    if (at == end)
        return;
    at++;
    d->exponent_negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    d->exponent = without_leading_zeros(ch_sv(at, (size_t)(end - at)));
}

static struct decimal decimal_of(const struct ch_json *v) {
    const char *at = v->s, *end = v->s + v->n, *dot = NULL;
    struct decimal d = {.negative = *at == '-', .exponent = {"", 0}};
    at += d.negative;
    const char *first = NULL, *last = NULL, *mark = at;
    for (; mark < end && (*mark | 0x20) != 'e'; mark++) {
        if (*mark == '.')
            dot = mark;
        else if (*mark != '0')
            last = mark, first = first ? first : mark;
    }
    take_exponent(&d, mark, end);
    if (!first)
        return d;
    dot = dot ? dot : mark;
    d.digits = first;
    d.digits_end = last + 1;
    d.n = (size_t)(last + 1 - first) - (first < dot && dot < last);
    d.point = dot > first ? dot - first : dot - first + 1;
    return d;
}

/* The exponent, clamped to a range beyond which the callers treat all values
 * alike. */
static int64_t clamped_exponent(const struct decimal *d) {
    int64_t e = 0;
    for (size_t i = 0; i < d->exponent.n && e < INT64_C(1) << 40; i++)
        e = e * 10 + (d->exponent.p[i] - '0');
    return d->exponent_negative ? -e : e;
}

static int signed_digit(const struct decimal *d, size_t place) {
    if (place >= d->exponent.n)
        return 0;
    int digit = d->exponent.p[d->exponent.n - 1 - place] - '0';
    return d->exponent_negative ? -digit : digit;
}

/* The sign of (point + exponent) of a minus that of b. Compares from the
 * highest digit down. The result is settled once the difference exceeds what
 * the points and remaining digits can offset. */
static int json_number_compare_magnitude(const struct decimal *a, const struct decimal *b) {
    const int64_t settled = INT64_C(1) << 40;
    int64_t difference = 0;
    for (size_t place = CH_MAX(a->exponent.n, b->exponent.n); place-- > 0;) {
        difference = difference * 10 + signed_digit(a, place) - signed_digit(b, place);
        if (difference > settled || difference < -settled)
            return difference < 0 ? -1 : 1;
    }
    difference += a->point - b->point;
    return difference < 0 ? -1 : difference > 0;
}

static const char *next_digit(const char *at, const char *end) {
    return at < end && *at == '.' ? at + 1 : at;
}

static int compare_digits(const struct decimal *a, const struct decimal *b) {
    const char *pa = a->digits, *pb = b->digits;
    for (;;) {
        pa = next_digit(pa, a->digits_end);
        pb = next_digit(pb, b->digits_end);
        if (pa == a->digits_end || pb == b->digits_end)
            return (pa < a->digits_end) - (pb < b->digits_end);
        if (*pa != *pb)
            return *pa < *pb ? -1 : 1;
        pa++, pb++;
    }
}

int ch_json_compare(const struct ch_json *a, const struct ch_json *b) {
    struct decimal x = decimal_of(a), y = decimal_of(b);
    int sign_x = x.n == 0 ? 0 : x.negative ? -1 : 1;
    int sign_y = y.n == 0 ? 0 : y.negative ? -1 : 1;
    if (sign_x != sign_y || sign_x == 0)
        return sign_x - sign_y;
    int order = json_number_compare_magnitude(&x, &y);
    return sign_x * (order ? order : compare_digits(&x, &y));
}

/* Up to 18 digits cannot overflow. */
static bool short_integer(const struct ch_json *v, int64_t *out) {
    bool negative = v->s[0] == '-';
    int64_t value = 0;
    if (v->n > 18)
        return false;
    for (size_t i = negative; i < v->n; i++) {
        if (!ch_scan_is_digit(v->s[i]))
            return false;
        value = value * 10 + (v->s[i] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

bool ch_json_as_int(const struct ch_json *v, int64_t *out) {
    if (!ch_json_is(v, CH_JSON_NUMBER))
        return false;
    if (short_integer(v, out))
        return true;
    struct decimal d = decimal_of(v);
    if (d.n == 0) {
        *out = 0;
        return true;
    }
    int64_t places = d.point + clamped_exponent(&d); /* digits of the integer part */
    if (places < (int64_t)d.n || places > 19)
        return false;
    uint64_t value = 0; /* 19 digits fit */
    const char *at = d.digits;
    for (int64_t i = 0; i < places; i++) {
        at = next_digit(at, d.digits_end);
        value = value * 10 + (uint64_t)(at < d.digits_end ? *at++ - '0' : 0);
    }
    if (value > (uint64_t)INT64_MAX + d.negative)
        return false;
    *out = d.negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

bool ch_number_is_integer(const struct ch_json *v) {
    if (v->flags & CH_JSON_INTEGER)
        return true;
    struct decimal d = decimal_of(v);
    return d.n == 0 || d.point + clamped_exponent(&d) >= (int64_t)d.n;
}

bool ch_number_can_divide(const struct ch_json *v) {
    struct decimal d = decimal_of(v);
    return !d.negative && d.n > 0 && d.n <= CH_LIMIT_DIVISOR_DIGITS && d.exponent.n <= 9;
}

typedef unsigned __int128 wide;

/* The digits as an integer modulo m; m 0: without modulo. */
static wide digits_modulo(const struct decimal *d, wide m) {
    wide value = 0;
    for (const char *at = d->digits; at < d->digits_end; at++) {
        if (*at == '.')
            continue;
        value = value * 10 + (wide)(*at - '0');
        if (m && value >= m)
            value %= m;
    }
    return value;
}

/* With both numbers as integers without trailing zeros times a power of ten,
 *
 *   v / of  =  a / b * 10^e
 *
 * For e < 0 the quotient is not an integer, since 10 does not divide a. For e >
 * 0 the factor cancels twos and fives of b. After as many steps as b has bits
 * none are left, so larger exponents give the same result. */
bool ch_number_is_multiple(const struct ch_json *v, const struct ch_json *of) {
    struct decimal x = decimal_of(v), y = decimal_of(of);
    if (x.n == 0)
        return true;
    int64_t e = x.point + clamped_exponent(&x) - (int64_t)x.n;
    e -= y.point + clamped_exponent(&y) - (int64_t)y.n;
    if (e < 0)
        return false;
    wide divisor = digits_modulo(&y, 0);
    int64_t twos = CH_MIN(e, 128), fives = twos;
    while (twos-- > 0 && divisor % 2 == 0)
        divisor /= 2;
    while (fives-- > 0 && divisor % 5 == 0)
        divisor /= 5;
    return divisor == 1 || digits_modulo(&x, divisor) == 0;
}

/* Leaves out magnitudes that a clamped exponent could falsify. */
uint64_t ch_number_hash(const struct ch_json *v) {
    struct decimal d = decimal_of(v);
    uint64_t h = d.negative && d.n ? UINT64_C(0xc4ceb9fe1a85ec53) : 0;
    for (const char *at = d.digits; at && at < d.digits_end; at++)
        if (*at != '.')
            h = (h + (uint64_t)*at) * UINT64_C(0x9e3779b97f4a7c15);
    int64_t magnitude = d.point + clamped_exponent(&d);
    if (d.n && magnitude < INT32_MAX && magnitude > INT32_MIN)
        h += (uint64_t)magnitude * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 29;
}

/* Switch this thread to the "C" locale for the C library's conversions. */
static locale_t enter_c_locale(locale_t *c) {
    *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return uselocale(*c);
}

static void leave_c_locale(locale_t c, locale_t before) {
    uselocale(before);
    if (c)
        freelocale(c);
}

double ch_number_strtod(const char *text, char **end) {
    locale_t c, before = enter_c_locale(&c);
    double value = strtod(text, end);
    leave_c_locale(c, before);
    return value;
}

static double slow_double(const struct ch_json *v) {
    CH_AUTOFREE char *text = ch_strndup(v->s, v->n);
    return ch_number_strtod(text, NULL);
}

/* Up to 15 digits and powers of ten up to 22 are exact doubles, so one
 * multiplication or division rounds once and correctly. */
static bool exact_double(const struct ch_json *v, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct decimal d = decimal_of(v);
    int64_t power = d.point + clamped_exponent(&d) - (int64_t)d.n;
    if (d.n > 15 || (d.n && (power < -22 || power > 22)))
        return false;
    int64_t digits = 0;
    for (const char *at = d.digits; at < d.digits_end; at++)
        if (*at != '.')
            digits = digits * 10 + (*at - '0');
    double value = (double)digits;
    if (d.n)
        value = power < 0 ? value / powers[-power] : value * powers[power];
    *out = d.negative ? -value : value;
    return true;
}

double ch_json_double(const struct ch_json *v, double otherwise) {
    double value;
    if (!ch_json_is(v, CH_JSON_NUMBER))
        return otherwise;
    return exact_double(v, &value) ? value : slow_double(v);
}

/* Shorten "1e-07" to "1e-7". */
static size_t trim_exponent(char *text, size_t n) {
    char *e = memchr(text, 'e', n);
    if (!e)
        return n;
    char *first = e + 2, *end = text + n;
    while (first + 1 < end && *first == '0')
        memmove(first, first + 1, (size_t)(end-- - first));
    return (size_t)(end - text);
}

/* Fifteen digits suffice for numbers that people type, seventeen for every
 * double. Subnormal numbers may need fewer. */
size_t ch_number_format(char out[CH_NUMBER_MAX], double v) {
    locale_t c, before = enter_c_locale(&c);
    int n = 0;
    for (int digits = fabs(v) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        n = snprintf(out, CH_NUMBER_MAX, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            break;
    }
    leave_c_locale(c, before);
    return trim_exponent(out, (size_t)n);
}

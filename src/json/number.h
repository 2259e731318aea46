/* number.h -- convert doubles to and from text independent of the locale, and exact
 * number operations for json/ and schema/. */
#ifndef CH_JSON_NUMBER_H
#define CH_JSON_NUMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"

#define CH_NUMBER_MAX 32 /* room for any double, NUL included */

/* Write the shortest decimal text that reads back as v, which must be finite;
 * returns its length. */
size_t ch_number_format(char out[CH_NUMBER_MAX], double v);

/* strtod in the "C" locale. */
double ch_number_strtod(const char *text, char **end);

/* "1.0" and "1e400" are integers. v must be a number. */
bool ch_number_is_integer(const struct ch_json *v);

/* Whether v is above 0 and within CH_LIMIT_DIVISOR_DIGITS and the supported
 * exponents. */
bool ch_number_can_divide(const struct ch_json *v);

/* Whether v is an integer multiple of `of`. `of` must pass
 * ch_number_can_divide. */
bool ch_number_is_multiple(const struct ch_json *v, const struct ch_json *of);

/* Equal numbers have equal hashes, whatever their spelling. */
uint64_t ch_number_hash(const struct ch_json *v);

/* The value of an integer of up to 18 digits without fraction or exponent;
 * false for any other text. Nearly all numbers have this form. */
static inline bool ch_number_short(const struct ch_json *v, int64_t *out) {
    const char *at = v->s, *end = at + v->n;
    int64_t value = 0;
    if (!(v->flags & CH_JSON_INTEGER) || v->n > 18)
        return false;
    bool negative = *at == '-';
    for (at += negative; at < end; at++)
        value = value * 10 + (*at - '0');
    *out = negative ? -value : value;
    return true;
}

#endif

/* number.h -- doubles as text, whatever the locale, and exact questions about a
 * number's text that only json/ asks. */
#ifndef CH_JSON_NUMBER_H
#define CH_JSON_NUMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"

#define CH_NUMBER_MAX 32 /* room for any double, NUL included */

/* The shortest decimal text that reads back as v, which must be finite;
 * returns its length. */
size_t ch_number_format(char out[CH_NUMBER_MAX], double v);

/* "1.0" and "1e400" are integers. v must be a number. */
bool ch_number_is_integer(const struct ch_json *v);

/* Above 0, and within CH_LIMIT_DIVISOR_DIGITS and a sane exponent? */
bool ch_number_can_divide(const struct ch_json *v);

/* Is v a whole multiple of `of`, which can divide? */
bool ch_number_is_multiple(const struct ch_json *v, const struct ch_json *of);

/* The same for equal numbers, however they are spelt. */
uint64_t ch_number_hash(const struct ch_json *v);

/* The value of an integer without fraction or exponent of up to 18 digits, the
 * kind that nearly every number is; false for any other text. */
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

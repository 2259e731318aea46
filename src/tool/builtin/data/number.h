/* number.h -- a number that is either exact or a double.
 *
 * An exact number is an integer divided by a power of ten, so 0.1 + 0.2 is 0.3 and 2^200
 * keeps all its digits. A result that has no such form (1/3, sqrt(2), too many digits)
 * becomes a double, and all results computed from a double are doubles: an approximation is
 * never shown as exact. */
#ifndef CH_TOOL_NUMBER_H
#define CH_TOOL_NUMBER_H
#include "tool/builtin/data/bignum.h"

struct ch_number {
    bool exact;
    struct ch_big coefficient; /* exact: coefficient / 10^scale */
    uint32_t scale;
    double approx; /* not exact */
};

/* Operations return NULL on success, or a static error text. */

/* text: digits with an optional fraction and exponent; the caller has checked the syntax. */
const char *ch_number_read(struct ch_big_ctx *c, struct ch_sv text, struct ch_number *out);
const char *ch_number_approx(double d, struct ch_number *out); /* refuses inf and nan */
struct ch_number ch_number_small(struct ch_big_ctx *c, uint32_t v);

const char *ch_number_add(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out);
const char *ch_number_sub(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out);
const char *ch_number_mul(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out);
const char *ch_number_div(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out);
/* The remainder has the sign of b, as in mathematics. */
const char *ch_number_mod(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out);
const char *ch_number_pow(struct ch_big_ctx *c, struct ch_number a, struct ch_number b,
                          struct ch_number *out);
const char *ch_number_factorial(struct ch_big_ctx *c, struct ch_number a, struct ch_number *out);
/* Rounds halves away from zero; digits may be negative. */
const char *ch_number_round(struct ch_big_ctx *c, struct ch_number a, int64_t digits,
                            struct ch_number *out);
const char *ch_number_floor(struct ch_big_ctx *c, struct ch_number a, struct ch_number *out);

struct ch_number ch_number_negate(struct ch_number a);
double ch_number_double(struct ch_number a);
/* Split a number that may exceed the range of a double: a = result * 10^exponent. exponent
 * is 0 if a fits a double. */
double ch_number_split(struct ch_number a, int64_t *exponent);
bool ch_number_is_zero(struct ch_number a);
bool ch_number_is_negative(struct ch_number a);
bool ch_number_to_int(struct ch_number a, int64_t *out); /* exact and whole */
bool ch_number_less(struct ch_big_ctx *c, struct ch_number a, struct ch_number b);
/* True if both are exact and equal. */
bool ch_number_same(struct ch_number a, struct ch_number b);

void ch_number_write(struct ch_number a, struct ch_buf *out);

#endif

/* bignum.h -- integers of bounded but arbitrary size.
 *
 * A magnitude is an array of base-10^9 limbs, least significant first, in an arena; zero
 * has no limbs. Values are immutable, so they may be shared and copied as structs. Every
 * operation consumes a work budget. An operation returns false if the budget is exhausted
 * or the result is too long; the context tells which. */
#ifndef CH_TOOL_BIGNUM_H
#define CH_TOOL_BIGNUM_H
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"

#define CH_BIG_DIGITS 9
#define CH_BIG_BASE UINT32_C(1000000000)
#define CH_BIG_LIMBS (CH_LIMIT_CALC_DIGITS / CH_BIG_DIGITS + 16)

struct ch_big {
    bool negative; /* never for zero */
    uint32_t n;    /* limbs; the highest is not 0 */
    const uint32_t *limbs;
};

struct ch_big_ctx {
    struct ch_arena *arena; /* borrowed */
    uint64_t work;          /* limb operations left */
    bool exhausted;         /* the budget is used up */
};

static inline bool ch_big_is_zero(struct ch_big a) {
    return a.n == 0;
}

bool ch_big_from_digits(struct ch_big_ctx *c, struct ch_sv digits, struct ch_big *out);
struct ch_big ch_big_small(struct ch_big_ctx *c, uint32_t v); /* v below the base */
struct ch_big ch_big_negate(struct ch_big a);

bool ch_big_add(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, struct ch_big *out);
bool ch_big_sub(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, struct ch_big *out);
bool ch_big_mul(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, struct ch_big *out);
/* a * 10^k */
bool ch_big_shift(struct ch_big_ctx *c, struct ch_big a, uint32_t k, struct ch_big *out);
/* Truncates towards zero; rem has the sign of a. b must not be zero. */
bool ch_big_divmod(struct ch_big_ctx *c, struct ch_big a, struct ch_big b, struct ch_big *quot,
                   struct ch_big *rem);
int ch_big_compare(struct ch_big a, struct ch_big b);

uint32_t ch_big_digits(struct ch_big a); /* 0 for zero */
uint32_t ch_big_trailing_zeros(struct ch_big a);
bool ch_big_to_int(struct ch_big a, int64_t *out);
double ch_big_to_double(struct ch_big a, int64_t exponent); /* a * 10^exponent */
/* Append the decimal digits of the magnitude; "0" for zero. */
void ch_big_write(struct ch_big a, struct ch_buf *out);

#endif

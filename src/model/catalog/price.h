/* price.h -- prices of tokens.
 *
 * Prices are US dollars per million tokens. The cost of a model that is not in the table is
 * unknown, not zero. */
#ifndef CH_MODEL_PRICE_H
#define CH_MODEL_PRICE_H
#include "model/catalog/model_request.h"

struct ch_price {
    double input, output;
    double cache_read, cache_write; /* negative: same as input */
    /* Factors for requests of more than long_above tokens (0: CH_PRICE_LONG); 0: no change. */
    double long_input, long_output;
    int64_t long_above;
};

#define CH_PRICE_LONG 200000

/* The list price of a vendor's model by exact name, ignoring a date or "-latest" at its end, on
 * a day such as 20261201. */
bool ch_price_find(const char *provider, struct ch_sv model, int day, struct ch_price *out);

/* Cost of one reply. cache: the cache mode of its request. */
double ch_price_cost(const struct ch_price *p, const struct ch_usage *u, enum ch_cache cache);

#endif

/* price.h -- what tokens cost.
 *
 * Prices are US dollars for a million tokens. A model that is not in the table
 * has no price: its cost is unknown, which is not the same as nothing. */
#ifndef CH_MODEL_PRICE_H
#define CH_MODEL_PRICE_H
#include "model/catalog/model_request.h"

struct ch_price {
    double input, output;
    double cache_read, cache_write; /* negative: as any other input */
    /* Factors for requests of more than CH_PRICE_LONG tokens; 0: the same. */
    double long_input, long_output;
};

#define CH_PRICE_LONG 200000

/* The list price of a vendor's model, by its exact name; a date or "-latest"
 * at its end is overlooked. */
bool ch_price_find(const char *provider, struct ch_sv model, struct ch_price *out);

/* The rows of the table; false past the last. */
bool ch_price_at(size_t i, const char **provider, const char **model);

/* Cost of one reply. cache: how its request asked for the prefix to be kept. */
double ch_price_cost(const struct ch_price *p, const struct ch_usage *u, enum ch_cache cache);

#endif

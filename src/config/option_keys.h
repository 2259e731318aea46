/* option_keys.h -- the keys of the options as a tree: `tools` above `tools.allow`. */
#ifndef CH_CONFIG_OPTION_KEYS_H
#define CH_CONFIG_OPTION_KEYS_H
#include "config/option.h"

/* The option with this key, or NULL. */
const struct ch_option *ch_option_find(enum ch_scope scope, struct ch_sv key);

/* Iterate over the keys directly below `above` ("" for the scope itself): call
 * with *at NULL first. Each call gives the next name, each name once. False if
 * there are no more. */
bool ch_option_each_key(enum ch_scope scope, struct ch_sv above, const struct ch_option **at,
                        struct ch_sv *name);

/* Whether the key has options below it. */
bool ch_option_is_group(enum ch_scope scope, struct ch_sv key);

#endif

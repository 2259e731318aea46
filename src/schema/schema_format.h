/* schema_format.h -- the values of `format` that are validated. */
#ifndef CH_SCHEMA_SCHEMA_FORMAT_H
#define CH_SCHEMA_SCHEMA_FORMAT_H
#include "schema/schema_pattern.h"

struct ch_format {
    const char *name;
    /* text is valid UTF-8. room: cache for compiled expressions. */
    bool (*check)(struct ch_sv text, struct ch_patterns *room);
    const char *example;
};

/* NULL for an unknown name: such a format accepts every value. */
const struct ch_format *ch_format_find(struct ch_sv name);

/* Used by schema_format_uri.c. */
bool ch_format_ipv6(struct ch_sv s);

#endif

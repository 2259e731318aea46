/* schema_format.h -- the values of `format` that can be checked. */
#ifndef CH_SCHEMA_SCHEMA_FORMAT_H
#define CH_SCHEMA_SCHEMA_FORMAT_H
#include "schema/schema_pattern.h"

struct ch_format {
    const char *name;
    /* text is valid UTF-8. room: where compiled expressions may be kept. */
    bool (*check)(struct ch_sv text, struct ch_patterns *room);
    const char *example;
};

/* NULL for a name that is not known: such a format allows everything. */
const struct ch_format *ch_format_find(struct ch_sv name);

/* Shared by the files of formats. */
bool ch_format_ipv4(struct ch_sv s);
bool ch_format_ipv6(struct ch_sv s);

#endif

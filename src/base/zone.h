/* zone.h -- time zones as values.
 *
 * The C library knows one zone at a time, for the whole process; here each zone
 * is an object. The format is TZif (RFC 9636), versions 1 to 4, with the rule
 * in the footer for times after the last transition. */
#ifndef CH_BASE_ZONE_H
#define CH_BASE_ZONE_H
#include <stdint.h>

#include "base/mem.h"
#include "base/sv.h"

struct ch_zone;

struct ch_zone_time {
    int offset;       /* seconds east of UTC */
    bool dst;         /* daylight saving time */
    const char *abbr; /* "CET"; borrowed from the zone */
};

/* Parse the contents of a TZif file. NULL if data is not TZif. */
struct ch_zone *ch_zone_parse(struct ch_sv data);
struct ch_zone *ch_zone_fixed(int offset); /* seconds east of UTC */
void ch_zone_free(struct ch_zone *z);

#define CH_ZONE_LOCAL "/etc/localtime"

CH_DEFINE_AUTO(ch_zone)

/* Local time at the UTC second `utc`. */
struct ch_zone_time ch_zone_at(const struct ch_zone *z, int64_t utc);

/* Convert `local` (seconds of the local calendar) to UTC. Returns how often
 * that local time occurs: 1; 2 if clocks were set back (*utc is the first
 * occurrence); 0 if clocks were set forward over it (*utc is computed with the
 * offset before the change). */
int ch_zone_utc(const struct ch_zone *z, int64_t local, int64_t *utc);

#endif

/* zone.h -- time zones of the system's database, read file by file.
 *
 * The C library knows one zone at a time, for the whole process; here a zone
 * is a value. The format is TZif (RFC 9636), versions 1 to 4, with the rule in
 * its footer for the time after the last transition. */
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

/* Read a file's contents. NULL when it is no TZif file. */
struct ch_zone *ch_zone_parse(struct ch_sv data);
struct ch_zone *ch_zone_fixed(int offset); /* seconds east of UTC */
void ch_zone_free(struct ch_zone *z);

#define CH_ZONE_LOCAL "/etc/localtime"

CH_DEFINE_AUTO(ch_zone)

/* What clocks show at this moment. */
struct ch_zone_time ch_zone_at(const struct ch_zone *z, int64_t utc);

/* The moment when clocks show `local` (seconds of the local calendar). Returns
 * how often they do: 1; 2, and *utc is the first time; 0 when clocks were put
 * forward over it, and *utc is what they would have meant. */
int ch_zone_utc(const struct ch_zone *z, int64_t local, int64_t *utc);

#endif

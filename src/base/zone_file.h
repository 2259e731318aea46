/* zone_file.h -- zones by name: a file of the system's database, read when it is asked
 * for, so that no state of the process is touched. */
#ifndef CH_BASE_ZONE_FILE_H
#define CH_BASE_ZONE_FILE_H
#include "base/zone.h"

/* By name ("Europe/Berlin"), offset ("UTC", "UTC+8", "+08:00"), or with NULL the
 * machine's own. NULL: there is none (of that name). */
struct ch_zone *ch_zone_load(const char *name);

/* Is it an offset, and which? */
bool ch_zone_offset(struct ch_sv name, int *offset);
int ch_zone_database(void); /* its directory, to be closed; negative: there is none */
struct ch_zone *ch_zone_read(int database, const char *name);

#endif

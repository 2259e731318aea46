/* zone_file.h -- load time zones by name from the system's database. The
 * process's own time zone state (TZ) is not touched. */
#ifndef CH_BASE_ZONE_FILE_H
#define CH_BASE_ZONE_FILE_H
#include "base/zone.h"

/* Load a zone by name ("Europe/Berlin") or offset ("UTC", "UTC+8", "+08:00");
 * NULL loads the machine's own zone. Returns NULL if there is no such zone. */
struct ch_zone *ch_zone_load(const char *name);

/* Whether name is an offset; if so, *offset receives its seconds. */
bool ch_zone_offset(struct ch_sv name, int *offset);
int ch_zone_database(void); /* directory descriptor, caller closes; negative: none */
struct ch_zone *ch_zone_read(int database, const char *name);

#endif

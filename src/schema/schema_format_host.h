/* schema_format_host.h -- validate host names, including internationalized
 * ones. */
#ifndef CH_SCHEMA_SCHEMA_FORMAT_HOST_H
#define CH_SCHEMA_SCHEMA_FORMAT_HOST_H
#include "schema/schema_format.h"

bool ch_format_hostname(struct ch_sv s, struct ch_patterns *room);
bool ch_format_idn_hostname(struct ch_sv s, struct ch_patterns *room);

#endif

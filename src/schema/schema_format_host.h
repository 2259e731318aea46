/* schema_format_host.h -- names of hosts, international ones included. */
#ifndef CH_SCHEMA_SCHEMA_FORMAT_HOST_H
#define CH_SCHEMA_SCHEMA_FORMAT_HOST_H
#include "schema/schema_format.h"

bool ch_format_hostname(struct ch_sv s, struct ch_patterns *room);
bool ch_format_idn_hostname(struct ch_sv s, struct ch_patterns *room);

#endif

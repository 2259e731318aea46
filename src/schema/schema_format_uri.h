/* schema_format_uri.h -- validate URIs (RFC 3986), IRIs (RFC 3987) and URI
 * templates (RFC 6570) by their grammar. */
#ifndef CH_SCHEMA_SCHEMA_FORMAT_URI_H
#define CH_SCHEMA_SCHEMA_FORMAT_URI_H
#include "schema/schema_format.h"

bool ch_format_uri(struct ch_sv s, struct ch_patterns *room);
bool ch_format_uri_reference(struct ch_sv s, struct ch_patterns *room);
bool ch_format_iri(struct ch_sv s, struct ch_patterns *room);
bool ch_format_iri_reference(struct ch_sv s, struct ch_patterns *room);
bool ch_format_uri_template(struct ch_sv s, struct ch_patterns *room);

#endif

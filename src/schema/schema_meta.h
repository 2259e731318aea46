/* schema_meta.h -- the built-in meta-schemas. */
#ifndef CH_SCHEMA_SCHEMA_META_H
#define CH_SCHEMA_SCHEMA_META_H
#include "schema/schema_source.h"

/* Append the text of a built-in meta-schema; false for any other URI. */
bool ch_metaschema(struct ch_sv uri, struct ch_buf *out);

#endif

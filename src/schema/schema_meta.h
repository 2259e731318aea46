/* schema_meta.h -- the schemas of schemas that are built in. */
#ifndef CH_SCHEMA_SCHEMA_META_H
#define CH_SCHEMA_SCHEMA_META_H
#include "schema/schema_source.h"

/* Append the text of a built-in meta-schema; false for any other address. */
bool ch_metaschema(struct ch_sv uri, struct ch_buf *out);

#endif

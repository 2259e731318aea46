/* schema_emit.h -- turn the keywords of a subschema into checks. */
#ifndef CH_SCHEMA_SCHEMA_EMIT_H
#define CH_SCHEMA_SCHEMA_EMIT_H
#include "schema/schema_compile.h"
#include "schema/schema_program.h"

/* Turn the keywords b->kw into checks. */
int ch_builder_emit(struct ch_builder *b);

/* The set of types that the value of `type` allows; unknown names are ignored.
 * *integer: numbers must be integers. */
unsigned ch_type_bits(const struct ch_json *type, bool *integer);

#endif

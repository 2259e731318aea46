/* schema_emit.h -- one keyword after the other, turned into checks. */
#ifndef CH_SCHEMA_SCHEMA_EMIT_H
#define CH_SCHEMA_SCHEMA_EMIT_H
#include "schema/schema_compile.h"
#include "schema/schema_program.h"

/* Turn b->kw into checks. */
int ch_builder_emit(struct ch_builder *b);

/* What the value of `type` allows; names that are none count as nothing.
 * *integer: of numbers only whole ones. */
unsigned ch_type_bits(const struct ch_json *type, bool *integer);

#endif

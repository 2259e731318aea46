/* opaque.h -- merges the start and the deltas of a streamed block of unknown type. */
#ifndef CH_MODEL_OPAQUE_H
#define CH_MODEL_OPAQUE_H
#include "base/buf.h"
#include "base/sv.h"

/* Append the object `start` merged with the members of `deltas` (an array of objects):
 * strings of the same name are concatenated, of up to eight names; the pieces of partial_json
 * become `input`, if they form a JSON object. */
void ch_opaque_merge(struct ch_sv start, struct ch_sv deltas, struct ch_buf *out);

#endif

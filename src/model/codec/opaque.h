/* opaque.h -- a block of unknown type, streamed: its start and its deltas. */
#ifndef CH_MODEL_OPAQUE_H
#define CH_MODEL_OPAQUE_H
#include "base/buf.h"
#include "base/sv.h"

/* Append to out the object `start` with the members of `deltas` (an array of
 * objects) worked in: strings of the same name are joined; the pieces named
 * partial_json become `input`, if they make a JSON object. */
void ch_opaque_merge(struct ch_sv start, struct ch_sv deltas, struct ch_buf *out);

#endif

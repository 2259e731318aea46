/* shape_json.h -- long JSON, cut by whole records. */
#ifndef CH_TOOL_SHAPE_JSON_H
#define CH_TOOL_SHAPE_JSON_H
#include "tool/result/shape.h"

/* The part of it for JSON (shape_json.c): text is one JSON text with an array
 * in it, or lines of JSON, and does not fit. False if it is neither. */
bool ch_shape_records(const struct ch_shape *how, struct ch_shape_room room, struct ch_sv text,
                      struct ch_buf *out);

#endif

/* shape_json.h -- truncates long JSON by whole records. */
#ifndef CH_TOOL_SHAPE_JSON_H
#define CH_TOOL_SHAPE_JSON_H
#include "tool/result/shape.h"

/* Shape a JSON text that contains an array, or JSON lines, that do not fit. False if text
 * is neither. */
bool ch_shape_records(const struct ch_shape *how, struct ch_shape_room room, struct ch_sv text,
                      struct ch_buf *out);

#endif

/* yaml_edit.h -- one value of a YAML text replaced or added; every other byte of
 * it, comments included, stays as it is.
 *
 * What is written over several lines of a block (a list with dashes, a text behind
 * a bar) is not replaced: where it ends, comments may begin. Nor is what has an
 * anchor, or stands for one. */
#ifndef CH_JSON_YAML_EDIT_H
#define CH_JSON_YAML_EDIT_H
#include "base/buf.h"
#include "chela/error.h"

/* Append to out the text with the value at path set. A step is the key of a
 * mapping, or "[ID]": the item of a list whose `id` is that. Mappings that are
 * missing on the way are made, items are not. value: YAML of one line. On failure
 * out is untouched: CHELA_EPARSE, CHELA_ENOENT (there is no such item), CHELA_EINVAL
 * (it cannot be changed by this; err names the line). */
int ch_yaml_set(struct ch_sv text, const char *name, const struct ch_sv *path, size_t steps,
                struct ch_sv value, struct ch_buf *out, struct chela_error *err);

#endif

/* yaml_edit.h -- replace or add one value of a YAML text. Every other byte,
 * including comments, stays unchanged.
 *
 * Two kinds of value cannot be replaced. A value written as a block of several
 * lines (a list with dashes, a text after a bar), because the end of the block
 * and following comments cannot be told apart. A value that has an anchor or is
 * an alias. */
#ifndef CH_JSON_YAML_EDIT_H
#define CH_JSON_YAML_EDIT_H
#include "base/buf.h"
#include "chela/error.h"

/* Append to out the text with the value at path set. A step is the key of a
 * mapping, or "[ID]": the list item whose `id` is ID. Missing mappings on the
 * path are created, missing items are not. value is one line of YAML. On
 * failure out is unchanged: CHELA_EPARSE; CHELA_ENOENT (no such item);
 * CHELA_EINVAL (the value cannot be edited in place; err names the line). */
int ch_yaml_set(struct ch_sv text, const char *name, const struct ch_sv *path, size_t steps,
                struct ch_sv value, struct ch_buf *out, struct chela_error *err);

#endif

/* yaml_scalar.h -- the value of a YAML scalar; private to this folder. */
#ifndef CH_JSON_YAML_SCALAR_H
#define CH_JSON_YAML_SCALAR_H
#include "json/json.h"

/* Convert a plain (unquoted) scalar by the core schema. text must live as long
 * as the value. Returns NULL, or the reason why the scalar has no JSON value. */
const char *ch_yaml_plain(struct ch_arena *a, struct ch_sv text, struct ch_json *out);

/* Make a string node. */
struct ch_json ch_yaml_string(struct ch_sv text);

#endif

/* yaml_scalar.h -- what a YAML scalar means; not for other layers. */
#ifndef CH_JSON_YAML_SCALAR_H
#define CH_JSON_YAML_SCALAR_H
#include "json/json.h"

/* The value of a plain (unquoted) scalar by the core schema. text must live as
 * long as the value. NULL, or why it has no value in JSON. */
const char *ch_yaml_plain(struct ch_arena *a, struct ch_sv text, struct ch_json *out);

/* A string node. */
struct ch_json ch_yaml_string(struct ch_sv text);

#endif

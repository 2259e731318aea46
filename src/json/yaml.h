/* yaml.h -- read YAML files into the value tree of json.h.
 *
 * Configuration and scripted models are YAML; the rest of chela sees only
 * struct ch_json. Plain scalars follow the YAML 1.2 core schema (true, false,
 * null, numbers, 0o17, 0x1F), except that a number with a leading zero stays a
 * string: 007 and 0123 are names or file modes. "yes" and "on" are strings, and
 * so is every quoted scalar. Keys are always strings. Anchors and aliases are
 * expanded within the node limit. Errors rather than silent guesses: merge keys
 * (<<), duplicate keys, keys that are lists or mappings, tags outside the core
 * schema, .inf and .nan, and a second document.
 * Every node's position is kept for error messages. */
#ifndef CH_JSON_YAML_H
#define CH_JSON_YAML_H
#include "json/json.h"

struct ch_yaml {
    const struct ch_json *root;        /* null for an empty text */
    const char *name;                  /* file name for messages, copied */
    const struct ch_json_where *marks; /* one per node, in node order from root */
    size_t nodes;
};

/* Parse text; name is used in messages. All memory is in the arena. On failure
 * returns CHELA_EPARSE or CHELA_ELIMIT, *out is unchanged and err reads
 * "NAME:LINE:COLUMN: reason". */
int ch_yaml_parse(struct ch_arena *a, struct ch_sv text, const char *name, struct ch_yaml *out,
                  struct chela_error *err);

/* Position of a node of this document. The nodes of an expanded alias have the
 * positions of its anchor. */
struct ch_json_where ch_yaml_where(const struct ch_yaml *y, const struct ch_json *v);

#endif

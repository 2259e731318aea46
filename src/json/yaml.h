/* yaml.h -- YAML files read into the same value tree as JSON.
 *
 * Configuration and scripted models are YAML; the rest of chela sees only
 * struct ch_json. Plain scalars follow the YAML 1.2 core schema (true, false,
 * null, numbers, 0o17, 0x1F), except that a number with a leading zero stays a
 * string: 007 and 0123 are names or file modes. "yes" and "on" are strings, as
 * is everything quoted. Keys are always strings, by their text.
 * Anchors and aliases are expanded within the node limit. Reported as errors,
 * since a silent guess would be worse: merge keys (<<), duplicate keys, keys
 * that are lists or mappings, tags other than the core schema's, .inf and
 * .nan, and a second document.
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

/* Read text (name is used in messages). All memory is in the arena. On failure
 * returns CHELA_EPARSE or CHELA_ELIMIT, *out is untouched and err reads
 * "NAME:LINE:COLUMN: why". */
int ch_yaml_parse(struct ch_arena *a, struct ch_sv text, const char *name, struct ch_yaml *out,
                  struct chela_error *err);

/* Position of a node of this document; what an alias stands for has the
 * position of its anchor. */
struct ch_json_where ch_yaml_where(const struct ch_yaml *y, const struct ch_json *v);

#endif

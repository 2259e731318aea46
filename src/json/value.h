/* value.h -- what the files of json/ share about trees; not for other layers. */
#ifndef CH_JSON_VALUE_H
#define CH_JSON_VALUE_H
#include "json/json.h"

/* The object's key nodes by name, members with one name in document order; the
 * caller frees the array (ch_free). */
const struct ch_json **ch_json_sorted_keys(const struct ch_json *object);

/* Two strings with the same bytes. */
bool ch_json_same_name(const struct ch_json *a, const struct ch_json *b);

/* The element or member of `container` that holds the node `at`. *name is the
 * member's name, NULL in an array; *i counts either. A name is in its member. */
const struct ch_json *ch_json_toward(const struct ch_json *container, const struct ch_json *at,
                                     const struct ch_json **name, size_t *i);

/* Everything v holds, copied into the arena. */
const struct ch_json *ch_json_copy(struct ch_arena *a, const struct ch_json *v);

#endif

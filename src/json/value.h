/* value.h -- tree functions shared by the files of json/; private to this
 * folder. */
#ifndef CH_JSON_VALUE_H
#define CH_JSON_VALUE_H
#include "json/json.h"

/* The object's key nodes sorted by name; keys with the same name stay in
 * document order. The caller frees the array (ch_free). */
const struct ch_json **ch_json_sorted_keys(const struct ch_json *object);

/* The value of the last member with this name, by the n sorted keys of an object; NULL: none. */
const struct ch_json *ch_json_find_sorted(const struct ch_json *const *keys, size_t n,
                                          struct ch_sv name);

/* Whether two strings have the same bytes. */
bool ch_json_same_name(const struct ch_json *a, const struct ch_json *b);

/* The element or member value of `container` whose subtree contains the node
 * `at`. *name receives the member's name (NULL in an array), *i its index. A
 * member's name node belongs to the member. */
const struct ch_json *ch_json_toward(const struct ch_json *container, const struct ch_json *at,
                                     const struct ch_json **name, size_t *i);

/* Deep copy of v into the arena. */
const struct ch_json *ch_json_copy(struct ch_arena *a, const struct ch_json *v);

#endif

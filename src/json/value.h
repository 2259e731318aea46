/* value.h -- what the files of json/ share about trees; not for other layers. */
#ifndef CH_JSON_VALUE_H
#define CH_JSON_VALUE_H
#include "json/json.h"

/* The object's key nodes by name, members with one name in document order; the
 * caller frees the array (ch_free). */
const struct ch_json **ch_json_sorted_keys(const struct ch_json *object);

/* Two strings with the same bytes. */
bool ch_json_same_name(const struct ch_json *a, const struct ch_json *b);

#endif

/* json.h -- looking into the JSON texts this library hands out, for programs
 * that have no JSON reader of their own. */
#ifndef CHELA_JSON_H
#define CHELA_JSON_H
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* The value at an RFC 6901 pointer ("/0/name"; "" is the whole): the contents
 * of a string, the JSON text of anything else, both NUL-terminated. *out_len
 * (may be NULL) gets its length, since a string may hold NUL bytes. NULL when
 * there is no such value or the text is no JSON. Yours to chela_free. */
CHELA_API char *chela_json_get(const char *json, size_t len, const char *pointer, size_t *out_len);

CHELA_END_DECLS
#endif

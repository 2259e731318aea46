/* json.h -- read single values of the JSON texts that the library returns, for programs
 * without a JSON parser.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_JSON_H
#define CHELA_JSON_H
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* The value at a JSON pointer (RFC 6901: "/0/name"; "" is the whole text): the content of a
 * string, or the JSON of another value. The result ends with NUL; *out_len (may be NULL)
 * becomes its length, since a string may contain NUL bytes. NULL: there is no such value,
 * or the text is not JSON.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_json_get(const char *json, size_t len, const char *pointer, size_t *out_len);

CHELA_END_DECLS
#endif

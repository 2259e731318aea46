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

/* values[i] becomes what chela_json_get returns for pointers[i], for n pointers. This function
 * parses the text once, chela_json_get for each value.
 * Ownership: the caller frees each of *values with chela_free. */
CHELA_API void chela_json_get_all(const char *json, size_t len, const char *const *pointers,
                                  char **values, size_t n);

/* Call fn with the JSON of each element of an array, in order. Reading an array with
 * chela_json_get and an index parses the whole text for each element; this function parses
 * the text once. If fn returns another value than 0, the function returns the value.
 * CHELA_EPARSE: the text is not a JSON array; fn may have had the elements before the fault.
 * Ownership: the element is borrowed for the call of fn. The element does not end with NUL. */
CHELA_API int chela_json_each(const char *json, size_t len,
                              int (*fn)(const char *element, size_t len, void *user), void *user);

CHELA_END_DECLS
#endif

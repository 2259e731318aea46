/* array_member.h -- a member of an element of a JSON array, for short arrays. */
#ifndef CH_CLI_ARRAY_MEMBER_H
#define CH_CLI_ARRAY_MEMBER_H
#include <stddef.h>

/* Member `name` of element i, or "a/0" for a value inside; NULL: there is none. Free the result
 * with chela_free. The whole text is parsed: an array whose length a peer decides is read with
 * chela_json_each. */
char *ch_array_member(const char *json, size_t i, const char *name);

#endif

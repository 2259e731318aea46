/* get.h -- look up one value of a JSON text by JSON Pointer (RFC 6901). */
#ifndef CH_JSON_GET_H
#define CH_JSON_GET_H
#include "json/value.h"

/* A token of a JSON Pointer with the escapes ~1 and ~0 decoded, in the arena if it has any. */
struct ch_sv ch_json_unescape(struct ch_arena *a, struct ch_sv token);

/* The index of the element that a token of a JSON Pointer names. SIZE_MAX: none, as for "01" and
 * "-1". */
size_t ch_json_index(struct ch_sv token);

/* Follow one token of a JSON Pointer: returns the member or element it names,
 * or NULL. An unescaped token is put into the arena. */
const struct ch_json *ch_json_step(struct ch_arena *a, const struct ch_json *v,
                                   struct ch_sv token);

#endif

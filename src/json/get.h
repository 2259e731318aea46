/* get.h -- look up one value of a JSON text by JSON Pointer (RFC 6901). */
#ifndef CH_JSON_GET_H
#define CH_JSON_GET_H
#include "json/value.h"

/* Follow one token of a JSON Pointer: returns the member or element it names,
 * or NULL. An unescaped token is put into the arena. */
const struct ch_json *ch_json_step(struct ch_arena *a, const struct ch_json *v,
                                   struct ch_sv token);

#endif

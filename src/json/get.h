/* get.h -- the public look into a JSON text: one value by RFC 6901 pointer. */
#ifndef CH_JSON_GET_H
#define CH_JSON_GET_H
#include "json/value.h"

/* One step of a JSON Pointer: the member or element its token names, or NULL.
 * What has to be unescaped goes to the arena. */
const struct ch_json *ch_json_step(struct ch_arena *a, const struct ch_json *v,
                                   struct ch_sv token);

#endif

/* wire.h -- the codecs by themselves, for tests and for looking closely. */
#ifndef CHELA_WIRE_H
#define CHELA_WIRE_H
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* Fold a recorded response body into one neutral message (JSON object, yours
 * to chela_free). status 0: 200; content_type NULL: guessed from the body.
 * NULL and CHELA_EPROTO when the body is not of that protocol, CHELA_EINVAL
 * for an unknown api. */
CHELA_API char *chela_wire_decode(const char *api, int status, const char *content_type,
                                  const void *body, size_t len, struct chela_error *err);

/* A neutral request {"model","system","messages",...} as the HTTP request that
 * would be sent: {"method","url","headers","body"}. No key is put in. */
CHELA_API char *chela_wire_encode(const char *api, const char *model, const char *request,
                                  size_t len, struct chela_error *err);

/* The names, with spaces between. "prompted+NAME" is tool calling in plain text
 * over NAME, "prompted" over "openai". */
CHELA_API const char *chela_wire_apis(void);

CHELA_END_DECLS
#endif

/* wire.h -- the codecs of model protocols, for tests and debugging.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_WIRE_H
#define CHELA_WIRE_H
#include <stddef.h>

#include "chela/error.h"
CHELA_BEGIN_DECLS

/* Decode a recorded response to one message in chela's own format, a JSON object. status 0:
 * 200. content_type NULL: derived from the body.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_EINVAL: there is no such api. CHELA_EPROTO: the body does not belong to the
 * protocol. */
CHELA_API char *chela_wire_decode(const char *api, int status, const char *content_type,
                                  const void *body, size_t len, struct chela_error *err);

/* Encode a request in chela's own format, {"model","system","messages",...}, to the HTTP
 * request that would be sent, without a key: {"method","url","headers","body"}.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_EINVAL: there is no such api, or the request is wrong. CHELA_EPARSE: the
 * request is not JSON. CHELA_ELIMIT: the request is too large. */
CHELA_API char *chela_wire_encode(const char *api, const char *model, const char *request,
                                  size_t len, struct chela_error *err);

/* The names of the apis, separated by spaces. "prompted+NAME" is tool calling in plain text
 * over the api NAME; "prompted" is "prompted+openai".
 * Ownership: the result is static text. */
CHELA_API const char *chela_wire_apis(void);

CHELA_END_DECLS
#endif

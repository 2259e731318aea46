/* error.h -- filling struct chela_error; the type itself is public. */
#ifndef CH_BASE_ERROR_H
#define CH_BASE_ERROR_H
#include "chela/error.h"

/* Set code and message (err may be NULL) and return code, so that a failing
 * function ends with `return ch_fail(err, CHELA_EINVAL, "...")`. Line breaks in
 * the message become spaces and secrets are redacted. */
int ch_fail(struct chela_error *err, int code, const char *fmt, ...)
    CHELA_PRINTF(3, 4);

#endif

/* error.h -- filling struct chela_error; the type itself is public. */
#ifndef CH_BASE_ERROR_H
#define CH_BASE_ERROR_H
#include "chela/error.h"

/* Set code and message (err may be NULL) and return code, so that a failing
 * function ends with `return ch_fail(err, CHELA_EINVAL, "...")`. Line breaks in
 * the message become spaces and secrets are redacted. `cold`: the compiler moves
 * branches that fail away from the code that runs in every turn. */
int ch_fail(struct chela_error *err, int code, const char *fmt, ...)
    CHELA_PRINTF(3, 4) __attribute__((cold));

/* Make err empty. Cheaper than `= {0}`, which writes the whole message buffer:
 * for functions that are called for every piece of a stream. */
static inline void ch_error_clear(struct chela_error *err) {
    err->code = err->http_status = 0;
    err->retry_after_ms = 0;
    err->message[0] = '\0';
}

#endif

/* retry_after.h -- the retry delay that a server asks for. */
#ifndef CH_MODEL_RETRY_AFTER_H
#define CH_MODEL_RETRY_AFTER_H
#include "model/codec/errors.h"

/* The delay from the headers in milliseconds, 0 if none. Dates are relative to the
 * response's own Date. For a 429 without Retry-After, the vendors' own headers of exhausted
 * limits are used. */
long ch_retry_after(const struct ch_http_head *head);

/* Parse a duration: "34.4s", "2m52.8s", "6ms", "20 seconds"; 0: not a duration. */
long ch_retry_duration(struct ch_sv text);

/* Find a duration in a message: "Please try again in 11.054s". */
long ch_retry_hint(struct ch_sv message);

#endif

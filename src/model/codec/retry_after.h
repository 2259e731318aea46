/* retry_after.h -- how long a server asks us to wait. */
#ifndef CH_MODEL_RETRY_AFTER_H
#define CH_MODEL_RETRY_AFTER_H
#include "model/codec/errors.h"

/* What the headers ask for: milliseconds to wait, 0 if nothing. Dates are taken
 * relative to the response's own Date. Of a 429 without Retry-After the
 * vendors' own headers are read, those of limits that are used up. */
long ch_retry_after(const struct ch_http_head *head);

/* A duration: "34.4s", "2m52.8s", "6ms", "20 seconds"; 0: it is none. */
long ch_retry_duration(struct ch_sv text);

/* The same from a message: "Please try again in 11.054s". */
long ch_retry_hint(struct ch_sv message);

#endif

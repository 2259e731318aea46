/* proof.h -- check that a caller knows a secret, and that a signed request is
 * recent. */
#ifndef CH_BASE_PROOF_H
#define CH_BASE_PROOF_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"

/* Largest accepted difference between a request's timestamp and the local
 * clock, in seconds, past or future. */
#define CH_PROOF_WINDOW_S 300

/* Compare in a time that does not depend on the secret. An empty text never
 * matches. */
bool ch_proof_same(struct ch_sv shown, const char *secret);
/* timestamp: seconds since 1970, as decimal digits. */
bool ch_proof_fresh(struct ch_sv timestamp, int64_t now_s);

#endif

/* proof.h -- does a caller know a secret, and is its proof not an old one? */
#ifndef CH_BASE_PROOF_H
#define CH_BASE_PROOF_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"

/* How far a proof's time may be from ours, either way. */
#define CH_PROOF_WINDOW_S 300

/* In a time that tells nothing of the secret. An empty text is never one. */
bool ch_proof_same(struct ch_sv shown, const char *secret);
/* timestamp: seconds since 1970, in digits. */
bool ch_proof_fresh(struct ch_sv timestamp, int64_t now_s);

#endif

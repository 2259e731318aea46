/* encoder.h -- a request body that only grows; see codec.h. */
#ifndef CH_MODEL_ENCODER_H
#define CH_MODEL_ENCODER_H
#include "model/codec/codec.h"

void ch_encoder_release(struct ch_encoder *e);

/* The history was rewritten (compaction): encode all of it again. */
void ch_encoder_clear(struct ch_encoder *e);

/* Bring the encoder up to date with req: head and tail only if codec or
 * revision changed, messages from the first new one. All of it again if codec,
 * model or quirks changed. Calls without a result get one that says so,
 * results without a call are left out; a made-up result for the last message
 * is in the tail, since the real one may still come. */
int ch_encoder_update(struct ch_encoder *e, const struct ch_model_request *req,
                      struct chela_error *err);

#endif

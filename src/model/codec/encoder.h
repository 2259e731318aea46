/* encoder.h -- an incrementally built request body; see codec.h. */
#ifndef CH_MODEL_ENCODER_H
#define CH_MODEL_ENCODER_H
#include "model/codec/codec.h"

void ch_encoder_release(struct ch_encoder *e);

/* The history was rewritten (compaction): encode everything again. */
void ch_encoder_clear(struct ch_encoder *e);

/* Update the encoder to req: head and tail only if codec or revision changed, messages from
 * the first new one on; everything if codec, model or quirks changed. A call without a
 * result gets a substitute result; a result without a call is dropped. A substitute result
 * for the last message goes to the tail, because the real result may still follow. */
int ch_encoder_update(struct ch_encoder *e, const struct ch_model_request *req,
                      struct chela_error *err);

/* After an update: use the head in *last, if it is the same, and keep no own copy of it
 * (shared_text.h). */
void ch_encoder_share_head(struct ch_encoder *e, const char **last);

#endif

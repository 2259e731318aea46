/* encoder.h -- an incrementally built request body; see codec.h. */
#ifndef CH_MODEL_ENCODER_H
#define CH_MODEL_ENCODER_H
#include "model/codec/codec.h"

void ch_encoder_release(struct ch_encoder *e); /* what is left is an empty encoder */

/* The history was rewritten (compaction): encode everything again. */
void ch_encoder_clear(struct ch_encoder *e);

/* Update the encoder to req: head and tail only if codec or revision changed, messages from
 * the first new one on; everything if codec, model or quirks changed. A call without a
 * result gets a substitute result; a result without a call is dropped. A substitute result
 * for the last message goes to the tail, because the real result may still follow. After a
 * failure the next update encodes everything again. */
int ch_encoder_update(struct ch_encoder *e, const struct ch_model_request *req,
                      struct chela_error *err);

/* After an update: use the texts in *last_head and *last_tail, if they are the same, and keep
 * no own copies of them (shared_text.h). A tail with parts of this request alone is not
 * shared. */
void ch_encoder_share(struct ch_encoder *e, const char **last_head, const char **last_tail);

#endif

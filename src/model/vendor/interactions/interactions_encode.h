/* interactions_encode.h -- encodes a neutral request as an interaction of a model. */
#ifndef CH_MODEL_INTERACTIONS_ENCODE_H
#define CH_MODEL_INTERACTIONS_ENCODE_H
#include "model/vendor/interactions/interactions.h"

/* Members of struct ch_codec (model/codec/codec.h), which states their contracts. */
int ch_interactions_http(const struct ch_model_request *req, struct ch_arena *a,
                         struct ch_http_request *out, struct chela_error *err);

int ch_interactions_head(const struct ch_model_request *req, struct ch_buf *out,
                         struct chela_error *err);

int ch_interactions_message(const struct ch_model_request *req, const struct ch_msg *m,
                            struct ch_buf *out, struct chela_error *err);

int ch_interactions_tail(const struct ch_model_request *req, struct ch_buf *out,
                         struct chela_error *err);

enum ch_effort ch_interactions_sent_effort(const struct ch_model_request *req);

#endif

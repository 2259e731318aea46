/* gemini_encode.h -- encodes a neutral request as a GenerateContentRequest. */
#ifndef CH_MODEL_GEMINI_ENCODE_H
#define CH_MODEL_GEMINI_ENCODE_H
#include "model/vendor/gemini/gemini.h"

/* Members of struct ch_codec (model/codec/codec.h), which states their contracts. */
int ch_gemini_head(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);

int ch_gemini_message(const struct ch_model_request *req, const struct ch_msg *m,
                      struct ch_buf *out, struct chela_error *err);

int ch_gemini_tail(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);

bool ch_gemini_takes_schema(const struct ch_model_request *req);
enum ch_effort ch_gemini_sent_effort(const struct ch_model_request *req);

#endif

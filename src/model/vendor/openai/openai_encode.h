/* openai_encode.h -- encodes a neutral request as a Chat Completions request. */
#ifndef CH_MODEL_OPENAI_ENCODE_H
#define CH_MODEL_OPENAI_ENCODE_H
#include "model/vendor/openai/openai.h"

/* Members of struct ch_codec (model/codec/codec.h), which states their contracts. */
enum ch_id_rule ch_openai_ids(const struct ch_model_request *req);

int ch_openai_http(const struct ch_model_request *req, struct ch_arena *a,
                   struct ch_http_request *out, struct chela_error *err);

int ch_openai_head(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);

int ch_openai_message(const struct ch_model_request *req, const struct ch_msg *m,
                      struct ch_buf *out, struct chela_error *err);

int ch_openai_tail(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);

void ch_openai_close(const struct ch_model_request *req, struct ch_buf *out);

bool ch_openai_takes_schema(const struct ch_model_request *req);
enum ch_effort ch_openai_sent_effort(const struct ch_model_request *req);

#endif

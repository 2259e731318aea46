/* bedrock_encode.h -- encodes a neutral request as a Converse request. */
#ifndef CH_MODEL_BEDROCK_ENCODE_H
#define CH_MODEL_BEDROCK_ENCODE_H
#include "model/vendor/bedrock/bedrock.h"

/* Members of struct ch_codec (model/codec/codec.h), which states their contracts. */
int ch_bedrock_http(const struct ch_model_request *req, struct ch_arena *a,
                    struct ch_http_request *out, struct chela_error *err);

int ch_bedrock_head(const struct ch_model_request *req, struct ch_buf *out,
                    struct chela_error *err);

int ch_bedrock_tail(const struct ch_model_request *req, struct ch_buf *out,
                    struct chela_error *err);

bool ch_bedrock_tail_follows(const struct ch_model_request *req);

size_t ch_bedrock_mark(const struct ch_model_request *req, struct ch_sv messages,
                         struct ch_buf *tail);

bool ch_bedrock_takes_schema(const struct ch_model_request *req);
enum ch_effort ch_bedrock_sent_effort(const struct ch_model_request *req);

#endif

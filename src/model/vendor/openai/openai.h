/* openai.h -- the two halves of the Chat Completions codec, joined in
 * openai_decode.c. */
#ifndef CH_MODEL_OPENAI_H
#define CH_MODEL_OPENAI_H
#include "model/codec/codec.h"

/* The name given to reasoning that came as parts of the content (Mistral); any
 * other name is the member it came in. */
#define CH_OPENAI_THINKING "thinking"

enum ch_id_rule ch_openai_ids(const struct ch_model_request *req);
int ch_openai_http(const struct ch_model_request *req, struct ch_arena *a,
                   struct ch_http_request *out, struct chela_error *err);
int ch_openai_head(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);
int ch_openai_message(const struct ch_model_request *req, const struct ch_msg *m,
                      struct ch_buf *out, struct chela_error *err);
int ch_openai_tail(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);
void ch_openai_close(const struct ch_model_request *req, struct ch_buf *out);
bool ch_openai_takes_schema(const struct ch_model_request *req);

#endif

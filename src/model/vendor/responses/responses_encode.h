/* responses_encode.h -- encodes a neutral request as a Responses request. */
#ifndef CH_MODEL_RESPONSES_ENCODE_H
#define CH_MODEL_RESPONSES_ENCODE_H
#include "model/vendor/responses/responses.h"

/* True for items that the client must answer: no call of the service's own tools. */
bool ch_responses_wants_answer(struct ch_sv type);

/* Members of struct ch_codec (model/codec/codec.h), which states their contracts. */
int ch_responses_http(const struct ch_model_request *req, struct ch_arena *a,
                      struct ch_http_request *out, struct chela_error *err);

bool ch_responses_reads_compaction(const struct ch_model_request *req, const struct ch_msg *m);
bool ch_responses_searches_tools(const struct ch_model_request *req);
enum ch_effort ch_responses_sent_effort(const struct ch_model_request *req);
int ch_responses_head(const struct ch_model_request *req, struct ch_buf *out,
                      struct chela_error *err);

int ch_responses_message(const struct ch_model_request *req, const struct ch_msg *m,
                         struct ch_buf *out, struct chela_error *err);

int ch_responses_tail(const struct ch_model_request *req, struct ch_buf *out,
                      struct chela_error *err);

#endif

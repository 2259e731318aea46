/* gemini.h -- the halves of the Gemini codec. */
#ifndef CH_MODEL_GEMINI_H
#define CH_MODEL_GEMINI_H
#include "model/codec/codec.h"

int ch_gemini_http(const struct ch_model_request *req, struct ch_arena *a,
                   struct ch_http_request *out, struct chela_error *err);
/* Where the models are listed. */
const char *ch_gemini_models_url(const char *base_url, struct ch_arena *a);
int ch_gemini_head(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);
int ch_gemini_message(const struct ch_model_request *req, const struct ch_msg *m,
                      struct ch_buf *out, struct chela_error *err);
int ch_gemini_tail(const struct ch_model_request *req, struct ch_buf *out, struct chela_error *err);
bool ch_gemini_takes_schema(const struct ch_model_request *req);

/* The reply failed with the error that json, a chunk, holds: google.rpc.Status
 * with details that say how long to wait and which quota it was. CHELA_EPARSE
 * if json is malformed; nothing happens if it holds no error. */
int ch_gemini_read_error(struct ch_decoder *d, struct ch_sv json);

#endif

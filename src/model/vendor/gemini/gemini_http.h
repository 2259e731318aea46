/* gemini_http.h -- URL and headers of a Gemini request; the model is part of the URL. */
#ifndef CH_MODEL_GEMINI_HTTP_H
#define CH_MODEL_GEMINI_HTTP_H
#include "model/vendor/gemini/gemini.h"

int ch_gemini_http(const struct ch_model_request *req, struct ch_arena *a,
                   struct ch_http_request *out, struct chela_error *err);

/* URL of the list of models. */
const char *ch_gemini_models_url(const char *base_url, struct ch_arena *a);

#endif

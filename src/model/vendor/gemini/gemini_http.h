/* gemini_http.h -- URL and headers of a Gemini request; the model is part of the URL. */
#ifndef CH_MODEL_GEMINI_HTTP_H
#define CH_MODEL_GEMINI_HTTP_H
#include "model/vendor/gemini/gemini.h"

int ch_gemini_http(const struct ch_model_request *req, struct ch_arena *a,
                   struct ch_http_request *out, struct chela_error *err);

/* Method, URL and headers of a request to Google's services, with the endpoint's key. */
void ch_gemini_request(const struct ch_model_request *req, struct ch_arena *a, const char *url,
                       struct ch_http_request *out);

/* URL of a resource that lies beside the models, such as "interactions". */
const char *ch_gemini_resource_url(const char *base_url, const char *resource, struct ch_arena *a);

/* URL of the list of models. */
const char *ch_gemini_models_url(const char *base_url, struct ch_arena *a);

#endif

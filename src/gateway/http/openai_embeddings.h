/* openai_embeddings.h -- POST /v1/embeddings, with the embedding model of an agent. */
#ifndef CH_GATEWAY_OPENAI_EMBEDDINGS_H
#define CH_GATEWAY_OPENAI_EMBEDDINGS_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_openai_embeddings;

#endif

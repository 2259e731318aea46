/* openai_responses.h -- POST /v1/responses. */
#ifndef CH_GATEWAY_OPENAI_RESPONSES_H
#define CH_GATEWAY_OPENAI_RESPONSES_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_openai_responses;

#endif

/* anthropic_messages.h -- POST /v1/messages and /v1/messages/count_tokens. */
#ifndef CH_GATEWAY_ANTHROPIC_MESSAGES_H
#define CH_GATEWAY_ANTHROPIC_MESSAGES_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_anthropic_messages, ch_anthropic_count_tokens;

#endif

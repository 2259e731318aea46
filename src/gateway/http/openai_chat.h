/* openai_chat.h -- POST /v1/chat/completions. */
#ifndef CH_GATEWAY_OPENAI_CHAT_H
#define CH_GATEWAY_OPENAI_CHAT_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_openai_chat;

#endif

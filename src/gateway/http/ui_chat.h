/* ui_chat.h -- POST /api/chat and GET /api/chat/{id}/stream, for pages with the AI SDK. */
#ifndef CH_GATEWAY_UI_CHAT_H
#define CH_GATEWAY_UI_CHAT_H
#include "gateway/request/http_route.h"

ch_http_route_fn ch_ui_chat_post, ch_ui_chat_resume;

#endif

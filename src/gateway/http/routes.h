/* routes.h -- the functions that the table of routes leads to. Each answers
 * its visit exactly once, at once or later. */
#ifndef CH_GATEWAY_ROUTES_H
#define CH_GATEWAY_ROUTES_H
#include "gateway/request/gateway_state.h"

/* health.c */
ch_http_route_fn ch_health_live, ch_health_ready;

/* console.c */
ch_http_route_fn ch_console;

/* openai.c, openai_chat.c, openai_responses.c */
ch_http_route_fn ch_openai_models, ch_openai_model, ch_openai_chat, ch_openai_responses;

/* sessions_api.c, events.c, socket.c */
ch_http_route_fn ch_sessions_list, ch_sessions_show, ch_sessions_records, ch_sessions_delete,
    ch_sessions_cancel, ch_sessions_message, ch_session_events_get, ch_session_socket_open;

/* approvals_api.c */
ch_http_route_fn ch_approvals_list, ch_approvals_decide;

/* hooks.c */
ch_http_route_fn ch_webhooks_receive;

/* channels.c */
ch_http_route_fn ch_channel_api_receive;

/* ui_chat.c */
ch_http_route_fn ch_ui_chat_post, ch_ui_chat_resume;

/* tools_api.c, usage_api.c, metrics.c */
ch_http_route_fn ch_tools_invoke, ch_usage_get, ch_metrics_get;

#endif

/* routes.h -- the functions that the table of routes leads to. Each answers
 * its visit exactly once, at once or later. */
#ifndef CH_GATEWAY_ROUTES_H
#define CH_GATEWAY_ROUTES_H
#include "gateway/request/gateway.h"

/* health.c */
ch_route_fn ch_health_live, ch_health_ready;

/* console.c */
ch_route_fn ch_console;

/* openai.c, openai_chat.c, openai_responses.c */
ch_route_fn ch_openai_models, ch_openai_model, ch_openai_chat, ch_openai_responses;

/* sessions_api.c, events.c, socket.c */
ch_route_fn ch_sessions_list, ch_sessions_show, ch_sessions_records, ch_sessions_delete,
    ch_sessions_cancel, ch_sessions_message, ch_sessions_events, ch_sessions_socket;

/* approvals_api.c */
ch_route_fn ch_approvals_list, ch_approvals_decide;

/* hooks.c */
ch_route_fn ch_hook_call;

/* channels.c */
ch_route_fn ch_channel_call;

/* ui_chat.c */
ch_route_fn ch_ui_chat, ch_ui_resume;

/* tools_api.c, usage_api.c, metrics.c */
ch_route_fn ch_tools_invoke, ch_usage, ch_metrics;

/* send.c: the tool `sessions_send`, for agents that may. */
int ch_send_init(chela_gateway *gw, chela_agent *const *agents, struct chela_error *err);
/* An agent that the gateway no longer serves: its tool would outlive the gateway. */
void ch_send_release(const chela_gateway *gw, chela_agent *agent);

#endif

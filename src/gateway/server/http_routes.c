/* http_routes.c -- the table of routes: every path that the gateway answers. */
#include "gateway/server/http_routes.h"

#include "gateway/http/activity_api.h"
#include "gateway/http/agents_api.h"
#include "gateway/http/anthropic_messages.h"
#include "gateway/http/approvals_api.h"
#include "gateway/http/channel_api.h"
#include "gateway/http/config_api.h"
#include "gateway/http/console.h"
#include "gateway/http/health.h"
#include "gateway/http/logs_api.h"
#include "gateway/http/mcp_api.h"
#include "gateway/http/mcp_servers_api.h"
#include "gateway/http/memory_api.h"
#include "gateway/http/metrics.h"
#include "gateway/http/notices.h"
#include "gateway/http/openai.h"
#include "gateway/http/openai_chat.h"
#include "gateway/http/openai_embeddings.h"
#include "gateway/http/openai_responses.h"
#include "gateway/http/operate_api.h"
#include "gateway/http/response_store.h"
#include "gateway/http/session_copies.h"
#include "gateway/http/session_events.h"
#include "gateway/http/session_socket.h"
#include "gateway/http/review_api.h"
#include "gateway/http/runs_api.h"
#include "gateway/http/sessions_api.h"
#include "gateway/http/tools_api.h"
#include "gateway/http/trace_api.h"
#include "gateway/http/ui_chat.h"
#include "gateway/http/usage_api.h"
#include "gateway/http/webhooks.h"
#include "gateway/request/http_route.h"
#include "gateway/schedule/schedules_api.h"

const struct ch_http_route ch_http_routes[] = {
    {"GET", "/", CH_ROUTE_OPEN, ch_console},
    {"GET", "/console/{}", CH_ROUTE_OPEN, ch_console_file},
    {"GET", "/healthz", CH_ROUTE_OPEN, ch_health_live},
    {"GET", "/readyz", CH_ROUTE_OPEN, ch_health_ready},
    {"GET", "/v1/models", CH_ROUTE_ANTHROPIC, ch_openai_models},
    {"GET", "/v1/models/{}", CH_ROUTE_ANTHROPIC, ch_openai_model},
    {"POST", "/v1/embeddings", 0, ch_openai_embeddings},
    {"POST", "/v1/messages", CH_ROUTE_ANTHROPIC | CH_ROUTE_KEYED_SESSION, ch_anthropic_messages},
    {"POST", "/v1/messages/count_tokens", CH_ROUTE_ANTHROPIC, ch_anthropic_count_tokens},
    {"POST", "/v1/chat/completions", CH_ROUTE_KEYED_SESSION, ch_openai_chat},
    {"POST", "/v1/responses", CH_ROUTE_KEYED_SESSION, ch_openai_responses},
    {"GET", "/v1/responses/{}", 0, ch_response_store_get},
    {"DELETE", "/v1/responses/{}", 0, ch_response_store_delete},
    {"POST", "/v1/responses/{}/cancel", CH_ROUTE_RAW, ch_response_store_cancel},
    {"GET", "/v1/responses/{}/input_items", 0, ch_response_store_input},
    {"POST", "/api/chat", CH_ROUTE_KEYED, ch_ui_chat_post},
    {"GET", "/api/chat/{}/stream", 0, ch_ui_chat_resume},
    {"GET", "/api/sessions", 0, ch_sessions_list},
    {"GET", "/api/sessions/{}", 0, ch_sessions_show},
    {"POST", "/api/sessions/{}", 0, ch_session_copies_rename},
    {"DELETE", "/api/sessions/{}", 0, ch_sessions_delete},
    {"POST", "/api/sessions/{}/fork", CH_ROUTE_KEYED, ch_session_copies_fork},
    {"GET", "/api/sessions/{}/export", 0, ch_session_copies_export},
    {"GET", "/api/sessions/{}/records", 0, ch_sessions_records},
    {"GET", "/api/sessions/{}/requests", 0, ch_trace_requests_list},
    {"GET", "/api/sessions/{}/requests/{n}", 0, ch_trace_request_get},
    {"GET", "/api/sessions/{}/setups", 0, ch_trace_setups_get},
    {"GET", "/api/sessions/{}/events", 0, ch_session_events_get},
    {"GET", "/api/sessions/{}/socket", CH_ROUTE_SOCKET, ch_session_socket_open},
    {"POST", "/api/sessions/{}/messages", CH_ROUTE_KEYED, ch_sessions_message},
    {"POST", "/api/sessions/{}/cancel", CH_ROUTE_KEYED, ch_sessions_cancel},
    {"GET", "/api/sessions/{}/diff", 0, ch_review_api_diff},
    {"POST", "/api/sessions/{}/apply", CH_ROUTE_KEYED, ch_review_api_apply},
    {"GET", "/api/agents", 0, ch_agents_list},
    {"GET", "/api/skills", 0, ch_agents_skills},
    {"GET", "/api/channels", 0, ch_operate_channels},
    {"POST", "/api/channels/{}/test", 0, ch_channel_api_test},
    {"POST", "/api/pairings", 0, ch_operate_pairing},
    {"GET", "/api/config", 0, ch_config_api_get},
    {"POST", "/api/config", 0, ch_config_api_change},
    {"GET", "/api/schedules", 0, ch_schedules_api_list},
    {"POST", "/api/schedules/{}/run", CH_ROUTE_KEYED | CH_ROUTE_ONCE, ch_schedules_api_run},
    {"GET", "/api/mcp", 0, ch_mcp_servers_list},
    {"POST", "/api/mcp/{}", 0, ch_mcp_servers_act},
    {"GET", "/api/memory", 0, ch_memory_api_list},
    {"GET", "/api/memory/{}", 0, ch_memory_api_get},
    {"GET", "/api/logs", 0, ch_logs_api_get},
    {"GET", "/api/nodes", 0, ch_operate_nodes},
    {"GET", "/api/events", 0, ch_notices_get},
    {"GET", "/api/approvals", 0, ch_approvals_list},
    {"POST", "/api/approvals/{}", CH_ROUTE_KEYED, ch_approvals_decide},
    {"POST", "/hooks/{}", CH_ROUTE_OPEN, ch_webhooks_receive},
    {"GET", "/channels/{}/events", CH_ROUTE_OPEN, ch_channel_api_receive},
    {"POST", "/channels/{}/events", CH_ROUTE_OPEN | CH_ROUTE_SMALL | CH_ROUTE_RAW,
     ch_channel_api_receive},
    {"POST", "/tools/invoke", CH_ROUTE_KEYED | CH_ROUTE_ONCE, ch_tools_invoke},
    {"POST", "/mcp", CH_ROUTE_RAW | CH_ROUTE_BEARER, ch_mcp_api_serve},
    {"GET", "/mcp", CH_ROUTE_BEARER, ch_mcp_api_serve},
    {"DELETE", "/mcp", CH_ROUTE_BEARER, ch_mcp_api_serve},
    {"GET", "/.well-known/oauth-protected-resource", CH_ROUTE_OPEN, ch_mcp_api_metadata},
    {"GET", "/.well-known/oauth-protected-resource/mcp", CH_ROUTE_OPEN, ch_mcp_api_metadata},
    {"GET", "/api/usage", 0, ch_usage_get},
    {"GET", "/api/activity", 0, ch_activity_get},
    {"GET", "/api/runs", 0, ch_runs_get},
    {"GET", "/metrics", 0, ch_metrics_get},
    {.path = NULL},
};

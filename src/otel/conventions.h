/* conventions.h -- the names of OpenTelemetry's semantic conventions that chela emits.
 *
 * The names are those of the conventions 1.41 for generative AI, which are not stable yet.
 * Where the conventions have no name, chela defines one. Every name is in this file or its
 * table. */
#ifndef CH_OTEL_CONVENTIONS_H
#define CH_OTEL_CONVENTIONS_H
#include "base/sv.h"

#define CH_OTEL_SCHEMA_URL "https://opentelemetry.io/schemas/1.41.1"

/* X(key, name of the attribute) */
#define CH_OTEL_KEYS(X)                                                                        \
    X(OPERATION, "gen_ai.operation.name")                                                      \
    X(PROVIDER, "gen_ai.provider.name")                                                        \
    X(AGENT_ID, "gen_ai.agent.id")                                                             \
    X(AGENT_NAME, "gen_ai.agent.name")                                                         \
    X(AGENT_DESCRIPTION, "gen_ai.agent.description")                                           \
    X(CONVERSATION, "gen_ai.conversation.id")                                                  \
    X(OUTPUT_TYPE, "gen_ai.output.type")                                                       \
    X(REQUEST_MODEL, "gen_ai.request.model")                                                   \
    X(REQUEST_MAX_TOKENS, "gen_ai.request.max_tokens")                                         \
    X(REQUEST_TEMPERATURE, "gen_ai.request.temperature")                                       \
    X(REQUEST_TOP_P, "gen_ai.request.top_p")                                                   \
    X(REQUEST_TOP_K, "gen_ai.request.top_k")                                                   \
    X(REQUEST_SEED, "gen_ai.request.seed")                                                     \
    X(REQUEST_STOP, "gen_ai.request.stop_sequences")                                           \
    X(REQUEST_STREAM, "gen_ai.request.stream")                                                 \
    X(RESPONSE_MODEL, "gen_ai.response.model")                                                 \
    X(RESPONSE_FINISH, "gen_ai.response.finish_reasons")                                       \
    X(RESPONSE_FIRST_CHUNK, "gen_ai.response.time_to_first_chunk")                             \
    X(INPUT_TOKENS, "gen_ai.usage.input_tokens")                                               \
    X(OUTPUT_TOKENS, "gen_ai.usage.output_tokens")                                             \
    X(CACHE_READ_TOKENS, "gen_ai.usage.cache_read.input_tokens")                               \
    X(CACHE_CREATION_TOKENS, "gen_ai.usage.cache_creation.input_tokens")                       \
    X(REASONING_TOKENS, "gen_ai.usage.reasoning.output_tokens")                                \
    X(TOKEN_TYPE, "gen_ai.token.type")                                                         \
    X(TOOL_NAME, "gen_ai.tool.name")                                                           \
    X(TOOL_TYPE, "gen_ai.tool.type")                                                           \
    X(TOOL_DESCRIPTION, "gen_ai.tool.description")                                             \
    X(TOOL_CALL_ID, "gen_ai.tool.call.id")                                                     \
    X(TOOL_ARGUMENTS, "gen_ai.tool.call.arguments")                                            \
    X(TOOL_RESULT, "gen_ai.tool.call.result")                                                  \
    X(SYSTEM_INSTRUCTIONS, "gen_ai.system_instructions")                                       \
    X(INPUT_MESSAGES, "gen_ai.input.messages")                                                 \
    X(OUTPUT_MESSAGES, "gen_ai.output.messages")                                               \
    X(EVALUATION_NAME, "gen_ai.evaluation.name")                                               \
    X(EVALUATION_VALUE, "gen_ai.evaluation.score.value")                                       \
    X(EVALUATION_LABEL, "gen_ai.evaluation.score.label")                                       \
    X(EVALUATION_EXPLANATION, "gen_ai.evaluation.explanation")                                 \
    X(MCP_METHOD, "mcp.method.name")                                                           \
    X(SERVER_ADDRESS, "server.address")                                                        \
    X(SERVER_PORT, "server.port")                                                              \
    X(HTTP_METHOD, "http.request.method")                                                      \
    X(HTTP_ROUTE, "http.route")                                                                \
    X(HTTP_STATUS, "http.response.status_code")                                                \
    X(ERROR_TYPE, "error.type")                                                                \
    X(OVERFLOW, "otel.metric.overflow")                                                        \
    X(SERVICE_NAME, "service.name")                                                            \
    X(SERVICE_VERSION, "service.version")                                                      \
    X(SERVICE_INSTANCE, "service.instance.id")                                                 \
    X(SDK_NAME, "telemetry.sdk.name")                                                          \
    X(SDK_LANGUAGE, "telemetry.sdk.language")                                                  \
    X(SDK_VERSION, "telemetry.sdk.version")                                                    \
    X(HOST_NAME, "host.name")                                                                  \
    X(PROCESS_PID, "process.pid")                                                              \
    X(RUN, "chela.run.id")                                                                     \
    X(TURN, "chela.turn")                                                                      \
    X(ATTEMPT, "chela.attempt")                                                                \
    X(WAIT_REASON, "chela.wait.reason")                                                        \
    X(ROLE, "chela.role")                                                                      \
    X(STATUS, "chela.run.status")                                                              \
    X(REASON, "chela.run.reason")                                                              \
    X(COST, "chela.cost_usd")                                                                  \
    X(CHANNEL, "chela.channel")                                                                \
    X(DELAY, "chela.delay_ms")                                                                 \
    X(FROM, "chela.from")                                                                      \
    X(TO, "chela.to")                                                                          \
    X(TOKENS_BEFORE, "chela.tokens.before")                                                    \
    X(TOKENS_AFTER, "chela.tokens.after")

enum ch_otel_key {
#define CH_OTEL_KEY_ENUM(key, name) CH_OTEL_##key,
    CH_OTEL_KEYS(CH_OTEL_KEY_ENUM)
#undef CH_OTEL_KEY_ENUM
    CH_OTEL_KEY_COUNT
};

/* Values of gen_ai.operation.name. */
#define CH_OTEL_INVOKE_AGENT "invoke_agent"
#define CH_OTEL_CHAT "chat"
#define CH_OTEL_EXECUTE_TOOL "execute_tool"
#define CH_OTEL_EMBEDDINGS "embeddings"

/* Spans that the conventions do not have: they have no gen_ai.operation.name. */
#define CH_OTEL_TRY "attempt" /* of a call, and the tool */
#define CH_OTEL_WAIT "wait"   /* and the reason: "approval", "timer", "retry" */

/* X(metric, name, unit, bounds, description) */
#define CH_OTEL_METRICS(X)                                                                     \
    X(TOKEN_USAGE, "gen_ai.client.token.usage", "{token}", tokens,                             \
      "Number of input and output tokens used.")                                               \
    X(OPERATION_DURATION, "gen_ai.client.operation.duration", "s", seconds,                    \
      "GenAI operation duration.")                                                             \
    X(FIRST_CHUNK, "gen_ai.client.operation.time_to_first_chunk", "s", seconds,                \
      "Time to receive the first chunk of a streaming response.")                              \
    X(AGENT_DURATION, "gen_ai.invoke_agent.duration", "s", seconds,                            \
      "Duration of the invocation of an agent.")                                               \
    X(TOOL_DURATION, "gen_ai.execute_tool.duration", "s", seconds,                             \
      "Duration of the execution of a tool.")

enum ch_otel_metric {
#define CH_OTEL_METRIC_ENUM(metric, name, unit, bounds, description) CH_OTEL_METRIC_##metric,
    CH_OTEL_METRICS(CH_OTEL_METRIC_ENUM)
#undef CH_OTEL_METRIC_ENUM
    CH_OTEL_METRIC_COUNT
};

/* Names of log events. */
#define CH_OTEL_EVENT_EVALUATION "gen_ai.evaluation.result"
#define CH_OTEL_EVENT_PREFIX "chela." /* followed by the name of chela's event: "chela.retry" */

/* An attribute in JSON, up to the brace of its value: {"key":"NAME","value":{. The text has a fixed
 * size, so that a copy of it takes a few instructions. */
#define CH_OTEL_BEGIN 63
struct ch_otel_name {
    unsigned char n; /* bytes of `begin` */
    char begin[CH_OTEL_BEGIN];
};
const struct ch_otel_name *ch_otel_name(enum ch_otel_key key);
/* The name alone. */
struct ch_sv ch_otel_name_text(const struct ch_otel_name *name);
/* gen_ai.provider.name of a provider of chela: the conventions' name, or chela's own. */
struct ch_sv ch_otel_provider(struct ch_sv provider);
/* An element of gen_ai.response.finish_reasons, from chela's stop reason. */
const char *ch_otel_finish(const char *stop);

#endif

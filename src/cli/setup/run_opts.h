/* run_opts.h -- option rows shared by the commands that run an agent (args.h). The
 * command's struct has members of the same names; texts that differ between commands are
 * macro arguments. */
#ifndef CH_CLI_RUN_OPTS_H
#define CH_CLI_RUN_OPTS_H
#include "chela/session.h"
#include "cli/setup/args.h"

#define CH_MANY 1e12

/* clang-format off */
#define CH_RUN_OPTS_SESSION(type)                                                                  \
    {"session", 0, CH_OPT_TEXT, offsetof(type, session), "KEY", 0, 0, "Configuration",             \
     "key of the session to start or to continue; default: a new session"},                        \
    {"continue", 0, CH_OPT_SWITCH, offsetof(type, resume_last), NULL, 0, 0, "Configuration",       \
     "continue the session that was used last in this directory"},                                 \
    {"no-session", 0, CH_OPT_SWITCH, offsetof(type, no_session), NULL, 0, 0, "Configuration",      \
     "do not store the session, whatever the configuration file says"}
#define CH_RUN_OPTS_ENDPOINT(type)                                                                 \
    {"base-url", 0, CH_OPT_TEXT, offsetof(type, base_url), "URL", 0, 0, "Model",                   \
     "URL of the service instead of the provider's default"},                                      \
    {"api-key-env", 0, CH_OPT_TEXT, offsetof(type, api_key_env), "NAME", 0, 0, "Model",            \
     "environment variable that holds the API key"}
#define CH_RUN_OPTS_SERVICE(type)                                                                  \
    {"model", 0, CH_OPT_TEXT, offsetof(type, model), "PROVIDER/MODEL", 0, 0, "Model",              \
     "the model, such as anthropic/claude-sonnet-5-5 or ollama/qwen3"},                            \
    CH_RUN_OPTS_ENDPOINT(type)
#define CH_RUN_OPTS_WIRE(type)                                                                     \
    {"ca-file", 0, CH_OPT_TEXT, offsetof(type, ca_file), "FILE", 0, 0, "Model",                    \
     "trusted certificates (PEM) instead of the system's"},                                        \
    {"record", 0, CH_OPT_TEXT, offsetof(type, record), "FILE", 0, 0, "Model",                      \
     "record every model call to a cassette, without keys"},                                       \
    {"replay", 0, CH_OPT_TEXT, offsetof(type, replay), "FILE", 0, 0, "Model",                      \
     "replay a cassette instead of calling the model: no network, no key"}
#define CH_RUN_OPT_SYSTEM(type)                                                                    \
    {"system", 0, CH_OPT_TEXT, offsetof(type, system), "TEXT|@FILE", 0, 0, "Model",                \
     "instructions for the model"}
#define CH_RUN_OPT_REASONING(type)                                                                 \
    {"reasoning", 0, CH_OPT_CHOICE, offsetof(type, reasoning),                                     \
     "off|minimal|low|medium|high|xhigh|max", 0, 0, "Model",                                       \
     "amount of reasoning before the answer"}
#define CH_RUN_OPT_MODE(type)                                                                      \
    {"mode", 0, CH_OPT_CHOICE, offsetof(type, mode), "react|plan|route|heartbeat", 0, 0, "Model",  \
     "how the agent works: call tools until there is an answer (react), make a plan first "        \
     "(plan), choose a tool or the planner first (route), or take part in a chat (heartbeat)"}
#define CH_RUN_OPT_NO_STREAM(type)                                                                 \
    {"no-stream", 0, CH_OPT_SWITCH, offsetof(type, no_stream), NULL, 0, 0, "Model",                \
     "request complete replies instead of streams"}
#define CH_RUN_OPT_APPROVE(type, help)                                                             \
    {"approve", 0, CH_OPT_CHOICE, offsetof(type, approve), "ask|edits|plan|sandbox|auto|deny", 0, \
     0, "Tools", help}
#define CH_RUN_OPT_APPLY(type)                                                                     \
    {"apply", 0, CH_OPT_CHOICE, offsetof(type, setup.apply), "each|review|never", 0, 0, "Tools",   \
     "when the changes of the run become real: at once (each, the default), when a person "        \
     "accepts them with 'chela apply' (review), or never: 'chela diff' prints a patch"}
/* Limits: 0 means none. */
#define CH_RUN_OPT_LIMIT(type, name, field, help)                                                  \
    {name, 0, CH_OPT_LIMIT, offsetof(type, field), "N", 0, CH_MANY, "Limits", help}
#define CH_RUN_OPTS_CALLS(type, turns, calls)                                                      \
    CH_RUN_OPT_LIMIT(type, "max-turns", max_turns, turns),                                         \
    CH_RUN_OPT_LIMIT(type, "max-tool-calls", max_tool_calls, calls)
#define CH_RUN_OPT_ERRORS(type)                                                                    \
    CH_RUN_OPT_LIMIT(type, "max-errors", max_errors, "consecutive errors, at most (3; 0: no limit)")
#define CH_RUN_OPTS_BUDGETS(type, tokens, dollars)                                                 \
    CH_RUN_OPT_LIMIT(type, "token-budget", token_budget, tokens),                                  \
    {"cost-budget", 0, CH_OPT_REAL, offsetof(type, cost_budget), "USD", 0, CH_MANY, "Limits",      \
     dollars}
#define CH_RUN_OPT_TIMEOUT(type, help)                                                             \
    {"timeout", 0, CH_OPT_REAL, offsetof(type, timeout), "SEC", 0, 31536000, "Limits", help}
#define CH_RUN_OPT_OUTPUT(type)                                                                    \
    {"output", 0, CH_OPT_CHOICE, offsetof(type, output), "text|json|jsonl", 0, 0, "Output",        \
     "print the answer as text, the run_end event as a JSON object, or all events, one JSON "      \
     "object a line"}
#define CH_RUN_OPTS_OUTPUT(type)                                                                   \
    {"output", 0, CH_OPT_CHOICE, offsetof(type, output), "text|json|jsonl|stream-json", 0, 0,      \
     "Output",                                                                                     \
     "print the answer as text, the run_end event as a JSON object, all events, one JSON object "  \
     "a line, or the lines that Claude Code prints without a terminal (stream-json)"},             \
    {"include-partial-messages", 0, CH_OPT_SWITCH, offsetof(type, partial), NULL, 0, 0, "Output",  \
     "with --output stream-json: also print the pieces of replies"}
/* clang-format on */

/* The members of struct chela_limits for --timeout and --cost-budget: 0 if not given, negative for
 * none. */
static inline int64_t ch_run_opts_timeout(struct ch_real seconds) {
    double ms = seconds.value * 1000;
    return !seconds.set ? 0 : ms <= 0 ? -1 : ms < 1 ? 1 : (int64_t)ms;
}
static inline double ch_run_opts_cost(struct ch_real dollars) {
    return dollars.set && dollars.value <= 0 ? -1 : dollars.value;
}

#endif

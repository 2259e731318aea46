/* choice.h -- closed sets of values and their names.
 *
 * An option or event whose set of values is closed has an enum type. Configuration files,
 * the command line and events in JSON use the names of the values. Every enum of this
 * header has two functions, for instance
 *
 *     const char *chela_mode_name(enum chela_mode value);
 *     int chela_mode_read(const char *name, enum chela_mode *out, struct chela_error *err);
 *
 * chela_mode_name is chela_choice_name, and chela_mode_read is chela_choice_read, for the
 * set `mode`. A value DEFAULT is 0 and leaves the choice to the library. New values are
 * added at the end of a set; the number of a value never changes.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call; a result is static text.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_CHOICE_H
#define CHELA_CHOICE_H
#include "chela/error.h"
CHELA_BEGIN_DECLS

/* The sets follow: X(enumerator, value, "name"). */

/* How an agent works on a task (docs/modes.md). */
#define CHELA_MODE_VALUES(X)                                                                       \
    X(CHELA_MODE_DEFAULT, 0, "default") /* REACT */                                                \
    X(CHELA_MODE_REACT, 1, "react") /* the model calls tools until it has an answer */             \
    X(CHELA_MODE_PLAN, 2, "plan") /* the model makes a plan and carries it out */                  \
    X(CHELA_MODE_ROUTE, 3, "route") /* a model chooses a skill, an agent or a plan first */        \
    X(CHELA_MODE_HEARTBEAT, 4, "heartbeat") /* the agent takes part in a chat */

/* What happens to a tool call that needs a person's consent. */
#define CHELA_APPROVE_VALUES(X)                                                                    \
    X(CHELA_APPROVE_DEFAULT, 0, "default") /* ASK; in a run or policy: the agent's value */        \
    X(CHELA_APPROVE_ASK, 1, "ask") /* call the hook `approve`, else pause the run */               \
    X(CHELA_APPROVE_AUTO, 2, "auto") /* run the call */                                            \
    X(CHELA_APPROVE_DENY, 3, "deny") /* refuse the call */                                         \
    X(CHELA_APPROVE_SANDBOX, 4, "sandbox") /* run commands in the full sandbox, ask otherwise */

/* Which tools a request to the model describes. */
#define CHELA_SELECTION_VALUES(X)                                                                  \
    X(CHELA_SELECTION_DEFAULT, 0, "default") /* AUTO */                                            \
    X(CHELA_SELECTION_AUTO, 1, "auto") /* up to 20 tools: ALL; up to 50: TOPK; else TWO_STAGE */   \
    X(CHELA_SELECTION_ALL, 2, "all") /* every tool */                                              \
    X(CHELA_SELECTION_TOPK, 3, "topk") /* the tools that match the first input best */          \
    X(CHELA_SELECTION_TWO_STAGE, 4, "two_stage") /* none; summaries name the tools */              \
    X(CHELA_SELECTION_SEARCH, 5, "search") /* none; the model searches for tools */

/* The length of the generated system prompt. */
#define CHELA_PROMPT_STYLE_VALUES(X)                                                               \
    X(CHELA_PROMPT_DEFAULT, 0, "default") /* AUTO */                                               \
    X(CHELA_PROMPT_AUTO, 1, "auto") /* MINIMAL for local models and small contexts */              \
    X(CHELA_PROMPT_FULL, 2, "full")                                                                \
    X(CHELA_PROMPT_MINIMAL, 3, "minimal") /* at most 1,500 characters */

/* What happens when a conversation exceeds the model's context. */
#define CHELA_COMPACTION_VALUES(X)                                                                 \
    X(CHELA_COMPACTION_DEFAULT, 0, "default") /* SUMMARY */                                        \
    X(CHELA_COMPACTION_SUMMARY, 1, "summary") /* shorten results, then let a model summarise */    \
    X(CHELA_COMPACTION_RETAIN, 2, "retain") /* shorten and cut, without a model */                 \
    X(CHELA_COMPACTION_OFF, 3, "off") /* nothing; the run fails */

/* Who shortens such a conversation. */
#define CHELA_COMPACTION_BY_VALUES(X)                                                              \
    X(CHELA_COMPACTION_BY_DEFAULT, 0, "default") /* CHELA */                                       \
    X(CHELA_COMPACTION_BY_CHELA, 1, "chela") /* the runtime, as CHELA_COMPACTION_* says */         \
    X(CHELA_COMPACTION_BY_SERVICE, 2, "service") /* the model's service, if it can */

/* What a separate model call judges (docs/modes.md). */
#define CHELA_REFLECTION_VALUES(X)                                                                 \
    X(CHELA_REFLECTION_DEFAULT, 0, "default") /* the results of plans */                           \
    X(CHELA_REFLECTION_IMPLICIT, 1, "implicit") /* nothing */                                      \
    X(CHELA_REFLECTION_ON_ERROR, 2, "on_error") /* also tool results that include an error */      \
    X(CHELA_REFLECTION_EXPLICIT, 3, "explicit") /* also every answer */

/* How a model is told the JSON Schema of the final answer. */
#define CHELA_OUTPUT_BY_VALUES(X)                                                                  \
    X(CHELA_OUTPUT_BY_DEFAULT, 0, "default") /* AUTO */                                            \
    X(CHELA_OUTPUT_BY_AUTO, 1, "auto") /* the best of these that the model supports */             \
    X(CHELA_OUTPUT_BY_NATIVE, 2, "native") /* a parameter of the request */                        \
    X(CHELA_OUTPUT_BY_TOOL, 3, "tool") /* a tool whose call ends the run */                        \
    X(CHELA_OUTPUT_BY_PROMPT, 4, "prompt") /* a part of the prompt */

/* How much a model reasons before it answers. A model that does not accept the value gets the
 * nearest that it accepts, and an event says so. */
#define CHELA_REASONING_VALUES(X)                                                                  \
    X(CHELA_REASONING_DEFAULT, 0, "default") /* the service's default */                           \
    X(CHELA_REASONING_OFF, 1, "off")                                                               \
    X(CHELA_REASONING_LOW, 2, "low")                                                               \
    X(CHELA_REASONING_MEDIUM, 3, "medium")                                                         \
    X(CHELA_REASONING_HIGH, 4, "high")                                                             \
    X(CHELA_REASONING_MINIMAL, 5, "minimal") /* less than LOW */                                   \
    X(CHELA_REASONING_XHIGH, 6, "xhigh") /* more than HIGH */                                      \
    X(CHELA_REASONING_MAX, 7, "max") /* more than XHIGH */

/* How long the service caches the prompt. */
#define CHELA_CACHE_VALUES(X)                                                                      \
    X(CHELA_CACHE_SHORT, 0, "5m") /* minutes; the default of most services */                      \
    X(CHELA_CACHE_OFF, 1, "off")                                                                   \
    X(CHELA_CACHE_LONG, 2, "1h") /* one hour, if the service supports it; costs more */

/* What happens to a message that arrives during a run (chela_session_send). */
#define CHELA_QUEUE_MODE_VALUES(X)                                                                 \
    X(CHELA_QUEUE_STEER, 0, "steer") /* delivered before the run's next model call */              \
    X(CHELA_QUEUE_FOLLOW_UP, 1, "follow_up") /* delivered, one by one, when the run would end */   \
    X(CHELA_QUEUE_COLLECT, 2, "collect") /* collected; one run handles all after a pause */        \
    X(CHELA_QUEUE_INTERRUPT, 3, "interrupt") /* cancels the run and starts another */

/* What happens to a message when the queue is full. */
#define CHELA_OVERFLOW_VALUES(X)                                                                   \
    X(CHELA_OVERFLOW_REFUSE, 0, "refuse") /* chela_session_send fails with CHELA_ELIMIT */         \
    X(CHELA_OVERFLOW_DROP_OLDEST, 1, "drop_oldest") /* the model is told how many were dropped */

/* Whether a tool call may run again after a failure or a restart. A call that only reads may begin
 * while the reply is still received, and runs again with the next reply if that one fails. */
#define CHELA_EFFECT_VALUES(X)                                                                     \
    X(CHELA_EFFECT_ONCE, 0, "once") /* no: the call may have had an effect */                      \
    X(CHELA_EFFECT_KEYED, 1, "keyed") /* yes, with the same chela_call_key */                      \
    X(CHELA_EFFECT_READ, 2, "read") /* yes: the call changes nothing */

/* The permission that a tool needs, or that an agent grants. */
#define CHELA_PERMISSION_VALUES(X)                                                                 \
    X(CHELA_PERM_ADMIN, 0, "admin") /* also the permission of a tool that declares none */         \
    X(CHELA_PERM_WRITE, 1, "write")                                                                \
    X(CHELA_PERM_READ, 2, "read")

/* When the changes of a run become real (docs/review.md). */
#define CHELA_APPLY_VALUES(X)                                                                      \
    X(CHELA_APPLY_EACH, 0, "each") /* at once */                                                   \
    X(CHELA_APPLY_REVIEW, 1, "review") /* when a person accepts them (chela_review) */             \
    X(CHELA_APPLY_NEVER, 2, "never") /* never: the result is a patch */

/* What chela_review does with the changes of a session. */
#define CHELA_REVIEW_VALUES(X)                                                                     \
    X(CHELA_REVIEW_SHOW, 0, "show")                                                                \
    X(CHELA_REVIEW_APPLY, 1, "apply") /* make them real */                                         \
    X(CHELA_REVIEW_DISCARD, 2, "discard")

/* The answer to a call that needs consent (chela_session_approve, hook `approve`).
 * `reason` is the text that is passed with the decision. */
#define CHELA_DECISION_VALUES(X)                                                                   \
    X(CHELA_UNDECIDED, 0, "undecided")                                                             \
    X(CHELA_DENY, 1, "deny") /* do not run the call; the model gets `reason` */                    \
    X(CHELA_ALLOW_ONCE, 2, "allow-once") /* run the call as shown */                               \
    X(CHELA_ALLOW_ALWAYS, 3, "allow-always") /* also identical calls of this session */            \
    X(CHELA_EDIT, 4, "edit") /* run the call with `reason` as its arguments */                     \
    X(CHELA_ANSWER, 5, "answer") /* do not run the call; `reason` is its result */                 \
    X(CHELA_TAKE_OVER, 6, "take-over") /* end the run with `reason` as its answer */

/* How much of the sandbox a program needs (docs/policy.md). */
#define CHELA_SANDBOX_MODE_VALUES(X)                                                               \
    X(CHELA_SANDBOX_DEFAULT, 0, "default") /* AUTO */                                              \
    X(CHELA_SANDBOX_AUTO, 1, "auto") /* the layers that work here; a warning names the rest */     \
    X(CHELA_SANDBOX_REQUIRED, 2, "required") /* all layers; otherwise the program is not run */    \
    X(CHELA_SANDBOX_OFF, 3, "off") /* no sandbox */

/* The network of a program in the sandbox. */
#define CHELA_NETWORK_VALUES(X)                                                                    \
    X(CHELA_NETWORK_DEFAULT, 0, "default") /* the hosts that somebody has allowed */               \
    X(CHELA_NETWORK_NONE, 1, "none") /* no host, and no question about one */                      \
    X(CHELA_NETWORK_HOST, 2, "host") /* the network of the machine */

/* How the model acts in mode heartbeat. */
#define CHELA_PROTOCOL_VALUES(X)                                                                   \
    X(CHELA_PROTOCOL_DEFAULT, 0, "default") /* NATIVE */                                           \
    X(CHELA_PROTOCOL_NATIVE, 1, "native") /* by tool calls */                                      \
    X(CHELA_PROTOCOL_TEXT, 2, "text") /* the model answers with a JSON object in its text */

/* What happens to chat lines that arrive during a turn in mode heartbeat. */
#define CHELA_BUSY_VALUES(X)                                                                       \
    X(CHELA_BUSY_DEFAULT, 0, "default") /* WAIT */                                                 \
    X(CHELA_BUSY_WAIT, 1, "wait") /* they cause another turn */                                    \
    X(CHELA_BUSY_SKIP, 2, "skip") /* only lines that ask for an answer cause a turn */

/* Who may write to an agent through a channel. */
#define CHELA_ACCESS_VALUES(X)                                                                     \
    X(CHELA_ACCESS_DEFAULT, 0, "default") /* ALLOWLIST */                                          \
    X(CHELA_ACCESS_ALLOWLIST, 1, "allowlist") /* the people or groups in the list */               \
    X(CHELA_ACCESS_OPEN, 2, "open") /* everybody */                                                \
    X(CHELA_ACCESS_OFF, 3, "off") /* nobody */                                                     \
    X(CHELA_ACCESS_PAIRING, 4, "pairing") /* direct chats: people who were approved */

/* Which messages of a group chat share a session. */
#define CHELA_GROUP_SESSION_VALUES(X)                                                              \
    X(CHELA_GROUP_SESSION_DEFAULT, 0, "default") /* TOPIC */                                       \
    X(CHELA_GROUP_SESSION_TOPIC, 1, "topic") /* all messages of a topic */                         \
    X(CHELA_GROUP_SESSION_CHAT, 2, "chat") /* all messages of the chat */                          \
    X(CHELA_GROUP_SESSION_SENDER, 3, "sender") /* all messages of one sender */

/* How events of a chat service arrive. */
#define CHELA_TRANSPORT_VALUES(X)                                                                  \
    X(CHELA_TRANSPORT_DEFAULT, 0, "default") /* WEBHOOK */                                         \
    X(CHELA_TRANSPORT_WEBHOOK, 1, "webhook") /* the service sends requests to the gateway */       \
    X(CHELA_TRANSPORT_WEBSOCKET, 2, "websocket") /* the gateway connects to the service */

/* What happens to the times of a schedule that passed while no program ran. */
#define CHELA_MISSED_VALUES(X)                                                                     \
    X(CHELA_MISSED_DEFAULT, 0, "default") /* ONCE */                                               \
    X(CHELA_MISSED_ONCE, 1, "once") /* one run for all of them */                                  \
    X(CHELA_MISSED_SKIP, 2, "skip") /* no run */                                                   \
    X(CHELA_MISSED_ALL, 3, "all") /* one run for each */

/* What may be lost when the machine loses power. */
#define CHELA_DURABILITY_VALUES(X)                                                                 \
    X(CHELA_DURABILITY_DEFAULT, 0, "default") /* FULL */                                           \
    X(CHELA_DURABILITY_FULL, 1, "full") /* nothing that was accepted or started */                 \
    X(CHELA_DURABILITY_TURN, 2, "turn") /* the run in progress */

/* The state of a session. */
#define CHELA_SESSION_STATUS_VALUES(X)                                                             \
    X(CHELA_SESSION_IDLE, 0, "idle")                                                               \
    X(CHELA_SESSION_RUNNING, 1, "running") /* also if the process of the run has died */           \
    X(CHELA_SESSION_PAUSED, 2, "paused") /* the run waits for a person or the host */              \
    X(CHELA_SESSION_PARKED, 3, "parked") /* resumed too often; `insist` resumes it */

/* The language in which people are told about their runs. */
#define CHELA_LANGUAGE_VALUES(X)                                                                   \
    X(CHELA_LANGUAGE_AUTO, 0, "auto") /* the language of the person's last message */              \
    X(CHELA_LANGUAGE_EN, 1, "en") /* English */                                                    \
    X(CHELA_LANGUAGE_ZH, 2, "zh") /* Chinese */

/* The state of a run: in progress, or how the run ended. */
#define CHELA_STATUS_VALUES(X)                                                                     \
    X(CHELA_STATUS_RUNNING, 0, "running")                                                          \
    X(CHELA_STATUS_DONE, 1, "done")                                                                \
    X(CHELA_STATUS_STOPPED, 2, "stopped") /* at a limit, or by the loop guard */                   \
    X(CHELA_STATUS_ERROR, 3, "error")                                                              \
    X(CHELA_STATUS_CANCELLED, 4, "cancelled")                                                      \
    X(CHELA_STATUS_PAUSED, 5, "paused") /* chela_run_resume continues the run */                   \
    X(CHELA_STATUS_DECLINED, 6, "declined") /* refused, or handed back to a person */

/* Why a run ended. DESIGN.md lists the status of each reason. */
#define CHELA_REASON_VALUES(X)                                                                     \
    X(CHELA_REASON_NONE, 0, "none") /* the run has not ended */                                    \
    X(CHELA_REASON_COMPLETED, 1, "task_completed")                                                 \
    X(CHELA_REASON_REFUSED, 2, "refused") /* by the model, or by the service's filter */           \
    X(CHELA_REASON_LENGTH, 3, "length") /* the answer reached its token limit */                   \
    X(CHELA_REASON_MAX_TURNS, 4, "max_turns_exceeded")                                             \
    X(CHELA_REASON_MAX_TOOL_CALLS, 5, "max_tool_calls_exceeded")                                   \
    X(CHELA_REASON_TOKEN_BUDGET, 6, "token_budget_exceeded")                                       \
    X(CHELA_REASON_COST_BUDGET, 7, "cost_budget_exceeded")                                         \
    X(CHELA_REASON_DEADLINE, 8, "deadline_exceeded")                                               \
    X(CHELA_REASON_TOO_MANY_ERRORS, 9, "too_many_errors") /* in consecutive tool calls */          \
    X(CHELA_REASON_LOOP, 10, "loop_detected") /* the run repeated itself */                        \
    X(CHELA_REASON_CONTEXT_OVERFLOW, 11, "context_overflow")                                       \
    X(CHELA_REASON_MODEL_ERROR, 12, "model_error")                                                 \
    X(CHELA_REASON_STORE, 13, "store_error")                                                       \
    X(CHELA_REASON_INTERNAL, 14, "internal_error")                                                 \
    X(CHELA_REASON_CANCELLED, 15, "cancelled")                                                     \
    X(CHELA_REASON_APPROVAL, 16, "approval_required")                                              \
    X(CHELA_REASON_CLIENT_TOOL, 17, "client_tool_required")                                        \
    X(CHELA_REASON_HUMAN, 18, "human_required")                                                    \
    X(CHELA_REASON_INTERRUPTED, 19, "interrupted") /* stopped by chela_run_leave */                \
    X(CHELA_REASON_TIMER, 20, "timer_pending") /* a gateway resumes the run at its time */         \
    X(CHELA_REASON_ESCALATED, 21, "escalated") /* a person has to decide how to go on */           \
    X(CHELA_REASON_CLARIFICATION, 22, "clarification") /* the answer is a question back */

/* The states of a run's state machine (event STATE). */
#define CHELA_STATE_VALUES(X)                                                                      \
    X(CHELA_STATE_OBSERVE, 0, "OBSERVE") /* take the next input */                                 \
    X(CHELA_STATE_THINK, 1, "THINK") /* call the model */                                          \
    X(CHELA_STATE_ACT, 2, "ACT") /* run tool calls */                                              \
    X(CHELA_STATE_REFLECT, 3, "REFLECT") /* judge results */                                       \
    X(CHELA_STATE_WAITING, 4, "WAITING") /* wait for a person or the host */                       \
    X(CHELA_STATE_DONE, 5, "DONE")                                                                 \
    X(CHELA_STATE_ERROR, 6, "ERROR")                                                               \
    X(CHELA_STATE_DECLINED, 7, "DECLINED")

/* Why a reply of a model ended. */
#define CHELA_STOP_VALUES(X)                                                                       \
    X(CHELA_STOP_NONE, 0, "none") /* the reply has not ended */                                    \
    X(CHELA_STOP_STOP, 1, "stop") /* the reply is complete */                                      \
    X(CHELA_STOP_LENGTH, 2, "length") /* token limit */                                            \
    X(CHELA_STOP_TOOL_USE, 3, "tool_use") /* the model called tools */                             \
    X(CHELA_STOP_REFUSAL, 4, "refusal")                                                            \
    X(CHELA_STOP_PAUSE, 5, "pause") /* the service asks for another request */                     \
    X(CHELA_STOP_ERROR, 6, "error")                                                                \
    X(CHELA_STOP_CANCELLED, 7, "cancelled")

/* How a conversation was shortened (event COMPACTION). */
#define CHELA_COMPACTED_VALUES(X)                                                                  \
    X(CHELA_COMPACTED_PRUNE, 0, "prune") /* old tool results were shortened */                     \
    X(CHELA_COMPACTED_SUMMARY, 1, "summary") /* a model summarised old messages */                 \
    X(CHELA_COMPACTED_RETAIN, 2, "retain") /* shortened without a model */                         \
    X(CHELA_COMPACTED_CUT, 3, "cut") /* old messages were removed */                               \
    X(CHELA_COMPACTED_SERVICE, 4, "service") /* the model's service condensed it */

/* The verdict of a reflection (docs/modes.md). */
#define CHELA_JUDGEMENT_VALUES(X)                                                                  \
    X(CHELA_JUDGEMENT_ACCEPT, 0, "accept")                                                         \
    X(CHELA_JUDGEMENT_RETRY_STEP, 1, "retry_step")                                                 \
    X(CHELA_JUDGEMENT_REPLAN, 2, "replan")                                                         \
    X(CHELA_JUDGEMENT_ESCALATE, 3, "escalate") /* ask a person */

/* The protocol versions that an MCP client uses (docs/mcp.md). */
#define CHELA_MCP_ERA_VALUES(X)                                                                    \
    X(CHELA_MCP_ERA_DEFAULT, 0, "default") /* AUTO */                                              \
    X(CHELA_MCP_ERA_AUTO, 1, "auto") /* try 2026-07-28, then the older versions */                 \
    X(CHELA_MCP_ERA_MODERN, 2, "modern") /* 2026-07-28 */                                          \
    X(CHELA_MCP_ERA_LEGACY, 3, "legacy") /* versions with a handshake, up to 2025-11-25 */

/* The severity of a log line of an MCP server. */
#define CHELA_MCP_LEVEL_VALUES(X)                                                                  \
    X(CHELA_MCP_DEBUG, 0, "debug")                                                                 \
    X(CHELA_MCP_INFO, 1, "info")                                                                   \
    X(CHELA_MCP_NOTICE, 2, "notice")                                                               \
    X(CHELA_MCP_WARNING, 3, "warning")                                                             \
    X(CHELA_MCP_ERROR, 4, "error")                                                                 \
    X(CHELA_MCP_CRITICAL, 5, "critical")                                                           \
    X(CHELA_MCP_ALERT, 6, "alert")                                                                 \
    X(CHELA_MCP_EMERGENCY, 7, "emergency")

/* All sets: X(set, value, type, "word for messages", values). */
#define CHELA_CHOICES(X)                                                                           \
    X(MODE, 0, chela_mode, "mode", CHELA_MODE_VALUES)                                              \
    X(APPROVE, 1, chela_approve, "approve", CHELA_APPROVE_VALUES)                                  \
    X(SELECTION, 2, chela_selection, "selection", CHELA_SELECTION_VALUES)                          \
    X(PROMPT_STYLE, 3, chela_prompt_style, "prompt", CHELA_PROMPT_STYLE_VALUES)                    \
    X(COMPACTION, 4, chela_compaction, "compaction", CHELA_COMPACTION_VALUES)                      \
    X(REFLECTION, 5, chela_reflection, "reflection", CHELA_REFLECTION_VALUES)                      \
    X(OUTPUT_BY, 6, chela_output_by, "output_by", CHELA_OUTPUT_BY_VALUES)                          \
    X(REASONING, 7, chela_reasoning, "reasoning", CHELA_REASONING_VALUES)                          \
    X(CACHE, 8, chela_cache, "cache", CHELA_CACHE_VALUES)                                          \
    X(QUEUE_MODE, 9, chela_queue_mode, "queue mode", CHELA_QUEUE_MODE_VALUES)                      \
    X(OVERFLOW, 10, chela_overflow, "queue overflow", CHELA_OVERFLOW_VALUES)                       \
    X(EFFECT, 11, chela_effect, "effect", CHELA_EFFECT_VALUES)                                     \
    X(PERMISSION, 12, chela_permission, "permission", CHELA_PERMISSION_VALUES)                     \
    X(DECISION, 13, chela_decision, "decision", CHELA_DECISION_VALUES)                             \
    X(SANDBOX_MODE, 14, chela_sandbox_mode, "sandbox mode", CHELA_SANDBOX_MODE_VALUES)             \
    X(NETWORK, 15, chela_network, "sandbox network", CHELA_NETWORK_VALUES)                         \
    X(PROTOCOL, 16, chela_protocol, "heartbeat protocol", CHELA_PROTOCOL_VALUES)                   \
    X(BUSY, 17, chela_busy, "heartbeat busy", CHELA_BUSY_VALUES)                                   \
    X(ACCESS, 18, chela_access, "access policy", CHELA_ACCESS_VALUES)                              \
    X(GROUP_SESSION, 19, chela_group_session, "group session", CHELA_GROUP_SESSION_VALUES)         \
    X(TRANSPORT, 20, chela_transport, "channel mode", CHELA_TRANSPORT_VALUES)                      \
    X(MISSED, 21, chela_missed, "missed", CHELA_MISSED_VALUES)                                     \
    X(DURABILITY, 22, chela_durability, "durability", CHELA_DURABILITY_VALUES)                     \
    X(SESSION_STATUS, 23, chela_session_status, "session status", CHELA_SESSION_STATUS_VALUES)     \
    X(STATUS, 24, chela_status, "status", CHELA_STATUS_VALUES)                                     \
    X(REASON, 25, chela_reason, "reason", CHELA_REASON_VALUES)                                     \
    X(STATE, 26, chela_state, "state", CHELA_STATE_VALUES)                                         \
    X(STOP, 27, chela_stop, "stop reason", CHELA_STOP_VALUES)                                      \
    X(COMPACTED, 28, chela_compacted, "strategy", CHELA_COMPACTED_VALUES)                          \
    X(JUDGEMENT, 29, chela_judgement, "action", CHELA_JUDGEMENT_VALUES)                            \
    X(MCP_ERA, 30, chela_mcp_era, "MCP era", CHELA_MCP_ERA_VALUES)                                 \
    X(MCP_LEVEL, 31, chela_mcp_level, "log level", CHELA_MCP_LEVEL_VALUES)                         \
    X(LANGUAGE, 32, chela_language, "language", CHELA_LANGUAGE_VALUES)                             \
    X(COMPACTION_BY, 33, chela_compaction_by, "compaction by", CHELA_COMPACTION_BY_VALUES)         \
    X(APPLY, 34, chela_apply, "apply", CHELA_APPLY_VALUES)                                         \
    X(REVIEW, 35, chela_review_action, "review", CHELA_REVIEW_VALUES)

#define CHELA_CHOICE_VALUE(name, value, text) name = value,
#define CHELA_CHOICE_ENUM(set, value, type, noun, values) \
    enum type { values(CHELA_CHOICE_VALUE) };
CHELA_CHOICES(CHELA_CHOICE_ENUM)
#undef CHELA_CHOICE_ENUM

/* The sets as constants, for chela_choice_name and chela_choice_read. */
enum chela_choice {
#define CHELA_CHOICE_SET(set, value, type, noun, values) CHELA_CHOICE_##set = value,
    CHELA_CHOICES(CHELA_CHOICE_SET)
#undef CHELA_CHOICE_SET
};

/* The name of a value of a set; "?" for a value that this library does not have. */
CHELA_API const char *chela_choice_name(enum chela_choice set, int value);

/* Write the value of a name to *out. On failure *out is unchanged.
 * Errors: CHELA_EINVAL: the set has no such name; the message lists the names. */
CHELA_API int chela_choice_read(enum chela_choice set, const char *name, int *out,
                                struct chela_error *err);

/* The same functions with types: chela_mode_name, chela_mode_read, and so on. */
#define CHELA_CHOICE_FUNCTIONS(set, value, type, noun, values)                                     \
    static inline const char *type##_name(enum type choice) {                                      \
        return chela_choice_name(CHELA_CHOICE_##set, (int)choice);                                 \
    }                                                                                              \
    static inline int type##_read(const char *name, enum type *out, struct chela_error *err) {     \
        int choice = 0, rc = chela_choice_read(CHELA_CHOICE_##set, name, &choice, err);            \
        if (rc == CHELA_OK)                                                                        \
            *out = (enum type)choice;                                                              \
        return rc;                                                                                 \
    }
CHELA_CHOICES(CHELA_CHOICE_FUNCTIONS)
#undef CHELA_CHOICE_FUNCTIONS

CHELA_END_DECLS
#endif

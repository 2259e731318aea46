/* choice.h -- closed sets of values, and their names.
 *
 * Options and events use enums where the set of values is closed. Configuration
 * files, the command line and events in JSON use the names. For every type below
 * there are two functions, for instance
 *
 *     const char *chela_mode_name(enum chela_mode value);
 *     int chela_mode_read(const char *name, enum chela_mode *out, struct chela_error *err);
 *
 * The first returns the name, or "?" for a value that this library does not have.
 * The second writes *out on success; CHELA_EINVAL: err lists the known names. All
 * functions here may be called from any thread and any callback.
 *
 * A value DEFAULT, where there is one, is 0 and leaves the choice to the library.
 * Values are added at the end of a set and never change. */
#ifndef CHELA_CHOICE_H
#define CHELA_CHOICE_H
#include "chela/error.h"
CHELA_BEGIN_DECLS

/* X(enumerator, value, "name") */

/* How an agent works on a task (docs/modes.md). */
#define CHELA_MODE_VALUES(X)                                                                       \
    X(CHELA_MODE_DEFAULT, 0, "default")              /* react */                                   \
    X(CHELA_MODE_REACT, 1, "react")                  /* think, act, and so on */                   \
    X(CHELA_MODE_PLAN, 2, "plan")                    /* make a plan, carry it out */               \
    X(CHELA_MODE_ROUTE, 3, "route")              /* choose a skill, an agent or a plan first */    \
    X(CHELA_MODE_HEARTBEAT, 4, "heartbeat")          /* take part in a chat */

/* What becomes of calls that need consent. */
#define CHELA_APPROVE_VALUES(X)                                                                    \
    X(CHELA_APPROVE_DEFAULT, 0, "default")           /* ask; in a run or policy: as the agent */   \
    X(CHELA_APPROVE_ASK, 1, "ask")               /* ask the hook `approve`, then pause the run */  \
    X(CHELA_APPROVE_AUTO, 2, "auto")                 /* make them */                               \
    X(CHELA_APPROVE_DENY, 3, "deny")                 /* do not make them */

/* Which tools a request describes. */
#define CHELA_SELECTION_VALUES(X)                                                                  \
    X(CHELA_SELECTION_DEFAULT, 0, "default")         /* auto */                                    \
    X(CHELA_SELECTION_AUTO, 1, "auto") /* all up to 20 tools, topk up to 50, two_stage beyond */   \
    X(CHELA_SELECTION_ALL, 2, "all")                 /* every tool */                              \
    X(CHELA_SELECTION_TOPK, 3, "topk")               /* those that match the input best */         \
    X(CHELA_SELECTION_TWO_STAGE, 4, "two_stage")     /* those that the model picks by summary */   \
    X(CHELA_SELECTION_SEARCH, 5, "search")           /* those that the model searches for */

/* How much the generated system prompt says. */
#define CHELA_PROMPT_STYLE_VALUES(X)                                                               \
    X(CHELA_PROMPT_DEFAULT, 0, "default")            /* auto */                                    \
    X(CHELA_PROMPT_AUTO, 1, "auto")              /* minimal for local models and small contexts */ \
    X(CHELA_PROMPT_FULL, 2, "full")                                                                \
    X(CHELA_PROMPT_MINIMAL, 3, "minimal")            /* 1,500 characters at most */

/* What happens when a conversation no longer fits the context. */
#define CHELA_COMPACTION_VALUES(X)                                                                 \
    X(CHELA_COMPACTION_DEFAULT, 0, "default")        /* summary */                                 \
    X(CHELA_COMPACTION_SUMMARY, 1, "summary")        /* prune results, then a model summarises */  \
    X(CHELA_COMPACTION_RETAIN, 2, "retain")          /* prune and cut, without a model */          \
    X(CHELA_COMPACTION_OFF, 3, "off")                /* nothing: such a run fails */

/* What a model call of its own judges. */
#define CHELA_REFLECTION_VALUES(X)                                                                 \
    X(CHELA_REFLECTION_DEFAULT, 0, "default")        /* the results of plans */                    \
    X(CHELA_REFLECTION_IMPLICIT, 1, "implicit")      /* nothing */                                 \
    X(CHELA_REFLECTION_ON_ERROR, 2, "on_error")      /* also results with an error among them */   \
    X(CHELA_REFLECTION_EXPLICIT, 3, "explicit")      /* also every answer */

/* How a model is told the schema of the final answer. */
#define CHELA_OUTPUT_BY_VALUES(X)                                                                  \
    X(CHELA_OUTPUT_BY_DEFAULT, 0, "default")         /* auto */                                    \
    X(CHELA_OUTPUT_BY_AUTO, 1, "auto")               /* the best way that the model has */         \
    X(CHELA_OUTPUT_BY_NATIVE, 2, "native")           /* by the service */                          \
    X(CHELA_OUTPUT_BY_TOOL, 3, "tool")               /* by a tool that ends the run */             \
    X(CHELA_OUTPUT_BY_PROMPT, 4, "prompt")           /* by the prompt */

/* How much a model reasons before it answers. */
#define CHELA_REASONING_VALUES(X)                                                                  \
    X(CHELA_REASONING_DEFAULT, 0, "default")         /* as the service has it */                   \
    X(CHELA_REASONING_OFF, 1, "off")                                                               \
    X(CHELA_REASONING_LOW, 2, "low")                                                               \
    X(CHELA_REASONING_MEDIUM, 3, "medium")                                                         \
    X(CHELA_REASONING_HIGH, 4, "high")

/* How long the service caches the prompt. */
#define CHELA_CACHE_VALUES(X)                                                                      \
    X(CHELA_CACHE_SHORT, 0, "5m") /* minutes, as services do by themselves or when asked */        \
    X(CHELA_CACHE_OFF, 1, "off")                                                                   \
    X(CHELA_CACHE_LONG, 2, "1h") /* an hour, where the service has that; dearer to fill */

/* What becomes of messages that arrive during a run (chela_session_send). */
#define CHELA_QUEUE_MODE_VALUES(X)                                                                 \
    X(CHELA_QUEUE_STEER, 0, "steer")                 /* delivered before the next model call */    \
    X(CHELA_QUEUE_FOLLOW_UP, 1, "follow_up")         /* one by one, when the run would end */      \
    X(CHELA_QUEUE_COLLECT, 2, "collect")         /* together, as one run, once there is quiet */   \
    X(CHELA_QUEUE_INTERRUPT, 3, "interrupt")         /* the run is cancelled, another begins */

/* What becomes of a message that the queue has no room for. */
#define CHELA_OVERFLOW_VALUES(X)                                                                   \
    X(CHELA_OVERFLOW_REFUSE, 0, "refuse")            /* CHELA_ELIMIT: the sender knows */          \
    X(CHELA_OVERFLOW_DROP_OLDEST, 1, "drop_oldest")  /* the model is told how many are missing */

/* Whether a retry or a restart may run a call again. */
#define CHELA_EFFECT_VALUES(X)                                                                     \
    X(CHELA_EFFECT_ONCE, 0, "once")                  /* never run twice (the safe default) */      \
    X(CHELA_EFFECT_KEYED, 1, "keyed")                /* yes, with the same chela_call_key() */     \
    X(CHELA_EFFECT_READ, 2, "read")                  /* yes, it changes nothing */

/* What a tool needs, or an agent grants. */
#define CHELA_PERMISSION_VALUES(X)                                                                 \
    X(CHELA_PERM_ADMIN, 0, "admin")                  /* undeclared counts as admin */              \
    X(CHELA_PERM_WRITE, 1, "write")                                                                \
    X(CHELA_PERM_READ, 2, "read")

/* The answer of a person, or of a host in their name, to a call that needs
 * consent (chela_session_approve, and the hook `approve`). `reason` is the text
 * that comes with it. */
#define CHELA_DECISION_VALUES(X)                                                                   \
    X(CHELA_UNDECIDED, 0, "undecided")                                                             \
    X(CHELA_DENY, 1, "deny")                         /* not made; the model is told the reason */  \
    X(CHELA_ALLOW_ONCE, 2, "allow-once")             /* made exactly as it was shown */            \
    X(CHELA_ALLOW_ALWAYS, 3, "allow-always")         /* and the same call again in this session */ \
    X(CHELA_EDIT, 4, "edit")                         /* made with `reason` as its arguments */     \
    X(CHELA_ANSWER, 5, "answer")                     /* not made: `reason` is its result */        \
    X(CHELA_TAKE_OVER, 6, "take-over")           /* none is made: the run ends with `reason` */

/* How much of a sandbox a program needs. */
#define CHELA_SANDBOX_MODE_VALUES(X)                                                               \
    X(CHELA_SANDBOX_DEFAULT, 0, "default")           /* auto */                                    \
    X(CHELA_SANDBOX_AUTO, 1, "auto") /* the layers that work here; a warning names the others */   \
    X(CHELA_SANDBOX_REQUIRED, 2, "required")         /* all layers, or the program is not run */   \
    X(CHELA_SANDBOX_OFF, 3, "off")                   /* none */

/* The network that a program in the sandbox sees. */
#define CHELA_NETWORK_VALUES(X)                                                                    \
    X(CHELA_NETWORK_DEFAULT, 0, "default")           /* none */                                    \
    X(CHELA_NETWORK_NONE, 1, "none")                                                               \
    X(CHELA_NETWORK_HOST, 2, "host")

/* How the model of a companion acts. */
#define CHELA_PROTOCOL_VALUES(X)                                                                   \
    X(CHELA_PROTOCOL_DEFAULT, 0, "default")          /* native */                                  \
    X(CHELA_PROTOCOL_NATIVE, 1, "native")            /* by tool calls */                           \
    X(CHELA_PROTOCOL_TEXT, 2, "text")                /* by a JSON object, which chela parses */

/* What becomes of lines that arrive during a turn of a companion. */
#define CHELA_BUSY_VALUES(X)                                                                       \
    X(CHELA_BUSY_DEFAULT, 0, "default")              /* wait */                                    \
    X(CHELA_BUSY_WAIT, 1, "wait")                    /* they cause a turn of their own */          \
    X(CHELA_BUSY_SKIP, 2, "skip")                    /* only those that ask for an answer do */

/* Who may write to an agent through a channel. */
#define CHELA_ACCESS_VALUES(X)                                                                     \
    X(CHELA_ACCESS_DEFAULT, 0, "default")            /* allowlist */                               \
    X(CHELA_ACCESS_ALLOWLIST, 1, "allowlist")        /* those that are listed */                   \
    X(CHELA_ACCESS_OPEN, 2, "open")                  /* everybody */                               \
    X(CHELA_ACCESS_OFF, 3, "off")                    /* nobody */                                  \
    X(CHELA_ACCESS_PAIRING, 4, "pairing") /* direct chats: those who were approved (pairing.h) */

/* Who shares a session in a group chat. */
#define CHELA_GROUP_SESSION_VALUES(X)                                                              \
    X(CHELA_GROUP_SESSION_DEFAULT, 0, "default")     /* topic */                                   \
    X(CHELA_GROUP_SESSION_TOPIC, 1, "topic")         /* all messages of a topic */                 \
    X(CHELA_GROUP_SESSION_CHAT, 2, "chat")           /* all messages of the chat */                \
    X(CHELA_GROUP_SESSION_SENDER, 3, "sender")       /* those of one sender */

/* How events of a chat service arrive. */
#define CHELA_TRANSPORT_VALUES(X)                                                                  \
    X(CHELA_TRANSPORT_DEFAULT, 0, "default")         /* webhook */                                 \
    X(CHELA_TRANSPORT_WEBHOOK, 1, "webhook")         /* the service calls the gateway */           \
    X(CHELA_TRANSPORT_WEBSOCKET, 2, "websocket")     /* the gateway connects to the service */

/* What happens to times of a schedule at which no program ran. */
#define CHELA_MISSED_VALUES(X)                                                                     \
    X(CHELA_MISSED_DEFAULT, 0, "default")            /* once */                                    \
    X(CHELA_MISSED_ONCE, 1, "once")                  /* one run makes up for all */                \
    X(CHELA_MISSED_SKIP, 2, "skip")                  /* they are skipped */                        \
    X(CHELA_MISSED_ALL, 3, "all")                    /* one run for each */

/* What a loss of power may take. */
#define CHELA_DURABILITY_VALUES(X)                                                                 \
    X(CHELA_DURABILITY_DEFAULT, 0, "default")        /* full */                                    \
    X(CHELA_DURABILITY_FULL, 1, "full")              /* nothing that was accepted or begun */      \
    X(CHELA_DURABILITY_TURN, 2, "turn")              /* the run in progress */

/* What a session is doing. */
#define CHELA_SESSION_STATUS_VALUES(X)                                                             \
    X(CHELA_SESSION_IDLE, 0, "idle")                                                               \
    X(CHELA_SESSION_RUNNING, 1, "running")           /* also if the process that ran it is gone */ \
    X(CHELA_SESSION_PAUSED, 2, "paused")             /* a person or the host has to answer */      \
    X(CHELA_SESSION_PARKED, 3, "parked")         /* it was resumed too often: needs `insist` */

/* How a run ended, or that it did not. */
#define CHELA_STATUS_VALUES(X)                                                                     \
    X(CHELA_STATUS_RUNNING, 0, "running")                                                          \
    X(CHELA_STATUS_DONE, 1, "done")                                                                \
    X(CHELA_STATUS_STOPPED, 2, "stopped")            /* by a limit or the loop guard */            \
    X(CHELA_STATUS_ERROR, 3, "error")                                                              \
    X(CHELA_STATUS_CANCELLED, 4, "cancelled")                                                      \
    X(CHELA_STATUS_PAUSED, 5, "paused")              /* chela_run_resume continues it */

/* Why a run ended; DESIGN.md has the table with the statuses. */
#define CHELA_REASON_VALUES(X)                                                                     \
    X(CHELA_REASON_NONE, 0, "none")                  /* it has not ended */                        \
    X(CHELA_REASON_COMPLETED, 1, "task_completed")                                                 \
    X(CHELA_REASON_REFUSED, 2, "refused")            /* by the model */                            \
    X(CHELA_REASON_LENGTH, 3, "length")              /* the answer reached its limit of tokens */  \
    X(CHELA_REASON_MAX_TURNS, 4, "max_turns_exceeded")                                             \
    X(CHELA_REASON_MAX_TOOL_CALLS, 5, "max_tool_calls_exceeded")                                   \
    X(CHELA_REASON_TOKEN_BUDGET, 6, "token_budget_exceeded")                                       \
    X(CHELA_REASON_COST_BUDGET, 7, "cost_budget_exceeded")                                         \
    X(CHELA_REASON_DEADLINE, 8, "deadline_exceeded")                                               \
    X(CHELA_REASON_TOO_MANY_ERRORS, 9, "too_many_errors")                                          \
    X(CHELA_REASON_LOOP, 10, "loop_detected")                                                      \
    X(CHELA_REASON_CONTEXT_OVERFLOW, 11, "context_overflow")                                       \
    X(CHELA_REASON_MODEL_ERROR, 12, "model_error")                                                 \
    X(CHELA_REASON_STORE, 13, "store_error")                                                       \
    X(CHELA_REASON_INTERNAL, 14, "internal_error")                                                 \
    X(CHELA_REASON_CANCELLED, 15, "cancelled")                                                     \
    X(CHELA_REASON_APPROVAL, 16, "approval_required")                                              \
    X(CHELA_REASON_CLIENT_TOOL, 17, "client_tool_required")                                        \
    X(CHELA_REASON_HUMAN, 18, "human_required")                                                    \
    X(CHELA_REASON_INTERRUPTED, 19, "interrupted")   /* by chela_run_leave */

/* The states of a run. */
#define CHELA_STATE_VALUES(X)                                                                      \
    X(CHELA_STATE_OBSERVE, 0, "OBSERVE")                                                           \
    X(CHELA_STATE_THINK, 1, "THINK")                 /* a model call */                            \
    X(CHELA_STATE_ACT, 2, "ACT")                     /* tool calls */                              \
    X(CHELA_STATE_REFLECT, 3, "REFLECT")                                                           \
    X(CHELA_STATE_WAITING, 4, "WAITING")             /* for a person or the host */                \
    X(CHELA_STATE_DONE, 5, "DONE")                                                                 \
    X(CHELA_STATE_ERROR, 6, "ERROR")

/* Why a reply of a model ended. */
#define CHELA_STOP_VALUES(X)                                                                       \
    X(CHELA_STOP_NONE, 0, "none")                    /* it has not */                              \
    X(CHELA_STOP_STOP, 1, "stop")                                                                  \
    X(CHELA_STOP_LENGTH, 2, "length")                                                              \
    X(CHELA_STOP_TOOL_USE, 3, "tool_use")                                                          \
    X(CHELA_STOP_REFUSAL, 4, "refusal")                                                            \
    X(CHELA_STOP_PAUSE, 5, "pause")                                                                \
    X(CHELA_STOP_ERROR, 6, "error")                                                                \
    X(CHELA_STOP_CANCELLED, 7, "cancelled")

/* How a conversation was made shorter. */
#define CHELA_COMPACTED_VALUES(X)                                                                  \
    X(CHELA_COMPACTED_PRUNE, 0, "prune")             /* old results were shortened */              \
    X(CHELA_COMPACTED_SUMMARY, 1, "summary")         /* by a model */                              \
    X(CHELA_COMPACTED_RETAIN, 2, "retain")           /* without a model */                         \
    X(CHELA_COMPACTED_CUT, 3, "cut")                 /* old messages were left out */

/* What follows from a judgement (docs/modes.md). */
#define CHELA_JUDGEMENT_VALUES(X)                                                                  \
    X(CHELA_JUDGEMENT_ACCEPT, 0, "accept")                                                         \
    X(CHELA_JUDGEMENT_RETRY_STEP, 1, "retry_step")                                                 \
    X(CHELA_JUDGEMENT_REPLAN, 2, "replan")                                                         \
    X(CHELA_JUDGEMENT_ESCALATE, 3, "escalate")       /* a person is asked */

/* X(set, value, type, "what it is", values) */
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
    X(JUDGEMENT, 29, chela_judgement, "action", CHELA_JUDGEMENT_VALUES)

#define CHELA_CHOICE_VALUE(name, value, text) name = value,
#define CHELA_CHOICE_ENUM(set, value, type, noun, values) \
    enum type { values(CHELA_CHOICE_VALUE) };
CHELA_CHOICES(CHELA_CHOICE_ENUM)
#undef CHELA_CHOICE_ENUM

/* The sets. */
enum chela_choice {
#define CHELA_CHOICE_SET(set, value, type, noun, values) CHELA_CHOICE_##set = value,
    CHELA_CHOICES(CHELA_CHOICE_SET)
#undef CHELA_CHOICE_SET
};

/* The name of a value of a set; "?": there is no such value. */
CHELA_API const char *chela_choice_name(enum chela_choice set, int value);

/* The value of a name. CHELA_EINVAL: there is no such name, and err lists those of
 * the set. */
CHELA_API int chela_choice_read(enum chela_choice set, const char *name, int *out,
                                struct chela_error *err);

/* The same with types: chela_mode_name, chela_mode_read, and so on. */
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

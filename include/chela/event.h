/* event.h -- everything that happens in a run, in order.
 *
 * One stream of events is the only output of a run: the command line, the
 * gateway and your callback see the same. `seq` starts at 0 and has no gaps;
 * exactly one CHELA_EV_RUN_END is the last event of every run. A run that
 * paused and is resumed later continues its `seq` with another RUN_START. If it
 * was cut off, how much it told is not known: that RUN_START leaps past all
 * numbers it may have used, so that none means two events. */
#ifndef CHELA_EVENT_H
#define CHELA_EVENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chela/choice.h"
#include "chela/error.h"
CHELA_BEGIN_DECLS

typedef struct chela_run chela_run;

/* Borrowed text: n bytes at p, UTF-8, not necessarily NUL-terminated. */
struct chela_str {
    const char *p;
    size_t n;
};

/* X(enum name, value, "type" on the wire, union member that is set) */
#define CHELA_EVENTS(X)                                                                            \
    X(RUN_START, 0, "run_start", start)                                                            \
    X(STATE, 1, "state", state)                                                                    \
    X(TURN_START, 2, "turn_start", turn)                                                           \
    X(MODEL_REQUEST, 3, "model_request", request)                                                  \
    X(TEXT_DELTA, 4, "text_delta", delta)                                                          \
    X(REASONING_DELTA, 5, "reasoning_delta", delta)                                                \
    X(TOOL_CALL_DELTA, 6, "tool_call_delta", call)                                                 \
    X(TOOL_CALL, 7, "tool_call", call)                                                             \
    X(TOOL_START, 8, "tool_start", call)                                                           \
    X(TOOL_PROGRESS, 9, "tool_progress", note)                                                     \
    X(TOOL_RESULT, 10, "tool_result", result)                                                      \
    X(APPROVAL_REQUIRED, 11, "approval_required", approval)                                        \
    X(CLIENT_TOOL_REQUIRED, 12, "client_tool_required", call)                                      \
    X(STEERING, 13, "steering", note)                                                              \
    X(FOLLOW_UP, 14, "follow_up", note)                                                            \
    X(SYSTEM_EVENT, 15, "system_event", note)                                                      \
    X(RETRY, 16, "retry", retry)                                                                   \
    X(FALLBACK, 17, "fallback", fallback)                                                          \
    X(COMPACTION, 18, "compaction", compaction)                                                    \
    X(WARNING, 19, "warning", note)                                                                \
    X(PLAN, 20, "plan", plan)                                                                      \
    X(REFLECTION, 21, "reflection", reflection)                                                    \
    X(BEAT, 22, "beat", beat)                                                                      \
    X(TURN_END, 23, "turn_end", turn)                                                              \
    X(RUN_END, 24, "run_end", end)                                                                 \
    X(CHILD, 25, "child", child)                                                                   \
    X(HANDOFF, 26, "handoff", fallback)

enum chela_event_type {
#define CHELA_EVENT_ENUM(name, value, text, member) CHELA_EV_##name = value,
    CHELA_EVENTS(CHELA_EVENT_ENUM)
#undef CHELA_EVENT_ENUM
};

struct chela_usage {
    int64_t input;  /* tokens sent, cached ones included */
    int64_t output; /* tokens produced, reasoning included */
    int64_t cache_read, cache_write, reasoning;
    double cost_usd; /* negative: unknown */
};

struct chela_event {
    enum chela_event_type type;
    const char *run; /* run id */
    uint64_t seq;
    int64_t ts; /* milliseconds since the epoch */
    union {
        struct {
            const char *session, *agent, *model;
            enum chela_mode mode;
            const char *prompt; /* fingerprint of what the model is told: "NAME@VERSION#..." */
        } start;
        struct {
            enum chela_state from, to;
        } state;
        struct {
            unsigned turn;               /* from 1 */
            enum chela_stop stop_reason; /* TURN_END only */
            struct chela_usage usage;
        } turn;
        struct {
            unsigned turn;
            const char *model;
            size_t messages, tools, bytes;
            const char *role; /* planner, router, ...; NULL: the agent itself */
        } request;
        struct {
            struct chela_str text, so_far;
        } delta;
        struct {
            unsigned index; /* TOOL_CALL_DELTA: of the call in its reply */
            struct chela_str id, name, arguments; /* TOOL_CALL_DELTA: a piece */
        } call;
        struct {
            struct chela_str id, name;
            bool is_error, retryable, truncated;
            const char *error_type; /* NULL without error */
            struct chela_str content, details;
            unsigned attempts; /* 0: it was not run */
            int64_t duration_ms;
        } result;
        struct {
            struct chela_str approval_id, id, name, arguments;
            struct chela_str summary; /* for people: all that matters, safe to print */
            bool can_remember;        /* CHELA_ALLOW_ALWAYS is possible */
        } approval;
        struct {
            struct chela_str text, id; /* id: TOOL_PROGRESS */
        } note;
        struct {
            unsigned attempt;
            int64_t delay_ms;
            struct chela_str reason;
        } retry;
        struct {
            const char *from, *to; /* models; HANDOFF: agents */
            struct chela_str reason;
        } fallback;
        struct {
            enum chela_compacted strategy;
            size_t tokens_before, tokens_after; /* of the next request, estimated */
        } compaction;
        struct {
            /* JSON array of {step_id, description, tool_name, tool_input,
             * depends_on, status}: pending running done failed. Told whenever
             * one of them changes. */
            struct chela_str steps;
        } plan;
        struct {
            enum chela_judgement action;   /* what is done */
            enum chela_judgement proposed; /* what the judge would have done */
            int completeness, correctness, format; /* 1 to 5 */
            unsigned step;                         /* to do again; 0: none */
            struct chela_str note; /* what to do differently, or what is wrong */
        } reflection;
        struct {
            unsigned n;           /* of its turn, from 1 */
            double willingness;   /* what led to it; negative: nobody asked */
            enum chela_protocol protocol;
        } beat;
        struct {
            enum chela_status status;
            enum chela_reason reason;
            struct chela_str text;  /* the answer */
            struct chela_str error; /* one line, empty without error */
            unsigned turns, tool_calls;
            struct chela_usage usage;
            bool delivered; /* the text is in the conversation already, through the tool
                               `message`: do not send it once more */
            /* In a session with a channel, what the model wrote for it and what
             * was taken out of the text (docs/context.md). */
            struct chela_str reply_to; /* a message's id, or "current" */
            const struct chela_str *media; /* URLs, and paths in the workspace */
            size_t nmedia;
            bool voice;  /* audio among them is a voice message */
            bool silent; /* nothing is to be said, and that was meant */
        } end;
        struct {
            /* Something happened in a run that this one called: an agent as a tool
             * (docs/modes.md). run, seq and ts above are those of that run; as JSON
             * it is that event, with `parent` and `depth`, and its RUN_START and
             * RUN_END are child_start and child_end. */
            const struct chela_event *event;
            const char *parent; /* run that called it */
            const char *agent;  /* that it is a run of */
            const char *call;   /* id of the call */
            unsigned depth;     /* 1: called by the run that tells of it */
        } child;
    };
};

/* ev is borrowed: valid until the callback returns. Called on the loop thread,
 * never from inside the call that caused it. */
typedef void chela_event_fn(const struct chela_event *ev, void *user);

/* The name on the wire, "run_start"; "?" for a type that this library does not
 * have. */
CHELA_API const char *chela_event_name(enum chela_event_type type);

/* The event as one line of JSON without a newline; yours to chela_free. */
CHELA_API char *chela_event_json(const struct chela_event *ev);

CHELA_END_DECLS
#endif

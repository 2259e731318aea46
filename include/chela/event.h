/* event.h -- the events of a run.
 *
 * The events of a run are its only output: the command line, the gateway and the callback
 * of a program receive the same events in the same order. `seq` starts at 0 and has no
 * gaps. The last event of every run is CHELA_EV_RUN_END, exactly once. A run that is
 * resumed begins with another RUN_START and continues its `seq`. If the process died
 * during the run, the last `seq` is not known; `seq` then continues with a higher number
 * than the run can have used, so that a number never denotes two events.
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: any
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_EVENT_H
#define CHELA_EVENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chela/choice.h"
#include "chela/error.h"
CHELA_BEGIN_DECLS

typedef struct chela_run chela_run;

/* Borrowed text: n bytes of UTF-8 at p, not necessarily terminated by NUL. */
struct chela_str {
    const char *p;
    size_t n;
};

/* The events: X(name, value, "type" in JSON, union member that is set). */
#define CHELA_EVENTS(X)                                                                            \
    X(RUN_START, 0, "run_start", start) /* a run starts, or a paused run continues */              \
    X(STATE, 1, "state", state) /* the run changes its state */                                    \
    X(TURN_START, 2, "turn_start", turn) /* a turn: a model call and the calls of its reply */     \
    X(MODEL_REQUEST, 3, "model_request", request) /* a request is sent to a model */               \
    X(TEXT_DELTA, 4, "text_delta", delta) /* a piece of the answer */                              \
    X(REASONING_DELTA, 5, "reasoning_delta", delta) /* a piece of the model's reasoning */         \
    X(TOOL_CALL_DELTA, 6, "tool_call_delta", call) /* a piece of a tool call */                    \
    X(TOOL_CALL, 7, "tool_call", call) /* a complete tool call */                                  \
    X(TOOL_START, 8, "tool_start", call) /* a tool starts */                                       \
    X(TOOL_PROGRESS, 9, "tool_progress", note) /* a line of progress of a tool */                  \
    X(TOOL_RESULT, 10, "tool_result", result) /* the result of a call, one for each call */        \
    X(APPROVAL_REQUIRED, 11, "approval_required", approval) /* a call needs consent */             \
    X(CLIENT_TOOL_REQUIRED, 12, "client_tool_required", call) /* the host must run a call */       \
    X(STEERING, 13, "steering", note) /* a message is delivered before the next model call */      \
    X(FOLLOW_UP, 14, "follow_up", note) /* a message is delivered when the run would end */        \
    X(SYSTEM_EVENT, 15, "system_event", note) /* a notice for the model: a process ended */        \
    X(RETRY, 16, "retry", retry) /* a model call failed and will be repeated */                    \
    X(FALLBACK, 17, "fallback", fallback) /* a fallback model takes over */                        \
    X(COMPACTION, 18, "compaction", compaction) /* the conversation was shortened */               \
    X(WARNING, 19, "warning", note) /* for people: something does not work as configured */        \
    X(PLAN, 20, "plan", plan) /* the plan, or the status of a step, changed */                     \
    X(REFLECTION, 21, "reflection", reflection) /* a judgement of results or an answer */          \
    X(BEAT, 22, "beat", beat) /* mode heartbeat: a model call of a turn starts */                  \
    X(TURN_END, 23, "turn_end", turn) /* the reply is complete */                                  \
    X(RUN_END, 24, "run_end", end) /* the run ended or paused; the last event */                   \
    X(CHILD, 25, "child", child) /* an event of a run that this run called */                      \
    X(HANDOFF, 26, "handoff", fallback) /* another agent takes the conversation over */            \
    X(SERVER_TOOL, 27, "server_tool", server) /* the vendor ran one of its own tools */            \
    X(MEDIA, 28, "media", made) /* the model made an image or a sound */                           \
    X(BUDGET, 29, "budget", budget) /* a budget of the gateway is used up */                       \
    X(EPOCH, 30, "epoch", epoch) /* the prefix of the conversation's requests changed */

/* The types of events as constants. */
enum chela_event_type {
#define CHELA_EVENT_ENUM(name, value, text, member) CHELA_EV_##name = value,
    CHELA_EVENTS(CHELA_EVENT_ENUM)
#undef CHELA_EVENT_ENUM
};

/* Tokens and cost of model calls. */
struct chela_usage {
    int64_t input;  /* tokens sent, including cached tokens */
    int64_t output; /* tokens received, including reasoning */
    int64_t cache_read, cache_write, reasoning; /* the parts of the above */
    double cost_usd; /* negative: unknown */
};

/* An event. The callback must not change it. All pointers are borrowed until the callback
 * returns. */
struct chela_event {
    enum chela_event_type type;
    const char *run; /* id of the run */
    uint64_t seq;
    int64_t ts; /* milliseconds since 1970, UTC */
    union {
        struct {
            const char *session, *agent, *model;
            enum chela_mode mode;
            const char *prompt; /* fingerprint of the system prompt: "NAME@VERSION#..." */
        } start;
        struct {
            enum chela_state from, to;
        } state;
        struct {
            unsigned turn;               /* number of the turn, from 1 */
            enum chela_stop stop_reason; /* TURN_END only */
            struct chela_usage usage;    /* TURN_END only */
            /* TURN_END only: sources of the reply as a JSON array of {url, title, text, file,
             * start, end}, of which a source has some; start and end count the characters of
             * the reply's text. Empty: none. */
            struct chela_str citations;
            /* TURN_END only: log probabilities as a JSON array of {token, logprob, top}; top
             * is an array of {token, logprob}. Empty: none were requested or sent. */
            struct chela_str logprobs;
        } turn;
        struct {
            unsigned turn;
            const char *model;
            size_t messages, tools, bytes; /* content of the request */
            const char *role; /* "planner", "router", ...; NULL: the agent itself */
        } request;
        struct {
            struct chela_str text;   /* the new piece */
            struct chela_str so_far; /* all pieces of this reply, with the new one */
        } delta;
        struct {
            unsigned index; /* TOOL_CALL_DELTA: position of the call in the reply, from 0 */
            struct chela_str id, name;
            struct chela_str arguments; /* JSON; TOOL_CALL_DELTA: a piece of the JSON */
        } call;
        struct {
            struct chela_str id, name;
            bool is_error, retryable, truncated;
            const char *error_type; /* NULL: no error */
            struct chela_str content; /* as the model gets it */
            struct chela_str details; /* JSON for programs; empty: none */
            unsigned attempts; /* 0: the tool was not run */
            int64_t duration_ms;
        } result;
        struct {
            struct chela_str approval_id; /* for chela_session_approve */
            struct chela_str id, name, arguments; /* of the call */
            struct chela_str summary; /* for people; complete and safe to print */
            bool can_remember;        /* CHELA_ALLOW_ALWAYS is possible */
        } approval;
        struct {
            struct chela_str text;
            struct chela_str id; /* TOOL_PROGRESS: id of the call */
        } note;
        struct {
            unsigned attempt; /* number of the failed attempt, from 1 */
            int64_t delay_ms; /* until the next attempt */
            struct chela_str reason;
        } retry;
        struct {
            const char *from, *to; /* FALLBACK: models; HANDOFF: agents */
            struct chela_str reason;
        } fallback;
        struct {
            enum chela_compacted strategy;
            size_t tokens_before, tokens_after; /* estimate for the next request */
        } compaction;
        struct {
            /* JSON array of {step_id, description, tool_name, tool_input, depends_on,
             * status}; status is pending, running, done or failed. */
            struct chela_str steps;
        } plan;
        struct {
            enum chela_judgement action;   /* what the run does */
            enum chela_judgement proposed; /* what the judge proposed */
            int completeness, correctness, format; /* 1 to 5 */
            unsigned step;         /* RETRY_STEP: number of the step; 0: none */
            struct chela_str note; /* the problem, or what to change */
        } reflection;
        struct {
            unsigned n;         /* number of the model call in its turn, from 1 */
            double willingness; /* the willingness that led to the turn; negative: unknown */
            enum chela_protocol protocol;
        } beat;
        struct {
            enum chela_status status;
            enum chela_reason reason;
            struct chela_str text;  /* the answer */
            struct chela_str error; /* one line; empty: no error */
            unsigned turns, tool_calls;
            struct chela_usage usage;
            bool delivered; /* the tool `message` has sent the text already: do not send
                               it again */
            /* Sessions with a channel: directives for the channel that the model wrote,
             * and that were removed from the text (docs/context.md). */
            struct chela_str reply_to; /* id of a message, or "current"; empty: none */
            const struct chela_str *media; /* URLs, and paths in the workspace; files that the
                                              model made are among them in every session */
            size_t nmedia;
            bool voice;  /* audio in `media` is a voice message */
            bool silent; /* the model chose not to answer: send nothing */
            struct chela_str citations; /* sources of the answer, as in `turn` */
            /* A sentence for the person who asked, in their language: what happened, if the run
             * did not end with an answer, and what they can do. Empty: the text says it all. */
            struct chela_str ending;
            /* The run worked on a layer (`apply`), and its session has changes that are not real:
             * chela_review shows them. */
            bool review;
        } end;
        struct {
            struct chela_str id, name;
            struct chela_str arguments; /* JSON object */
            struct chela_str result;    /* text; empty: the vendor reported none */
        } server;
        struct {
            struct chela_str media_type;
            struct chela_str path; /* the file in the workspace; empty: it was not saved */
            struct chela_str url;  /* address of the media at the vendor; empty: `data` has the
                                    * media */
            struct chela_str data; /* base64; not a part of the event's JSON */
            size_t bytes;          /* size of the data */
        } made;
        struct {
            /* A budget is used up: the run ends or, if `run` is empty, a message was
             * refused. Other runs may have caused a part of the use (struct chela_budget in
             * gateway.h). */
            const char *name;    /* of the budget */
            struct chela_str of; /* agent, channel or sender that the budget is for; empty: one
                                  * budget for all */
            bool tokens;         /* limit and used are tokens; otherwise US dollars */
            double limit, used;
            int64_t resets;      /* milliseconds since 1970: when the use is reset to zero */
        } budget;
        struct {
            /* The vendor's cache does not hold the conversation any more, and reasoning that
             * was bound to the earlier prefix is not sent again (docs/context.md). */
            unsigned n;         /* from 2: a conversation begins with the first */
            const char *reason; /* "system", "tools", "model", "compaction", "pruning",
                                 * "refused_block", "unknown" */
        } epoch;
        struct {
            /* An event of a run of another agent, which this run called as a tool
             * (docs/modes.md). `run`, `seq` and `ts` above belong to the other run. In
             * JSON, the event has the form of `event` with the members `parent` and
             * `depth`; RUN_START and RUN_END become child_start and child_end. */
            const struct chela_event *event;
            const char *parent; /* id of the run that made the call */
            const char *agent;  /* the agent of the other run */
            const char *call;   /* id of the call */
            unsigned depth;     /* 1: this run made the call */
        } child;
    };
};

/* Receives the events of a run. Called on the loop thread, and never from inside the
 * function that caused the event. ev is borrowed until the callback returns. */
typedef void chela_event_fn(const struct chela_event *ev, void *user);

/* The type of an event in JSON: "run_start"; "?" for a type that this library does not
 * have.
 * Ownership: the result is static text. */
CHELA_API const char *chela_event_name(enum chela_event_type type);

/* The event as one line of JSON, without a newline.
 * Ownership: the caller frees the result with chela_free. */
CHELA_API char *chela_event_json(const struct chela_event *ev);

CHELA_END_DECLS
#endif

/* run.h -- what a run does next: a pure machine.
 *
 * No socket, clock, file or memory in here: a struct without pointers and one
 * step function, input -> action. driver.c performs the action and feeds the
 * outcome back. So every path is tested without a network, and a run can be
 * saved at any step and go on elsewhere. Input after the end is ignored: a
 * late callback is harmless. */
#ifndef CH_AGENT_RUN_H
#define CH_AGENT_RUN_H
#include <stdbool.h>
#include <stdint.h>

#include "chela/choice.h"
#include "agent/machine/loop_detector.h"
#include "model/codec/codec.h"

#define CH_RUN_STATES(X) X(OBSERVE) X(THINK) X(ACT) X(REFLECT) X(WAITING) X(DONE) X(ERROR)

enum ch_run_state {
#define CH_RUN_STATE_ENUM(name) CH_RUN_##name = CHELA_STATE_##name,
    CH_RUN_STATES(CH_RUN_STATE_ENUM)
#undef CH_RUN_STATE_ENUM
};

/* X(reason, status), with the values of chela/choice.h */
#define CH_REASONS(X)             \
    X(NONE, RUNNING)              \
    X(COMPLETED, DONE)            \
    X(REFUSED, DONE)              \
    X(LENGTH, DONE)               \
    X(MAX_TURNS, STOPPED)         \
    X(MAX_TOOL_CALLS, STOPPED)    \
    X(TOKEN_BUDGET, STOPPED)      \
    X(COST_BUDGET, STOPPED)       \
    X(DEADLINE, STOPPED)          \
    X(TOO_MANY_ERRORS, STOPPED)   \
    X(LOOP, STOPPED)              \
    X(CONTEXT_OVERFLOW, ERROR)    \
    X(MODEL_ERROR, ERROR)         \
    X(STORE, ERROR)               \
    X(INTERNAL, ERROR)            \
    X(CANCELLED, CANCELLED)       \
    X(APPROVAL, PAUSED)           \
    X(CLIENT_TOOL, PAUSED)        \
    X(HUMAN, PAUSED)              \
    X(INTERRUPTED, PAUSED)

enum ch_reason {
#define CH_REASON_ENUM(name, status) CH_REASON_##name = CHELA_REASON_##name,
    CH_REASONS(CH_REASON_ENUM)
#undef CH_REASON_ENUM
};

enum ch_status {
    CH_STATUS_RUNNING = CHELA_STATUS_RUNNING,
    CH_STATUS_DONE = CHELA_STATUS_DONE,
    CH_STATUS_STOPPED = CHELA_STATUS_STOPPED,
    CH_STATUS_ERROR = CHELA_STATUS_ERROR,
    CH_STATUS_CANCELLED = CHELA_STATUS_CANCELLED,
    CH_STATUS_PAUSED = CHELA_STATUS_PAUSED
};

const char *ch_run_state_name(enum ch_run_state s); /* "OBSERVE" */
const char *ch_reason_name(enum ch_reason r);       /* "task_completed" */
enum ch_reason ch_reason_of(struct ch_sv name);       /* NONE: there is no such */
enum ch_status ch_reason_status(enum ch_reason r);
const char *ch_status_name(enum ch_status s); /* "done" */

struct ch_run_limits { /* resolved: negative means none */
    int64_t max_turns, max_tool_calls, max_errors;
    int64_t token_budget; /* input + output */
    double cost_budget;   /* US dollars */
    int retries;          /* of one model call */
    unsigned models;      /* length of the fallback chain, at least 1 */
    bool compacts;        /* a history that does not fit can be made shorter */
    bool sums_up;         /* the model is asked for last words at a limit */
};

/* Bounds of one conversation, within the limits of its agent. 0: the agent's own limit. */
struct ch_bounds {
    double cost_usd;
    int64_t turns, timeout_ms;
};

/* Lower *limit to most. most 0: no bound; *limit negative: no limit so far. */
void ch_run_limits_lower(int64_t *limit, int64_t most);
/* Lower the limits that are above the bounds. */
void ch_run_limits_bound(struct ch_run_limits *limits, const struct ch_bounds *b);

enum ch_do {
    CH_DO_NOTHING,    /* wait for what is under way */
    CH_DO_CALL_MODEL, /* after delay_ms; `attempt` and `model` say which */
    CH_DO_CALL_TOOLS,
    CH_DO_COMPACT,      /* make the history shorter, then say CH_IN_COMPACTED */
    CH_DO_ASK_HOST,     /* paused: calls are left for the host to answer, or to approve */
    CH_DO_RESUME_TOOLS, /* they were: go on with the others */
    CH_DO_FINISH,
};

struct ch_run {
    enum ch_run_state state;
    enum ch_reason reason;
    struct ch_run_limits limits;
    uint64_t seq; /* of the next event; goes on over a pause */

    unsigned turns;      /* model calls, retries not counted */
    unsigned tool_calls; /* asked for by the model */
    struct {             /* the same of runs that it called, which share its limits */
        unsigned turns, tool_calls;
    } below;
    unsigned errors;     /* in a row: failed results and failed model calls */
    unsigned pauses;     /* replies in a row that the vendor paused */
    bool nudged;         /* an empty reply was answered with a nudge */
    struct ch_usage usage;
    double cost;       /* US dollars so far, as far as they are known */
    bool cost_unknown; /* some of it is not */
    struct {           /* of this turn, all attempts */
        struct ch_usage usage;
        double cost; /* negative: unknown */
    } turn;
    bool compacted;    /* for this call: once is enough */
    bool by_hand;      /* the run is nothing but a compaction */
    bool reasked;      /* an answer that did not fit was asked for again */
    enum ch_reason closing; /* the limit that these are the last words at; NONE: they are not */

    /* of the model call to make */
    unsigned attempt; /* 0: the first try */
    unsigned model;   /* index in the fallback chain */
    unsigned before;  /* and which one it fell back from */
    int64_t delay_ms;
    bool nudge;      /* tell the model that its reply was empty */
    bool reask;      /* tell it what is wrong with its answer */
    bool caution;    /* tell it that it goes round in circles */
    bool fell_back;  /* this step moved on to another model */
    bool passed_over; /* because the ones before it cool down */
    bool warn_empty; /* done, but there is no answer */

    /* states passed through in the last step, for the event log */
    enum ch_run_state path[6];
    unsigned npath;
};

enum ch_in {
    CH_IN_INPUT,      /* messages were added, the run may begin; or `compact` */
    CH_IN_REPLY,      /* the model answered */
    CH_IN_FAILED,     /* the model call failed */
    CH_IN_COMPACTED,  /* the history is shorter, or cannot be: `shorter` */
    CH_IN_RESULTS,    /* every call has a result */
    CH_IN_UNANSWERED, /* the rest is done, some calls are the host's to run or approve */
    CH_IN_RESUMED,    /* the host has done so */
    CH_IN_DEADLINE,
    CH_IN_ROLE,       /* the turn went to a part of the work, not to an answer: on */
    CH_IN_DECIDED,    /* such a part ends the run, with `reason` */
    CH_IN_CANCEL,
    CH_IN_TAKEN_OVER, /* a person ended it, with words of their own as its answer */
    CH_IN_BROKEN, /* the runtime itself failed */
    CH_IN_LOST,   /* what the run does can no longer be stored */
};

struct ch_input {
    enum ch_in kind;
    uint32_t cooling; /* bit i: model i of the chain is better left alone now */
    enum ch_reason reason; /* DECIDED */
    /* REPLY and ROLE; usage and cost also of a call that FAILED */
    enum ch_stop stop;
    unsigned calls; /* tool calls in it, cut ones included */
    bool has_text;
    struct ch_usage usage;
    double cost;         /* negative: unknown */
    bool review;         /* somebody looks at the answer before the run is done */
    bool unfit;          /* the answer is not of the form that was asked for; RESULTS too */
    unsigned follow_ups; /* waiting in the queue */
    /* FAILED */
    enum ch_error_class cls;
    bool retryable;
    int64_t retry_after_ms;
    bool mended;       /* its cause is gone: another key is used, or less is asked for */
    bool output_shown; /* some of the reply was delivered and cannot be taken back */
    /* INPUT */
    bool compact; /* all it is to do is make the history shorter */
    /* COMPACTED, with usage and cost of who made it so */
    bool shorter;
    /* UNANSWERED */
    bool approvals; /* some wait for a person's consent */
    bool questions; /* ...and all others are questions to a person */
    /* RESULTS */
    unsigned trailing_errors; /* error results after the last good one */
    bool any_ok;
    bool over_limit; /* calls were refused because of max_tool_calls */
    bool terminated; /* a tool ended the run */
    enum ch_loop_verdict loop;
};

struct ch_spent { /* by a run and those below it */
    struct ch_usage usage;
    double cost;
    unsigned turns, tool_calls;
};

/* What was used outside of the run's own model calls, on its account. */
void ch_run_spend(struct ch_run *r, const struct ch_usage *usage, double cost);

/* What was used in this turn, for its end; the run's own account is ch_run_spend's. */
void ch_run_charge(struct ch_run *r, const struct ch_usage *usage, double cost);

void ch_run_init(struct ch_run *r, const struct ch_run_limits *limits);

/* A machine that was stored goes on, with the limits that r has. waits: for answers to
 * the calls of its last reply; acts: the calls of its last reply, or their results, have
 * still to be dealt with. */
void ch_run_restore(struct ch_run *r, const struct ch_run *stored, bool waits, bool acts);

/* The number of the next event, which is given out. */
static inline uint64_t ch_run_next_seq(struct ch_run *r) {
    return r->seq++;
}

enum ch_do ch_run_step(struct ch_run *r, const struct ch_input *in);

static inline bool ch_run_over(const struct ch_run *r) {
    return r->state == CH_RUN_DONE || r->state == CH_RUN_ERROR;
}

/* Tool calls that may still be run, or SIZE_MAX. */
size_t ch_run_calls_left(const struct ch_run *r);

#endif

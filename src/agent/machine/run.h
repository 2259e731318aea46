/* run.h -- the run machine: decides what a run does next.
 *
 * The machine is a struct without pointers and one function from an input to an action. It
 * uses no socket, clock, file or memory. driver.c performs the action and feeds the outcome
 * back. So every path is tested without a network, and a run can be stored after any step
 * and continued elsewhere. The machine ignores input after the end, so late callbacks are
 * harmless. */
#ifndef CH_AGENT_RUN_H
#define CH_AGENT_RUN_H
#include <stdbool.h>
#include <stdint.h>

#include "chela/choice.h"
#include "agent/machine/loop_detector.h"
#include "model/codec/codec.h"

#define CH_RUN_STATES(X)                                       \
    X(OBSERVE) X(THINK) X(ACT) X(REFLECT) X(WAITING) X(DONE)   \
    X(ERROR) X(DECLINED)

enum ch_run_state {
#define CH_RUN_STATE_ENUM(name) CH_RUN_##name = CHELA_STATE_##name,
    CH_RUN_STATES(CH_RUN_STATE_ENUM)
#undef CH_RUN_STATE_ENUM
};

/* X(reason, status), with the values of chela/choice.h */
#define CH_REASONS(X)             \
    X(NONE, RUNNING)              \
    X(COMPLETED, DONE)            \
    X(REFUSED, DECLINED)          \
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
    X(INTERRUPTED, PAUSED)        \
    X(TIMER, PAUSED)              \
    X(ESCALATED, DECLINED)        \
    X(CLARIFICATION, DECLINED)

enum ch_reason {
#define CH_REASON_ENUM(name, status) CH_REASON_##name = CHELA_REASON_##name,
    CH_REASONS(CH_REASON_ENUM)
#undef CH_REASON_ENUM
};

enum ch_run_status {
    CH_STATUS_RUNNING = CHELA_STATUS_RUNNING,
    CH_STATUS_DONE = CHELA_STATUS_DONE,
    CH_STATUS_STOPPED = CHELA_STATUS_STOPPED,
    CH_STATUS_ERROR = CHELA_STATUS_ERROR,
    CH_STATUS_CANCELLED = CHELA_STATUS_CANCELLED,
    CH_STATUS_PAUSED = CHELA_STATUS_PAUSED,
    CH_STATUS_DECLINED = CHELA_STATUS_DECLINED
};

const char *ch_run_state_name(enum ch_run_state s); /* "OBSERVE" */
const char *ch_reason_name(enum ch_reason r);       /* "task_completed" */
enum ch_reason ch_reason_of(struct ch_sv name);       /* NONE: unknown name */
enum ch_run_status ch_reason_status(enum ch_reason r);
/* True: the run ended with an answer of the agent, which may be a question back. */
bool ch_reason_answers(enum ch_reason r);
const char *ch_run_status_name(enum ch_run_status s); /* "done" */

struct ch_run_limits { /* defaults applied; negative: no limit */
    int64_t max_turns, max_tool_calls, max_errors;
    int64_t token_budget; /* input + output */
    double cost_budget;   /* US dollars */
    int retries;          /* retries of one model call */
    int overload_retries; /* if the service is overloaded and no other model is left */
    unsigned models;      /* length of the fallback chain, at least 1 */
    bool compacts;        /* a history that does not fit may be compacted */
    bool sums_up;         /* a closing turn follows when a limit is reached */
};

/* Bounds of one conversation that lower its agent's limits. 0: no bound. */
struct ch_bounds {
    double cost_usd;
    int64_t turns, timeout_ms;
};

/* Lowers *limit to `most`. most 0: no bound; *limit negative: no limit so far. */
void ch_run_limits_lower(int64_t *limit, int64_t most);
/* Lowers limits that are above the bounds. */
void ch_run_limits_bound(struct ch_run_limits *limits, const struct ch_bounds *b);

enum ch_do {
    CH_DO_NOTHING,    /* wait for work in progress */
    CH_DO_CALL_MODEL, /* after delay_ms, with `attempt` and `model` */
    CH_DO_CALL_TOOLS,
    CH_DO_COMPACT,      /* compact the history, then feed CH_IN_COMPACTED */
    CH_DO_ASK_HOST,     /* pause: the host has to answer or approve calls */
    CH_DO_RESUME_TOOLS, /* the host has answered or approved them */
    CH_DO_FINISH,
};

struct ch_run {
    enum ch_run_state state;
    enum ch_reason reason;
    struct ch_run_limits limits;
    uint64_t seq; /* number of the next event; continues after a pause */

    unsigned turns;      /* model calls without retries */
    unsigned tool_calls; /* tool calls that the model asked for */
    struct {             /* the same counters of child runs, which share the limits */
        unsigned turns, tool_calls;
    } below;
    unsigned errors; /* consecutive failures of tools and model calls */
    unsigned pauses; /* consecutive replies that the vendor paused */
    struct ch_usage usage;
    double cost; /* known costs so far, in US dollars */
    struct {     /* usage of this turn, all attempts */
        struct ch_usage usage;
        double cost; /* negative: unknown */
    } turn;
    bool nudged;            /* an empty reply was answered with a nudge */
    bool cost_unknown;      /* some calls had no known price */
    bool compacted;         /* the history was compacted for this call */
    bool by_hand;           /* the run only compacts the history */
    bool reasked;           /* the model was asked again for an answer that matches */
    enum ch_reason closing; /* limit that this closing turn follows; NONE: no closing turn */

    /* The model call to make: */
    unsigned attempt; /* 0: first attempt */
    unsigned model;   /* index in the fallback chain */
    unsigned before;  /* index of the model before a fallback */
    int64_t delay_ms;
    bool nudge;       /* tell the model that its reply was empty */
    bool reask;       /* tell the model what is wrong with its answer */
    bool caution;     /* tell the model that it repeats itself */
    bool sum_up;      /* tell the model that this is the closing turn */
    bool fell_back;   /* this step switched to another model */
    bool passed_over; /* the fallback skips models that are cooling down */
    bool warn_empty;  /* the run ends without an answer */

    /* States entered in the last step, for STATE events. */
    uint8_t path[6]; /* of enum ch_run_state */
    uint8_t npath;
};

enum ch_in {
    CH_IN_INPUT,      /* the run begins */
    CH_IN_REPLY,      /* the model answered */
    CH_IN_FAILED,     /* the model call failed */
    CH_IN_COMPACTED,  /* compaction has ended; `shorter`: it helped */
    CH_IN_RESULTS,    /* every call has a result */
    CH_IN_UNANSWERED, /* only calls that the host has to answer or approve are left */
    CH_IN_RESUMED,    /* the host has answered or approved such calls */
    CH_IN_DEADLINE,
    CH_IN_ROLE,       /* a feature used the turn; continue */
    CH_IN_DECIDED,    /* a feature ends the run with `reason` */
    CH_IN_CANCEL,
    CH_IN_TAKEN_OVER, /* a person ended the run with an answer of their own */
    CH_IN_BROKEN, /* the runtime failed */
    CH_IN_LOST,   /* the journal failed */
};

struct ch_input {
    enum ch_in kind;
    uint32_t cooling;      /* bit i: model i of the chain is cooling down */
    enum ch_reason reason; /* of DECIDED */
    /* Of REPLY and ROLE; usage and cost also of FAILED: */
    enum ch_stop stop;
    unsigned calls; /* tool calls, cut ones included */
    bool has_text;
    struct ch_usage usage;
    double cost;         /* negative: unknown */
    bool review;         /* a feature reviews the answer before the run ends */
    bool unfit;          /* the answer does not match its schema; also of RESULTS */
    unsigned follow_ups; /* messages in the queues */
    /* Of FAILED: */
    enum ch_error_class cls;
    bool retryable;
    int64_t retry_after_ms;
    bool mended;       /* the cause is fixed: another key, or a smaller request */
    bool output_shown; /* text was shown and cannot be withdrawn */
    /* Of INPUT: */
    bool compact; /* the run only compacts the history */
    /* Of COMPACTED; also usage and cost of the summary: */
    bool shorter;
    /* Of UNANSWERED: */
    bool approvals; /* some calls wait for consent */
    bool questions; /* all others are questions to a person */
    bool timers;    /* all others wait for a time */
    /* Of RESULTS: */
    unsigned trailing_errors; /* failed results after the last good one */
    bool any_ok;
    bool over_limit; /* calls were refused because of max_tool_calls */
    bool terminated; /* a terminating tool ran */
    enum ch_loop_verdict loop;
};

struct ch_spent { /* usage of a run and its children */
    struct ch_usage usage;
    double cost;
    unsigned turns, tool_calls;
};

void ch_run_add_usage(struct ch_usage *to, const struct ch_usage *u);
/* Counts usage outside of the run's model calls in the totals of the run. */
void ch_run_spend(struct ch_run *r, const struct ch_usage *usage, double cost);

/* Counts usage in the totals of the turn, for TURN_END. Call ch_run_spend for the totals of
 * the run. */
void ch_run_charge(struct ch_run *r, const struct ch_usage *usage, double cost);

void ch_run_init(struct ch_run *r, const struct ch_run_limits *limits);

/* Continues a stored machine with the limits of r. waits: calls of the last reply wait for
 * answers. acts: the calls of the last reply, or their results, are not processed yet. */
void ch_run_restore(struct ch_run *r, const struct ch_run *stored, bool waits, bool acts);

/* Returns the number for the next event and increments it. */
static inline uint64_t ch_run_next_seq(struct ch_run *r) {
    return r->seq++;
}

/* Changes the state by the input and returns the action to perform; r->path lists the states
 * that were entered. Input after the end is ignored. */
enum ch_do ch_run_step(struct ch_run *r, const struct ch_input *in);

static inline bool ch_run_over(const struct ch_run *r) {
    return r->state == CH_RUN_DONE || r->state == CH_RUN_ERROR || r->state == CH_RUN_DECLINED;
}

/* Tool calls that max_tool_calls still allows; SIZE_MAX: no limit. */
size_t ch_run_calls_left(const struct ch_run *r);

#endif

/* trace.h -- what happened in a session, as stretches of time.
 *
 * Made from the session's journal: what was said to the agent, each model call,
 * each tool call, each time somebody was waited for, and how every run ended.
 * A model call begins where the record before it ends: the journal holds what
 * came of it, not when it was sent. */
#ifndef CH_CLI_TRACE_H
#define CH_CLI_TRACE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "chela/store.h"

enum ch_span_kind {
    CH_SPAN_INPUT, /* a message to the agent */
    CH_SPAN_MODEL,
    CH_SPAN_TOOL,
    CH_SPAN_WAIT,    /* for a person's consent */
    CH_SPAN_REWRITE, /* the history was made shorter */
    CH_SPAN_END,     /* of the run, or a pause */
    CH_SPAN_KINDS
};

struct ch_span {
    enum ch_span_kind kind;
    char *run;          /* owned; of the runtime's making */
    unsigned turn;      /* 0: none */
    int64_t start, end; /* ms, wall clock */
    bool failed;
    char *title;      /* owned, one line: the tool, the model, the reason */
    char *sent, *got; /* owned, may be NULL: arguments and result, reasoning and reply */
    int64_t input, output, cached; /* tokens of a model call */
    double cost;                   /* END: US dollars of the run; negative: unknown */
    char *child;    /* owned: key of the session that a call of an agent is; NULL: none */
    unsigned depth; /* of agents that called one another; 0: the session's own */
};

struct ch_trace {
    struct ch_span *spans; /* owned, by start */
    size_t n;
};

/* With what agents did that were called, right behind the call.
 * Only this run's; NULL: all, "": the last one's. CHELA_ENOENT: no such run. */
int ch_trace_read(struct ch_trace *t, chela_store *store, const char *key, const char *run,
                  struct chela_error *err);
void ch_trace_release(struct ch_trace *t);

const char *ch_span_name(enum ch_span_kind kind); /* "model" */
/* "850 ms", "12.5 s", "3 min 20 s" */
const char *ch_span_took(int64_t ms, char out[32]);

#endif

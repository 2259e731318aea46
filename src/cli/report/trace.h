/* trace.h -- a session's history as time spans.
 *
 * Built from the session's journal: inputs, model calls, tool calls, waits for approval,
 * and the end of every run. A model call is assumed to begin where the preceding record
 * ends, because the journal records replies, not requests. */
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
    CH_SPAN_WAIT,    /* waiting for a person's approval */
    CH_SPAN_REWRITE, /* the history was shortened */
    CH_SPAN_END,     /* end of the run, or a pause */
    CH_SPAN_KINDS
};

struct ch_span {
    enum ch_span_kind kind;
    char *run;          /* owned; run id */
    unsigned turn;      /* 0: none */
    int64_t start, end; /* ms, wall clock */
    bool failed;
    char *title;      /* owned, one line: the tool, the model, the reason */
    char *sent, *got; /* owned, may be NULL: arguments and result, reasoning and reply */
    int64_t input, output, cached; /* tokens of a model call */
    double cost;                   /* END: US dollars of the run; negative: unknown */
    char *child;    /* owned: session key of a called agent; NULL: none */
    unsigned depth; /* nesting depth of called agents; 0: the session itself */
};

struct ch_trace {
    struct ch_span *spans; /* owned, sorted by start */
    size_t n;
};

/* Read the spans; spans of called agents follow their call. run: only this run; NULL: all,
 * "": the last run. CHELA_ENOENT: unknown run. */
int ch_trace_read(struct ch_trace *t, chela_store *store, const char *key, const char *run,
                  struct chela_error *err);
void ch_trace_release(struct ch_trace *t);

const char *ch_span_name(enum ch_span_kind kind); /* "model" */
/* "850 ms", "12.5 s", "3 min 20 s" */
const char *ch_span_took(int64_t ms, char out[32]);

#endif

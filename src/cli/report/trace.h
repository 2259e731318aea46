/* trace.h -- the steps of a session, kept for a report (chela/trace.h). */
#ifndef CH_CLI_TRACE_H
#define CH_CLI_TRACE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "chela/trace.h"

struct ch_trace {
    struct chela_span *spans; /* owned, with their texts */
    size_t n, cap;
};

/* The sum of the steps of the session itself. Called agents are part of their call. */
struct ch_trace_total {
    int64_t start, end; /* ms, wall clock */
    unsigned runs, requests, failed, calls;
    int64_t input, output, cached;
    double cost; /* US dollars; negative: unknown */
};

/* Read the steps; those of called agents follow their call. run: only this run; NULL: all,
 * "": the last run. CHELA_ENOENT: unknown run. */
int ch_trace_read(struct ch_trace *t, chela_store *store, const char *key, const char *run,
                  struct chela_error *err);
void ch_trace_release(struct ch_trace *t);
struct ch_trace_total ch_trace_total(const struct ch_trace *t);

/* By how many input tokens the model call s of t is larger than the previous model call of
 * its session; 0: s is the first, or is not a model call. */
int64_t ch_trace_growth(const struct ch_trace *t, const struct chela_span *s);

const char *ch_span_name(enum chela_span_kind kind); /* "model" */
/* "850 ms", "12.5 s", "3 min 20 s" */
const char *ch_span_took(int64_t ms, char out[32]);
/* "2026-11-16 09:30:00", local time */
const char *ch_span_when(int64_t ms, char out[32]);

#endif

/* trace_context.h -- the identity of traces and spans, and W3C Trace Context.
 *
 * The ids derive from the ids of runs and calls. So a run that another process continues, or
 * that `chela trace --otlp` exports later, has the same trace and the same spans. */
#ifndef CH_OTEL_TRACE_CONTEXT_H
#define CH_OTEL_TRACE_CONTEXT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/sv.h"

#define CH_TRACE_ID 16
#define CH_SPAN_ID 8
#define CH_TRACEPARENT 56 /* bytes of "00-TRACE-SPAN-01" and a NUL */

struct ch_span_id {
    unsigned char bytes[CH_SPAN_ID];
};

struct ch_trace_context {
    unsigned char trace[CH_TRACE_ID];
    struct ch_span_id parent;
    bool has_parent, sampled;
};

/* Parse the header `traceparent`. False: it is malformed, and *out is unchanged. */
bool ch_trace_context_read(struct ch_sv header, struct ch_trace_context *out);
void ch_trace_context_write(const struct ch_trace_context *c, struct ch_span_id span,
                            char out[CH_TRACEPARENT]);

/* The trace of a run without a trace from its caller. */
struct ch_trace_context ch_trace_context_of_run(const char *run);
/* Whether the trace is in the sampled share of all traces. */
bool ch_trace_context_in_share(const struct ch_trace_context *c, double share);

/* Writes 2n hexadecimal digits; n is a multiple of 4. Returns the address after them. */
char *ch_otel_put_hex(char *to, const unsigned char *bytes, size_t n);

struct ch_span_id ch_span_id_of_run(const char *run);
struct ch_span_id ch_span_id_of_call(const char *run, unsigned turn, struct ch_sv call);
/* An attempt of a call, or a wait of a call; n: which one. */
struct ch_span_id ch_span_id_below(struct ch_span_id call, struct ch_sv what, unsigned n);
/* A request to a model; role: who asked instead of the run, or empty. */
struct ch_span_id ch_span_id_of_request(const char *run, unsigned turn, unsigned attempt,
                                        size_t messages, struct ch_sv model, struct ch_sv role);

#endif

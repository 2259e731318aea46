/* follow_run.h -- a run that is followed, and the common parts of its spans and metrics.
 *
 * follow.c owns the runs. Only follow_request.c writes the open request and its memo, and only
 * follow_call.c the calls. Loop thread only. */
#ifndef CH_OTEL_FOLLOW_RUN_H
#define CH_OTEL_FOLLOW_RUN_H
#include "agent/handle/run.h"
#include "base/list.h"
#include "otel/follow.h"
#include "otel/follow_call.h"
#include "otel/follow_request.h"

/* Where spans, metrics and log events go. */
struct ch_otel_output {
    const struct ch_otel_settings *settings;
    struct ch_otel_sink sink;
};

struct ch_follow_run {
    struct ch_link link; /* in its bucket */
    struct ch_link age;  /* in order of creation */
    char id[24];
    char *agent; /* owned */
    struct ch_trace_context context; /* parent: of the run's span */
    struct ch_span_id span;
    bool is_role; /* the run has no span; its requests are below the run that asks */
    int64_t start;
    unsigned turn;
    struct ch_follow_request request;
    struct ch_follow_request_memo request_memo;
    struct ch_follow_calls calls;
};

/* A span of the run, without name and attributes. Its parent is the span of the run. */
struct ch_otel_span ch_follow_run_span(const struct ch_follow_run *r, struct ch_span_id id,
                                       int64_t start, int64_t end);
/* Adds the names of agent, session and run. */
void ch_follow_run_place(struct ch_otel_span *s, const struct ch_follow_run *r,
                         const chela_run *run);
/* True if spans of the run are exported. */
static inline bool ch_follow_run_wants_span(const struct ch_otel_output *o,
                                            const struct ch_follow_run *r) {
    return o->sink.span && r->context.sampled;
}

void ch_otel_add_usage(struct ch_otel_span *s, const struct chela_usage *u);
/* Exports a span, if spans are exported and its trace is sampled. */
static inline void ch_otel_output_span(const struct ch_otel_output *o,
                                       const struct ch_otel_span *s) {
    if (o->sink.span && s->context.sampled)
        o->sink.span(s, o->sink.user);
}

/* Exports a value. The attributes have few values. memo: see ch_otel_metrics_add. */
static inline void ch_otel_output_measure(const struct ch_otel_output *o,
                                          enum ch_otel_metric metric, double value,
                                          const struct ch_otel_attribute *attributes, size_t n,
                                          struct ch_otel_point **memo) {
    if (o->sink.measure)
        o->sink.measure(metric, value, attributes, n, memo, o->sink.user);
}

static inline double ch_otel_seconds(int64_t ms) {
    return (double)CH_MAX(ms, 0) / 1000;
}

#endif

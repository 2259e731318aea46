/* follow_request.h -- the requests of a followed run to models, as spans `chat` and metrics.
 *
 * A run has one request at a time. Calls outside of the conversation are reported when they
 * have ended. Loop thread only. */
#ifndef CH_OTEL_FOLLOW_REQUEST_H
#define CH_OTEL_FOLLOW_REQUEST_H
#include "agent/handle/listener.h"
#include "otel/metrics.h"

struct ch_follow_run;
struct ch_otel_output;

/* A request to a model that has no reply yet. */
struct ch_follow_request {
    bool open;
    struct ch_span_id id;
    int64_t start, first; /* first: time of the first piece of the reply; 0: none */
    unsigned turn, attempt;
    struct ch_target *target; /* borrowed from the agent */
};

#define CH_FOLLOW_SERIES 6

/* The common part of the spans and metrics of a run's requests, while the run asks the same
 * model. Texts are borrowed from the target. */
struct ch_follow_request_memo {
    const chela_agent *agent;
    const struct ch_target *target; /* NULL: nothing is known yet */
    struct ch_otel_attribute attributes[CH_FOLLOW_SERIES]; /* of the metrics */
    size_t n;
    struct ch_buf span; /* template */
    struct ch_otel_point *duration, *first_chunk, *tokens[2];
};

void ch_follow_request_begin(const struct ch_otel_output *o, struct ch_follow_run *r,
                             chela_run *run, const struct chela_event *ev);
/* The request got its reply, or failed. stop and u are NULL if there is no reply. */
void ch_follow_request_end(const struct ch_otel_output *o, struct ch_follow_run *r,
                           chela_run *run, int64_t now, const char *stop,
                           const struct chela_usage *u, struct ch_sv error);
/* The request, if there is one, got no reply. */
static inline void ch_follow_request_fail(const struct ch_otel_output *o, struct ch_follow_run *r,
                                          chela_run *run, int64_t now, struct ch_sv error) {
    ch_follow_request_end(o, r, run, now, NULL, NULL, error);
}

/* A model call outside of the conversation: the id of its span, and its end. */
struct ch_span_id ch_follow_request_query_id(const struct ch_follow_run *r,
                                             const struct ch_listener_query *q);
void ch_follow_request_query(const struct ch_otel_output *o, const struct ch_follow_run *r,
                             const chela_run *run, const struct ch_listener_query *q);

/* Adds the attributes of a request to a model, with its name and kind. Texts are borrowed. */
void ch_otel_add_model(struct ch_otel_span *s, struct ch_sv operation,
                       const struct ch_endpoint *ep, struct ch_sv model);

#endif

/* follow.h -- turns the events of runs into spans, metrics and log events.
 *
 * A run becomes a span `invoke_agent`; each of its requests to a model a span `chat` below it,
 * and each call of a tool a span `execute_tool`. A called agent's run is below the call. A run
 * that pauses has no span until it ends. The number of runs that are followed is bounded: the
 * oldest is forgotten. Loop thread only. */
#ifndef CH_OTEL_FOLLOW_H
#define CH_OTEL_FOLLOW_H
#include "agent/handle/listener.h"
#include "otel/metrics.h"
#include "otel/settings.h"

struct ch_otel_follow;

/* Receives spans, metrics and log events. Every function may be NULL: that signal is not
 * exported. */
struct ch_otel_sink {
    void (*span)(const struct ch_otel_span *s, void *user);
    void (*log)(const struct ch_otel_span *s, enum ch_otel_severity severity, void *user);
    /* memo: as for ch_otel_metrics_add. */
    void (*measure)(enum ch_otel_metric metric, double value,
                    const struct ch_otel_attribute *attributes, size_t n,
                    struct ch_otel_point **memo, void *user);
    void *user;
};

/* settings is borrowed. */
struct ch_otel_follow *ch_otel_follow_new(const struct ch_otel_settings *settings,
                                          const struct ch_otel_sink *sink);
void ch_otel_follow_free(struct ch_otel_follow *f);

/* As struct ch_listener.ignored. The run of a called agent (CHELA_EV_CHILD) is followed, too. */
#define CH_OTEL_FOLLOW_IGNORED                                                                 \
    (CH_LISTENER_BIT(CHELA_EV_STATE) | CH_LISTENER_BIT(CHELA_EV_TOOL_PROGRESS) |               \
     CH_LISTENER_BIT(CHELA_EV_CHILD) | CH_LISTENER_BIT(CHELA_EV_TURN_START))
void ch_otel_follow_event(struct ch_otel_follow *f, chela_run *run, const struct chela_event *ev);
/* A call stored its state; a wait is one (tool/call/wait.h). */
void ch_otel_follow_checkpoint(struct ch_otel_follow *f, chela_run *run,
                               const struct ch_block *call, const char *state, int64_t now);

/* A model call outside of the conversation has ended. */
void ch_otel_follow_query(struct ch_otel_follow *f, chela_run *run,
                          const struct ch_listener_query *q);

/* A request of a client with a trace context. The span of the request is between the client's span
 * and the run. False: the context is malformed. */
bool ch_otel_follow_enter(struct ch_sv caller, char out[CH_TRACEPARENT]);
void ch_otel_follow_leave(struct ch_otel_follow *f, const struct ch_listener_request *q);

/* As struct ch_listener.context. */
bool ch_otel_follow_context(struct ch_otel_follow *f, const char *run, struct ch_sv call,
                            const struct ch_listener_query *q, char out[CH_TRACEPARENT]);

#endif

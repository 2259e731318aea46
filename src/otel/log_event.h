/* log_event.h -- which events of a run are exported as log events, and their attributes. */
#ifndef CH_OTEL_LOG_EVENT_H
#define CH_OTEL_LOG_EVENT_H
#include "agent/handle/run.h"
#include "otel/span.h"

#define CH_OTEL_EVENT_NAME 64

/* Adds the event's name (`name` is its memory), its attributes and its text (s->error, not
 * redacted). content: memory for texts of the model, cut and redacted; NULL: without them. False:
 * the event is not exported. */
bool ch_otel_log_event(struct ch_otel_span *s, const chela_run *run, const struct chela_event *ev,
                       struct ch_buf *content, enum ch_otel_severity *severity,
                       char name[CH_OTEL_EVENT_NAME]);

#endif

/* embedding.h -- turns requests to embedding models into spans and metrics.
 *
 * The span is below the run that makes the request, or below the run's call, or below the trace
 * context of the request to the gateway; else the span is the root of a trace. Loop thread
 * only. */
#ifndef CH_OTEL_EMBEDDING_H
#define CH_OTEL_EMBEDDING_H
#include "model/wire/embed.h"
#include "otel/follow.h"

/* As struct ch_embed_observer; now: ms, wall clock. */
void ch_otel_embedding_begin(struct ch_otel_follow *f, const struct ch_otel_settings *settings,
                             const struct ch_embed_opts *o, struct ch_embed_record *r,
                             int64_t now);
void ch_otel_embedding_end(const struct ch_otel_sink *sink, const struct ch_embed_record *r,
                           int64_t now);

#endif

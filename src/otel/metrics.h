/* metrics.h -- histograms since the start, by attributes.
 *
 * The number of different attributes is bounded; further ones are counted together under
 * otel.metric.overflow. */
#ifndef CH_OTEL_METRICS_H
#define CH_OTEL_METRICS_H
#include "otel/span.h"

struct ch_otel_metrics;

/* start: ms, wall clock. */
struct ch_otel_metrics *ch_otel_metrics_new(bool json, int64_t start);
void ch_otel_metrics_free(struct ch_otel_metrics *m);

void ch_otel_metrics_add(struct ch_otel_metrics *m, enum ch_otel_metric metric, double value,
                         const struct ch_otel_attribute *attributes, size_t n);
/* Append the message Metric. False: the metric has no values. */
bool ch_otel_metrics_write(const struct ch_otel_metrics *m, enum ch_otel_metric metric,
                           int64_t now, struct ch_buf *out);

#endif

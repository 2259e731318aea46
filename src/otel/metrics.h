/* metrics.h -- histograms since the start, by attributes.
 *
 * The number of different attributes is bounded; further ones are counted together under
 * otel.metric.overflow. */
#ifndef CH_OTEL_METRICS_H
#define CH_OTEL_METRICS_H
#include "otel/span.h"

struct ch_otel_metrics;
struct ch_otel_point; /* the histogram of a metric with certain attributes */

/* start: ms, wall clock. */
struct ch_otel_metrics *ch_otel_metrics_new(bool json, int64_t start);
void ch_otel_metrics_free(struct ch_otel_metrics *m);

/* *memo (memo may be NULL): the point of an earlier call with the same metric and attributes,
 * or NULL; it is set. Points live as long as the metrics. */
void ch_otel_metrics_add(struct ch_otel_metrics *m, enum ch_otel_metric metric, double value,
                         const struct ch_otel_attribute *attributes, size_t n,
                         struct ch_otel_point **memo);
bool ch_otel_metrics_any(const struct ch_otel_metrics *m, enum ch_otel_metric metric);
/* Append the message Metric of a metric that has values. */
void ch_otel_metrics_write(const struct ch_otel_metrics *m, enum ch_otel_metric metric,
                           int64_t now, struct ch_buf *out);

#endif

/* exporter.h -- sends encoded spans, metrics or log records to a collector.
 *
 * One exporter per signal. Items are encoded into a bounded queue, whose bytes become the body
 * of a request without a copy; the oldest item is dropped when the queue is full. A batch is
 * sent when it is complete or its time has come, one request at a time. A request that the
 * collector cannot take now (429, 502, 503, 504, no connection) is repeated with growing
 * delays, which are at least as long as the collector asks for. Other failed requests are
 * dropped. Loop thread only. */
#ifndef CH_OTEL_EXPORTER_H
#define CH_OTEL_EXPORTER_H
#include "base/buf.h"
#include "io/loop.h"
#include "otel/settings.h"

struct ch_otel_exporter;

/* How items are combined into an export request. */
struct ch_otel_frame {
    struct ch_sv resource, scope; /* encoded messages; borrowed as long as the exporter */
};

/* s and transport are borrowed. */
struct ch_otel_exporter *ch_otel_exporter_new(struct ch_loop *loop, struct ch_transport *transport,
                                              enum ch_otel_signal signal,
                                              const struct ch_otel_signal_settings *s,
                                              const struct ch_otel_frame *frame);
void ch_otel_exporter_free(struct ch_otel_exporter *e); /* drops the queued items */

/* Queue an item: begin returns a buffer, to which the caller appends the encoded item before
 * it calls end. */
struct ch_buf *ch_otel_exporter_begin(struct ch_otel_exporter *e);
void ch_otel_exporter_end(struct ch_otel_exporter *e);
/* Forget the items that wait. */
void ch_otel_exporter_clear(struct ch_otel_exporter *e);
/* Send the queued items now. drained(user) is called once when no item is pending, perhaps before
 * the return; NULL: no call. */
void ch_otel_exporter_flush(struct ch_otel_exporter *e, void (*drained)(void *user), void *user);
/* Items that wait or are being sent. */
size_t ch_otel_exporter_pending(const struct ch_otel_exporter *e);

/* Append the parts of an export request before and after its items, which have `bytes` bytes.
 * JSON: the items are separated by commas. Protobuf: each item is an element of its field. */
void ch_otel_write_frame(struct ch_buf *head, struct ch_buf *foot, bool json,
                         enum ch_otel_signal signal, const struct ch_otel_frame *frame,
                         size_t bytes);

#endif

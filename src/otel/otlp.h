/* otlp.h -- writes messages of the OpenTelemetry protocol as JSON or protobuf.
 *
 * Both encodings are made by the same calls. A table (otlp.c) has the name, the number and
 * the type of each field of opentelemetry-proto 1.9. Elements of a repeated field are written
 * by consecutive calls with the same field. Fields are not checked against the message that
 * holds them. Overflow is recorded in the buffer. */
#ifndef CH_OTEL_OTLP_H
#define CH_OTEL_OTLP_H
#include "base/buf.h"
#include "otel/conventions.h"

#define CH_OTLP_DEPTH 12 /* nested messages */

/* X(field, name in JSON, number, repeated). A name may have several numbers: one row for each. */
#define CH_OTLP_FIELDS(X)                                                                      \
    X(RESOURCE_SPANS, "resourceSpans", 1, true)                                                \
    X(RESOURCE_METRICS, "resourceMetrics", 1, true)                                            \
    X(RESOURCE_LOGS, "resourceLogs", 1, true)                                                  \
    X(RESOURCE, "resource", 1, false)                                                          \
    X(RESOURCE_ATTRIBUTES, "attributes", 1, true)                                              \
    X(SCOPE_SPANS, "scopeSpans", 2, true)                                                      \
    X(SCOPE_METRICS, "scopeMetrics", 2, true)                                                  \
    X(SCOPE_LOGS, "scopeLogs", 2, true)                                                        \
    X(SCOPE, "scope", 1, false)                                                                \
    X(SCOPE_NAME, "name", 1, false)                                                            \
    X(SCOPE_VERSION, "version", 2, false)                                                      \
    X(SCHEMA_URL, "schemaUrl", 3, false)                                                       \
    X(SPANS, "spans", 2, true)                                                                 \
    X(METRICS, "metrics", 2, true)                                                             \
    X(LOG_RECORDS, "logRecords", 2, true)                                                      \
    X(KEY, "key", 1, false)                                                                    \
    X(VALUE, "value", 2, false)                                                                \
    X(STRING_VALUE, "stringValue", 1, false)                                                   \
    X(BOOL_VALUE, "boolValue", 2, false)                                                       \
    X(INT_VALUE, "intValue", 3, false)                                                         \
    X(DOUBLE_VALUE, "doubleValue", 4, false)                                                   \
    X(ARRAY_VALUE, "arrayValue", 5, false)                                                     \
    X(VALUES, "values", 1, true)                                                               \
    X(TRACE_ID, "traceId", 1, false)                                                           \
    X(SPAN_ID, "spanId", 2, false)                                                             \
    X(PARENT_SPAN_ID, "parentSpanId", 4, false)                                                \
    X(SPAN_NAME, "name", 5, false)                                                             \
    X(SPAN_KIND, "kind", 6, false)                                                             \
    X(SPAN_START, "startTimeUnixNano", 7, false)                                               \
    X(SPAN_END, "endTimeUnixNano", 8, false)                                                   \
    X(SPAN_ATTRIBUTES, "attributes", 9, true)                                                  \
    X(SPAN_DROPPED_ATTRIBUTES, "droppedAttributesCount", 10, false)                            \
    X(SPAN_STATUS, "status", 15, false)                                                        \
    X(STATUS_MESSAGE, "message", 2, false)                                                     \
    X(STATUS_CODE, "code", 3, false)                                                           \
    X(METRIC_NAME, "name", 1, false)                                                           \
    X(METRIC_DESCRIPTION, "description", 2, false)                                             \
    X(METRIC_UNIT, "unit", 3, false)                                                           \
    X(METRIC_HISTOGRAM, "histogram", 9, false)                                                 \
    X(DATA_POINTS, "dataPoints", 1, true)                                                      \
    X(TEMPORALITY, "aggregationTemporality", 2, false)                                         \
    X(POINT_START, "startTimeUnixNano", 2, false)                                              \
    X(POINT_TIME, "timeUnixNano", 3, false)                                                    \
    X(POINT_COUNT, "count", 4, false)                                                          \
    X(POINT_SUM, "sum", 5, false)                                                              \
    X(POINT_BUCKETS, "bucketCounts", 6, false)                                                 \
    X(POINT_BOUNDS, "explicitBounds", 7, false)                                                \
    X(POINT_ATTRIBUTES, "attributes", 9, true)                                                 \
    X(POINT_MIN, "min", 11, false)                                                             \
    X(POINT_MAX, "max", 12, false)                                                             \
    X(LOG_TIME, "timeUnixNano", 1, false)                                                      \
    X(LOG_SEVERITY, "severityNumber", 2, false)                                                \
    X(LOG_SEVERITY_TEXT, "severityText", 3, false)                                             \
    X(LOG_BODY, "body", 5, false)                                                              \
    X(LOG_ATTRIBUTES, "attributes", 6, true)                                                   \
    X(LOG_TRACE_ID, "traceId", 9, false)                                                       \
    X(LOG_SPAN_ID, "spanId", 10, false)                                                        \
    X(LOG_OBSERVED, "observedTimeUnixNano", 11, false)                                         \
    X(LOG_EVENT, "eventName", 12, false)

enum ch_otlp_field {
#define CH_OTLP_ENUM(field, name, number, repeated) CH_OTLP_##field,
    CH_OTLP_FIELDS(CH_OTLP_ENUM)
#undef CH_OTLP_ENUM
    CH_OTLP_FIELD_COUNT
};

struct ch_otlp {
    struct ch_buf *out; /* borrowed */
    bool json;
    unsigned depth;
    struct {
        size_t at;  /* protobuf: where the content begins */
        bool comma; /* JSON: a member was written */
        int array;  /* JSON: the field whose array is open; -1: none */
    } level[CH_OTLP_DEPTH];
};

/* Begin a message whose content is appended to out, and end it. */
struct ch_otlp ch_otlp_begin(struct ch_buf *out, bool json);
/* Continue a message that another writer began in out; its last members are elements of f. */
struct ch_otlp ch_otlp_resume(struct ch_buf *out, bool json, enum ch_otlp_field f);
void ch_otlp_finish(struct ch_otlp *w);

/* A member that is a message: open, write its members, close. */
void ch_otlp_open(struct ch_otlp *w, enum ch_otlp_field f);
void ch_otlp_close(struct ch_otlp *w);
/* Write a member whose message is already encoded, in the same encoding. */
void ch_otlp_message(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv message);
/* JSON: begin the array of a repeated field. The caller appends the elements. */
void ch_otlp_array(struct ch_otlp *w, enum ch_otlp_field f);
/* Protobuf: begin a member with n bytes, which the caller appends. */
void ch_otlp_bytes(struct ch_otlp *w, enum ch_otlp_field f, size_t n);
/* Protobuf: make the bytes from `at` on a member. */
void ch_otlp_wrap(struct ch_buf *out, size_t at, enum ch_otlp_field f);

void ch_otlp_text(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv text);
/* n is a multiple of 4. */
void ch_otlp_id(struct ch_otlp *w, enum ch_otlp_field f, const unsigned char *id, size_t n);
void ch_otlp_fixed64(struct ch_otlp *w, enum ch_otlp_field f, uint64_t v);
/* A time in nanoseconds, as fixed64. */
void ch_otlp_time(struct ch_otlp *w, enum ch_otlp_field f, int64_t ms);
void ch_otlp_number(struct ch_otlp *w, enum ch_otlp_field f, unsigned v); /* uint32 or an enum */
void ch_otlp_int64(struct ch_otlp *w, enum ch_otlp_field f, int64_t v);
void ch_otlp_double(struct ch_otlp *w, enum ch_otlp_field f, double v);
void ch_otlp_bool(struct ch_otlp *w, enum ch_otlp_field f, bool v);
void ch_otlp_fixed64s(struct ch_otlp *w, enum ch_otlp_field f, const uint64_t *v, size_t n);
void ch_otlp_doubles(struct ch_otlp *w, enum ch_otlp_field f, const double *v, size_t n);

/* Write an attribute as an element of f, in one step because spans have many. The value of
 * ch_otlp_attribute_list is a list of one text. False: nothing is written, because the value needs
 * another form (escapes, a long text, a number with many digits). */
bool ch_otlp_attribute_text(struct ch_otlp *w, enum ch_otlp_field f,
                            const struct ch_otel_name *name, struct ch_sv text);
bool ch_otlp_attribute_list(struct ch_otlp *w, enum ch_otlp_field f,
                            const struct ch_otel_name *name, struct ch_sv text);
bool ch_otlp_attribute_int(struct ch_otlp *w, enum ch_otlp_field f,
                           const struct ch_otel_name *name, int64_t v);
bool ch_otlp_attribute_double(struct ch_otlp *w, enum ch_otlp_field f,
                              const struct ch_otel_name *name, double v);

/* The number of rejected items in the response to an export; *message (in the response, may
 * be empty) gives the reason. 0: none, or the response cannot be read. */
int64_t ch_otlp_rejected(struct ch_sv response, bool json, struct ch_buf *message);

#endif

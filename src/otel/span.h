/* span.h -- a span or a log event, before it is encoded.
 *
 * Texts are borrowed until the record is written. */
#ifndef CH_OTEL_SPAN_H
#define CH_OTEL_SPAN_H
#include "otel/conventions.h"
#include "otel/otlp.h"
#include "otel/trace_context.h"

#define CH_OTEL_ATTRIBUTES 40

enum ch_otel_kind { CH_OTEL_INTERNAL = 1, CH_OTEL_SERVER = 2, CH_OTEL_CLIENT = 3 };
enum ch_otel_severity { CH_OTEL_INFO = 9, CH_OTEL_WARN = 13, CH_OTEL_ERROR = 17 };

struct ch_otel_attribute {
    enum ch_otel_key key;
    enum { CH_OTEL_TEXT, CH_OTEL_TEXTS, CH_OTEL_INT, CH_OTEL_DOUBLE, CH_OTEL_BOOL } type;
    union {
        struct ch_sv text;
        const struct ch_sv *texts; /* `n` of them */
        int64_t number;
        double real;
        bool truth;
    };
    size_t n;
};

struct ch_otel_span {
    /* The members that many spans have in common, encoded (ch_otel_template_set): the trace, the
     * parent, the kind and attributes, and the name if `name` is empty. NULL: none. */
    struct ch_buf *template;
    struct ch_trace_context context; /* parent: of the span */
    struct ch_span_id id;
    struct ch_sv name, target; /* the span's name is both, with a space between */
    enum ch_otel_kind kind;
    int64_t start, end; /* ms */
    bool failed;
    struct ch_sv error;
    struct ch_otel_attribute attributes[CH_OTEL_ATTRIBUTES];
    size_t n;
    unsigned dropped; /* attributes that were left out */
};

/* Add an attribute. Empty texts are left out. */
void ch_otel_add_text(struct ch_otel_span *s, enum ch_otel_key key, struct ch_sv text);
void ch_otel_add_texts(struct ch_otel_span *s, enum ch_otel_key key, const struct ch_sv *texts,
                       size_t n);
void ch_otel_add_int(struct ch_otel_span *s, enum ch_otel_key key, int64_t v);
void ch_otel_add_double(struct ch_otel_span *s, enum ch_otel_key key, double v);
void ch_otel_add_bool(struct ch_otel_span *s, enum ch_otel_key key, bool v);

/* Write attributes as elements of the field f. */
void ch_otel_write_attributes(struct ch_otlp *w, enum ch_otlp_field f,
                              const struct ch_otel_attribute *attributes, size_t n);
void ch_otel_write_attribute(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv name,
                             const struct ch_otel_attribute *a);

/* Encode what spans have in common with s: its trace, parent, name, kind and attributes, at
 * least one. */
void ch_otel_template_set(struct ch_buf *t, bool json, const struct ch_otel_span *s);

/* Append the message Span. */
void ch_otel_write_span(struct ch_buf *out, bool json, const struct ch_otel_span *s);

/* Append the message LogRecord. The span holds the event's name, its time (start), its text
 * (error) and its attributes; id is the id of the event's span. */
void ch_otel_write_log(struct ch_buf *out, bool json, const struct ch_otel_span *s,
                       enum ch_otel_severity severity);

#endif

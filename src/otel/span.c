/* span.c -- see span.h. */
#include "otel/span.h"

#include "base/mem.h"

#define TEMPLATE_BYTES 1500 /* usual size of a template */

static struct ch_otel_attribute *add(struct ch_otel_span *s, enum ch_otel_key key) {
    if (s->n == CH_OTEL_ATTRIBUTES) {
        s->dropped++;
        s->n--; /* the last attribute is replaced */
    }
    struct ch_otel_attribute *a = &s->attributes[s->n++];
    a->key = key;
    return a;
}

void ch_otel_add_text(struct ch_otel_span *s, enum ch_otel_key key, struct ch_sv text) {
    if (!text.n)
        return;
    struct ch_otel_attribute *a = add(s, key);
    a->type = CH_OTEL_TEXT;
    a->text = text;
}

void ch_otel_add_texts(struct ch_otel_span *s, enum ch_otel_key key, const struct ch_sv *texts,
                       size_t n) {
    if (!n)
        return;
    struct ch_otel_attribute *a = add(s, key);
    a->type = CH_OTEL_TEXTS;
    a->texts = texts;
    a->n = n;
}

void ch_otel_add_int(struct ch_otel_span *s, enum ch_otel_key key, int64_t v) {
    struct ch_otel_attribute *a = add(s, key);
    a->type = CH_OTEL_INT;
    a->number = v;
}

void ch_otel_add_double(struct ch_otel_span *s, enum ch_otel_key key, double v) {
    struct ch_otel_attribute *a = add(s, key);
    a->type = CH_OTEL_DOUBLE;
    a->real = v;
}

void ch_otel_add_bool(struct ch_otel_span *s, enum ch_otel_key key, bool v) {
    struct ch_otel_attribute *a = add(s, key);
    a->type = CH_OTEL_BOOL;
    a->truth = v;
}

/* --- writing */

static void write_value(struct ch_otlp *w, const struct ch_otel_attribute *a) {
    switch (a->type) {
    case CH_OTEL_TEXT:
        ch_otlp_text(w, CH_OTLP_STRING_VALUE, a->text);
        break;
    case CH_OTEL_TEXTS:
        ch_otlp_open(w, CH_OTLP_ARRAY_VALUE);
        for (size_t i = 0; i < a->n; i++) {
            ch_otlp_open(w, CH_OTLP_VALUES);
            ch_otlp_text(w, CH_OTLP_STRING_VALUE, a->texts[i]);
            ch_otlp_close(w);
        }
        ch_otlp_close(w);
        break;
    case CH_OTEL_INT:
        ch_otlp_int64(w, CH_OTLP_INT_VALUE, a->number);
        break;
    case CH_OTEL_DOUBLE:
        ch_otlp_double(w, CH_OTLP_DOUBLE_VALUE, a->real);
        break;
    case CH_OTEL_BOOL:
        ch_otlp_bool(w, CH_OTLP_BOOL_VALUE, a->truth);
        break;
    }
}

void ch_otel_write_attribute(struct ch_otlp *w, enum ch_otlp_field f, struct ch_sv name,
                             const struct ch_otel_attribute *a) {
    ch_otlp_open(w, f);
    ch_otlp_text(w, CH_OTLP_KEY, name);
    ch_otlp_open(w, CH_OTLP_VALUE);
    write_value(w, a);
    ch_otlp_close(w);
    ch_otlp_close(w);
}

/* The usual values. False: nothing is written. */
static bool write_usual(struct ch_otlp *w, enum ch_otlp_field f, const struct ch_otel_name *name,
                        const struct ch_otel_attribute *a) {
    switch (a->type) {
    case CH_OTEL_TEXT:
        return ch_otlp_attribute_text(w, f, name, a->text);
    case CH_OTEL_TEXTS:
        return a->n == 1 && ch_otlp_attribute_list(w, f, name, a->texts[0]);
    case CH_OTEL_INT:
        return ch_otlp_attribute_int(w, f, name, a->number);
    case CH_OTEL_DOUBLE:
        return ch_otlp_attribute_double(w, f, name, a->real);
    case CH_OTEL_BOOL:
        break;
    }
    return false;
}

void ch_otel_write_attributes(struct ch_otlp *w, enum ch_otlp_field f,
                              const struct ch_otel_attribute *attributes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct ch_otel_name *name = ch_otel_name(attributes[i].key);
        if (!write_usual(w, f, name, &attributes[i]))
            ch_otel_write_attribute(w, f, ch_otel_name_text(name), &attributes[i]);
    }
}

static void write_name(struct ch_otlp *w, const struct ch_otel_span *s) {
    char name[256];
    size_t n = CH_MIN(s->name.n, sizeof(name) / 2);
    size_t m = CH_MIN(s->target.n, sizeof(name) - n - 1);
    if (!s->target.n) {
        ch_otlp_text(w, CH_OTLP_SPAN_NAME, s->name);
        return;
    }
    memcpy(name, s->name.p, n);
    name[n] = ' ';
    memcpy(name + n + 1, s->target.p, m);
    ch_otlp_text(w, CH_OTLP_SPAN_NAME, ch_sv(name, n + 1 + m));
}

/* The members that a template may hold. Attributes come last, so that more may follow. */
static void write_common(struct ch_otlp *w, const struct ch_otel_span *s) {
    ch_otlp_id(w, CH_OTLP_TRACE_ID, s->context.trace, CH_TRACE_ID);
    if (s->context.has_parent)
        ch_otlp_id(w, CH_OTLP_PARENT_SPAN_ID, s->context.parent.bytes, CH_SPAN_ID);
    ch_otlp_number(w, CH_OTLP_SPAN_KIND, s->kind);
    if (s->name.n)
        write_name(w, s);
    ch_otel_write_attributes(w, CH_OTLP_SPAN_ATTRIBUTES, s->attributes, s->n);
}

void ch_otel_template_set(struct ch_buf *t, bool json, const struct ch_otel_span *s) {
    ch_buf_clear(t);
    ch_buf_reserve(t, TEMPLATE_BYTES);
    struct ch_otlp w = ch_otlp_begin(t, json);
    write_common(&w, s); /* the writer is not finished: each span continues the message */
}

/* --- spans and log events */

void ch_otel_write_span(struct ch_buf *out, bool json, const struct ch_otel_span *s) {
    struct ch_otlp w;
    if (s->template) {
        ch_buf_add_sv(out, ch_buf_sv(s->template));
        w = ch_otlp_resume(out, json, CH_OTLP_SPAN_ATTRIBUTES);
        ch_otel_write_attributes(&w, CH_OTLP_SPAN_ATTRIBUTES, s->attributes, s->n);
        if (s->name.n)
            write_name(&w, s);
    } else {
        w = ch_otlp_begin(out, json);
        write_common(&w, s);
    }
    ch_otlp_id(&w, CH_OTLP_SPAN_ID, s->id.bytes, CH_SPAN_ID);
    ch_otlp_time(&w, CH_OTLP_SPAN_START, s->start);
    ch_otlp_time(&w, CH_OTLP_SPAN_END, CH_MAX(s->start, s->end));
    if (s->dropped)
        ch_otlp_number(&w, CH_OTLP_SPAN_DROPPED_ATTRIBUTES, s->dropped);
    if (s->failed) {
        ch_otlp_open(&w, CH_OTLP_SPAN_STATUS);
        if (s->error.n)
            ch_otlp_text(&w, CH_OTLP_STATUS_MESSAGE, s->error);
        ch_otlp_number(&w, CH_OTLP_STATUS_CODE, 2);
        ch_otlp_close(&w);
    }
    ch_otlp_finish(&w);
}

void ch_otel_write_log(struct ch_buf *out, bool json, const struct ch_otel_span *s,
                       enum ch_otel_severity severity) {
    struct ch_otlp w = ch_otlp_begin(out, json);
    ch_otlp_time(&w, CH_OTLP_LOG_TIME, s->start);
    ch_otlp_number(&w, CH_OTLP_LOG_SEVERITY, severity);
    ch_otlp_text(&w, CH_OTLP_LOG_SEVERITY_TEXT,
                 severity == CH_OTEL_INFO   ? CH_SV("INFO")
                 : severity == CH_OTEL_WARN ? CH_SV("WARN")
                                            : CH_SV("ERROR"));
    if (s->error.n) {
        ch_otlp_open(&w, CH_OTLP_LOG_BODY);
        ch_otlp_text(&w, CH_OTLP_STRING_VALUE, s->error);
        ch_otlp_close(&w);
    }
    ch_otel_write_attributes(&w, CH_OTLP_LOG_ATTRIBUTES, s->attributes, s->n);
    ch_otlp_id(&w, CH_OTLP_LOG_TRACE_ID, s->context.trace, CH_TRACE_ID);
    ch_otlp_id(&w, CH_OTLP_LOG_SPAN_ID, s->id.bytes, CH_SPAN_ID);
    ch_otlp_time(&w, CH_OTLP_LOG_OBSERVED, s->start);
    ch_otlp_text(&w, CH_OTLP_LOG_EVENT, s->name);
    ch_otlp_finish(&w);
}

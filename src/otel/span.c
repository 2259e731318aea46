/* span.c -- see span.h. */
#include "otel/span.h"

#include <stdio.h>

#include "base/mem.h"

#define NS_PER_MS 1000000u

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

void ch_otel_write_attribute(struct ch_otlp *w, enum ch_otlp_field f, const char *name,
                             const struct ch_otel_attribute *a) {
    ch_otlp_open(w, f);
    ch_otlp_text(w, CH_OTLP_KEY, ch_sv_str(name));
    ch_otlp_open(w, CH_OTLP_VALUE);
    write_value(w, a);
    ch_otlp_close(w);
    ch_otlp_close(w);
}

/* As ch_otel_write_attribute in JSON, with the constant part of each attribute precomputed. */
static void write_known(struct ch_otlp *w, enum ch_otlp_field f,
                        const struct ch_otel_attribute *a) {
    static const struct ch_sv heads[CH_OTEL_KEY_COUNT] = {
#define SPAN_HEAD(key, name)                                                                   \
    [CH_OTEL_##key] = {"{\"key\":\"" name "\",\"value\":{",                                    \
                       sizeof("{\"key\":\"" name "\",\"value\":{") - 1},
        CH_OTEL_KEYS(SPAN_HEAD)
#undef SPAN_HEAD
    };
    ch_otlp_message(w, f, heads[a->key]);
    struct ch_otlp value = {.out = w->out, .json = true, .level = {{.array = -1}}};
    write_value(&value, a);
    CH_BUF_LIT(w->out, "}}");
}

void ch_otel_write_attributes(struct ch_otlp *w, enum ch_otlp_field f,
                              const struct ch_otel_attribute *attributes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (w->json)
            write_known(w, f, &attributes[i]);
        else
            ch_otel_write_attribute(w, f, ch_otel_key_name(attributes[i].key), &attributes[i]);
}

static uint64_t nanoseconds(int64_t ms) {
    return ms > 0 ? (uint64_t)ms * NS_PER_MS : 0;
}

static void write_name(struct ch_otlp *w, const struct ch_otel_span *s) {
    char name[256];
    int n = s->target.n ? snprintf(name, sizeof(name), "%.*s %.*s", CH_SV_FMT(s->name),
                                   CH_SV_FMT(s->target))
                        : 0;
    ch_otlp_text(w, CH_OTLP_SPAN_NAME,
                 n > 0 ? ch_sv(name, CH_MIN((size_t)n, sizeof(name) - 1)) : s->name);
}

void ch_otel_write_span(struct ch_buf *out, bool json, const struct ch_otel_span *s) {
    struct ch_otlp w = ch_otlp_begin(out, json);
    ch_otlp_id(&w, CH_OTLP_TRACE_ID, s->context.trace, CH_TRACE_ID);
    ch_otlp_id(&w, CH_OTLP_SPAN_ID, s->id.bytes, CH_SPAN_ID);
    if (s->context.has_parent)
        ch_otlp_id(&w, CH_OTLP_PARENT_SPAN_ID, s->context.parent.bytes, CH_SPAN_ID);
    write_name(&w, s);
    ch_otlp_number(&w, CH_OTLP_SPAN_KIND, s->kind);
    ch_otlp_fixed64(&w, CH_OTLP_SPAN_START, nanoseconds(s->start));
    ch_otlp_fixed64(&w, CH_OTLP_SPAN_END, nanoseconds(CH_MAX(s->start, s->end)));
    ch_otel_write_attributes(&w, CH_OTLP_SPAN_ATTRIBUTES, s->attributes, s->n);
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
    ch_otlp_fixed64(&w, CH_OTLP_LOG_TIME, nanoseconds(s->start));
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
    ch_otlp_fixed64(&w, CH_OTLP_LOG_OBSERVED, nanoseconds(s->start));
    ch_otlp_text(&w, CH_OTLP_LOG_EVENT, s->name);
    ch_otlp_finish(&w);
}

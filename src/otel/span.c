/* span.c -- see span.h. */
#include "otel/span.h"

#include "base/mem.h"

#define NS_PER_MS 1000000u
#define TEMPLATE_BYTES 1500 /* usual size of a template */
#define OWN_TEXT 200 /* bytes of a text that a template keeps */

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

/* The bytes of a value that can be copied and replaced; empty: another value. */
static struct ch_sv value_bytes(bool json, const struct ch_otel_attribute *a,
                                char number[CH_OTLP_NUMBER]) {
    struct ch_sv text = CH_SV("");
    switch (a->type) {
    case CH_OTEL_INT:
        return ch_otlp_int_bytes(json, a->number, number);
    case CH_OTEL_DOUBLE:
        return ch_otlp_double_bytes(json, a->real, number);
    case CH_OTEL_TEXT:
        text = a->text;
        break;
    case CH_OTEL_TEXTS:
        text = a->n == 1 ? a->texts[0] : text;
        break;
    case CH_OTEL_BOOL:
        break;
    }
    return ch_otlp_is_plain(json, text) ? text : CH_SV("");
}

/* Returns the number of bytes of the value, as of value_bytes. */
static size_t write_attribute(struct ch_otlp *w, enum ch_otlp_field f,
                              const struct ch_otel_attribute *a) {
    struct ch_sv key = ch_otel_key_name(a->key);
    char number[CH_OTLP_NUMBER];
    struct ch_sv bytes = value_bytes(w->json, a, number);
    enum ch_otlp_field value = a->type == CH_OTEL_TEXT  ? CH_OTLP_STRING_VALUE
                               : a->type == CH_OTEL_INT ? CH_OTLP_INT_VALUE
                                                        : CH_OTLP_DOUBLE_VALUE;
    if (!bytes.n || a->type == CH_OTEL_TEXTS || !ch_otlp_attribute(w, f, key, value, bytes))
        ch_otel_write_attribute(w, f, key, a);
    return bytes.n;
}

void ch_otel_write_attributes(struct ch_otlp *w, enum ch_otlp_field f,
                              const struct ch_otel_attribute *attributes, size_t n) {
    for (size_t i = 0; i < n; i++)
        write_attribute(w, f, &attributes[i]);
}

static uint64_t nanoseconds(int64_t ms) {
    return ms > 0 ? (uint64_t)ms * NS_PER_MS : 0;
}

static uint64_t start_of(const struct ch_otel_span *s) {
    return nanoseconds(s->start);
}

static uint64_t end_of(const struct ch_otel_span *s) {
    return nanoseconds(CH_MAX(s->start, s->end));
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

void ch_otel_template_set(struct ch_otel_template *t, bool json, const struct ch_otel_span *s) {
    ch_buf_clear(&t->bytes);
    ch_buf_reserve(&t->bytes, TEMPLATE_BYTES);
    struct ch_otlp w = ch_otlp_begin(&t->bytes, json);
    write_common(&w, s); /* the writer is not finished: each span continues the message */
    t->common = t->bytes.n;
    t->n = 0;
}

/* --- the last span of a template */

/* Bytes of an attribute behind its value: the braces, brackets and quotes of JSON. */
static size_t behind_value(bool json, const struct ch_otel_attribute *a) {
    return !json                       ? 0
           : a->type == CH_OTEL_DOUBLE ? sizeof("}}") - 1
           : a->type == CH_OTEL_TEXTS  ? sizeof("\"}]}}}") - 1
                                       : sizeof("\"}}") - 1;
}

static struct ch_otel_slot slot_of(const struct ch_otel_template *t, enum ch_otel_key key,
                                   size_t n, size_t behind) {
    return (struct ch_otel_slot){key, (uint32_t)(t->bytes.n - behind - n), (uint32_t)n};
}

static void encode_own(struct ch_otel_template *t, bool json, const struct ch_otel_span *s) {
    char number[CH_OTLP_NUMBER];
    t->bytes.n = t->common;
    struct ch_otlp w = ch_otlp_resume(&t->bytes, json, CH_OTLP_SPAN_ATTRIBUTES);
    for (size_t i = 0; i < s->n; i++) {
        const struct ch_otel_attribute *a = &s->attributes[i];
        size_t n = write_attribute(&w, CH_OTLP_SPAN_ATTRIBUTES, a);
        t->slots[i] = slot_of(t, a->key, n, behind_value(json, a));
    }
    if (s->name.n)
        write_name(&w, s);
    t->target = slot_of(t, 0, ch_otlp_is_plain(json, s->target) ? s->target.n : 0, json);
    ch_otlp_id(&w, CH_OTLP_SPAN_ID, s->id.bytes, CH_SPAN_ID);
    t->id = slot_of(t, 0, json ? 2 * CH_SPAN_ID : CH_SPAN_ID, json);
    ch_otlp_fixed64(&w, CH_OTLP_SPAN_START, start_of(s));
    t->start = slot_of(t, 0, ch_otlp_fixed64_bytes(json, start_of(s), number).n, json);
    ch_otlp_fixed64(&w, CH_OTLP_SPAN_END, end_of(s));
    t->end = slot_of(t, 0, ch_otlp_fixed64_bytes(json, end_of(s), number).n, json);
    ch_otlp_finish(&w);
    t->n = s->n;
}

static bool replace(struct ch_otel_template *t, const struct ch_otel_slot *slot,
                    struct ch_sv bytes) {
    if (bytes.n != slot->n)
        return false;
    memcpy(t->bytes.p + slot->at, bytes.p, bytes.n);
    return true;
}

static bool is_unchanged(const struct ch_otel_template *t, const struct ch_otel_slot *slot,
                         struct ch_sv text) {
    return slot->n == text.n && memcmp(t->bytes.p + slot->at, text.p, text.n) == 0;
}

/* False: the span must be encoded. Values of the last span may have been replaced then. */
static bool replace_own(struct ch_otel_template *t, bool json, const struct ch_otel_span *s) {
    char number[CH_OTLP_NUMBER];
    if (t->n != s->n || !is_unchanged(t, &t->target, s->target))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        const struct ch_otel_attribute *a = &s->attributes[i];
        const struct ch_otel_slot *slot = &t->slots[i];
        if (a->key != slot->key || !slot->n)
            return false;
        if (a->type == CH_OTEL_TEXT && is_unchanged(t, slot, a->text))
            continue;
        if (!replace(t, slot, value_bytes(json, a, number)))
            return false;
    }
    return replace(t, &t->id, ch_otlp_id_bytes(json, s->id.bytes, number)) &&
           replace(t, &t->start, ch_otlp_fixed64_bytes(json, start_of(s), number)) &&
           replace(t, &t->end, ch_otlp_fixed64_bytes(json, end_of(s), number));
}

/* A template keeps no span with a failure or long texts. */
static bool is_usual(const struct ch_otel_span *s) {
    if (s->failed || s->dropped || !s->n || s->n > CH_OTEL_OWN || s->target.n > OWN_TEXT)
        return false;
    for (size_t i = 0; i < s->n; i++)
        if (s->attributes[i].type == CH_OTEL_TEXT && s->attributes[i].text.n > OWN_TEXT)
            return false;
    return true;
}

static void write_usual(struct ch_buf *out, bool json, const struct ch_otel_span *s) {
    struct ch_otel_template *t = s->template;
    if (!replace_own(t, json, s))
        encode_own(t, json, s);
    ch_buf_add_sv(out, ch_buf_sv(&t->bytes));
}

/* --- spans and log events */

void ch_otel_write_span(struct ch_buf *out, bool json, const struct ch_otel_span *s) {
    struct ch_otlp w;
    if (s->template && is_usual(s)) {
        write_usual(out, json, s);
        return;
    }
    if (s->template) {
        ch_buf_add(out, s->template->bytes.p, s->template->common);
        w = ch_otlp_resume(out, json, CH_OTLP_SPAN_ATTRIBUTES);
        ch_otel_write_attributes(&w, CH_OTLP_SPAN_ATTRIBUTES, s->attributes, s->n);
        if (s->name.n)
            write_name(&w, s);
    } else {
        w = ch_otlp_begin(out, json);
        write_common(&w, s);
    }
    ch_otlp_id(&w, CH_OTLP_SPAN_ID, s->id.bytes, CH_SPAN_ID);
    ch_otlp_fixed64(&w, CH_OTLP_SPAN_START, start_of(s));
    ch_otlp_fixed64(&w, CH_OTLP_SPAN_END, end_of(s));
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

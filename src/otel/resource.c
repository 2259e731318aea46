/* resource.c -- see resource.h. */
#include "otel/resource.h"

#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "otel/span.h"

/* An id that differs between two starts of the process. */
static struct ch_sv instance_id(char out[33]) {
    unsigned char bytes[16] = {0};
    if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != (ssize_t)sizeof(bytes))
        snprintf((char *)bytes, sizeof(bytes), "%ld", (long)getpid());
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return ch_sv_str(out);
}

static bool is_set(const struct ch_otel_settings *s, enum ch_otel_key key) {
    for (size_t i = 0; i < s->nresource; i++)
        if (ch_sv_eq(s->resource[i].key, ch_otel_name_text(ch_otel_name(key))))
            return true;
    return false;
}

static void add_unless_set(struct ch_otel_span *all, const struct ch_otel_settings *s,
                           enum ch_otel_key key, struct ch_sv text) {
    if (!is_set(s, key))
        ch_otel_add_text(all, key, text);
}

void ch_otel_write_resource(struct ch_buf *out, bool json, const struct ch_otel_settings *s,
                            bool here) {
    struct ch_otlp w = ch_otlp_begin(out, json);
    struct ch_otel_span all = {0};
    char id[33], host[256] = "";
    ch_otel_add_text(&all, CH_OTEL_SERVICE_NAME, ch_sv_str(s->service));
    add_unless_set(&all, s, CH_OTEL_SERVICE_VERSION, CH_SV(CHELA_VERSION));
    ch_otel_add_text(&all, CH_OTEL_SDK_NAME, CH_SV("chela"));
    ch_otel_add_text(&all, CH_OTEL_SDK_LANGUAGE, CH_SV("c"));
    ch_otel_add_text(&all, CH_OTEL_SDK_VERSION, CH_SV(CHELA_VERSION));
    if (here) {
        add_unless_set(&all, s, CH_OTEL_SERVICE_INSTANCE, instance_id(id));
        gethostname(host, sizeof(host) - 1);
        add_unless_set(&all, s, CH_OTEL_HOST_NAME, ch_sv_str(host));
        if (!is_set(s, CH_OTEL_PROCESS_PID))
            ch_otel_add_int(&all, CH_OTEL_PROCESS_PID, getpid());
    }
    ch_otel_write_attributes(&w, CH_OTLP_RESOURCE_ATTRIBUTES, all.attributes, all.n);
    for (size_t i = 0; i < s->nresource; i++) {
        struct ch_otel_attribute a = {.type = CH_OTEL_TEXT, .text = s->resource[i].value};
        if (!ch_sv_eq(s->resource[i].key, ch_otel_name_text(ch_otel_name(CH_OTEL_SERVICE_NAME))))
            ch_otel_write_attribute(&w, CH_OTLP_RESOURCE_ATTRIBUTES, s->resource[i].key, &a);
    }
    ch_otlp_finish(&w);
}

void ch_otel_write_scope(struct ch_buf *out, bool json) {
    struct ch_otlp w = ch_otlp_begin(out, json);
    ch_otlp_text(&w, CH_OTLP_SCOPE_NAME, CH_SV("chela"));
    ch_otlp_text(&w, CH_OTLP_SCOPE_VERSION, CH_SV(CHELA_VERSION));
    ch_otlp_finish(&w);
}

/* embedding.c -- see embedding.h. */
#include "otel/embedding.h"

#include <stdio.h>

#include "base/redact.h"
#include "base/random_id.h"
#include "model/codec/errors.h"
#include "otel/follow_request.h"

_Static_assert(CH_EMBED_CONTEXT == CH_TRACEPARENT, "a trace context fits");

void ch_otel_embedding_begin(struct ch_otel_follow *f, const struct ch_otel_settings *settings,
                             const struct ch_embed_opts *o, struct ch_embed_record *r,
                             int64_t now) {
    struct ch_trace_context c = {0};
    char random[24];
    ch_random_id("", random);
    if (o->run && ch_otel_follow_context(f, o->run, ch_sv_str(o->call), NULL, r->parent))
        ch_trace_context_read(ch_sv_str(r->parent), &c);
    else if (ch_trace_context_read(o->trace, &c))
        ch_trace_context_write(&c, c.parent, r->parent);
    else
        c = ch_trace_context_of_run(random);
    if (!c.has_parent || !settings->heeds_parent)
        c.sampled = ch_trace_context_in_share(&c, settings->share);
    r->start = now;
    ch_trace_context_write(&c, ch_span_id_below(c.parent, ch_sv_str(random), 0), r->inside);
}

/* A word with few values. */
static struct ch_sv failure_type(const struct ch_embed_record *r, char buf[16]) {
    if (r->status >= 400) {
        snprintf(buf, 16, "%d", r->status);
        return ch_sv_str(buf);
    }
    switch (r->err->code) {
    case CHELA_ECANCELED:
        return CH_SV("cancelled");
    case CHELA_ETIMEOUT:
        return ch_sv_str(ch_error_class_name(CH_ERR_TIMEOUT));
    case CHELA_EPROTO:
    case CHELA_ELIMIT:
        return ch_sv_str(ch_error_class_name(CH_ERR_FORMAT));
    default:
        return ch_sv_str(ch_error_class_name(CH_ERR_NETWORK));
    }
}

static void measure(const struct ch_otel_sink *sink, const struct ch_otel_span *s,
                    int64_t tokens) {
    struct ch_otel_span series = *s;
    if (!sink->measure)
        return;
    sink->measure(CH_OTEL_METRIC_OPERATION_DURATION, (double)CH_MAX(s->end - s->start, 0) / 1000,
                  series.attributes, series.n, NULL, sink->user);
    if (!tokens)
        return;
    ch_otel_add_text(&series, CH_OTEL_TOKEN_TYPE, CH_SV("input"));
    sink->measure(CH_OTEL_METRIC_TOKEN_USAGE, (double)tokens, series.attributes, series.n, NULL,
                  sink->user);
}

void ch_otel_embedding_end(const struct ch_otel_sink *sink, const struct ch_embed_record *r,
                           int64_t now) {
    struct ch_otel_span s = {.start = r->start, .end = now, .failed = r->err != NULL};
    struct ch_trace_context above = {0};
    CH_BUF_AUTO error = {0};
    char type[16];
    ch_trace_context_read(ch_sv_str(r->inside), &s.context);
    ch_trace_context_read(ch_sv_str(r->parent), &above);
    s.id = s.context.parent;
    s.context.parent = above.parent;
    s.context.has_parent = above.has_parent;
    ch_otel_add_model(&s, CH_SV(CH_OTEL_EMBEDDINGS), r->endpoint, r->model);
    if (s.failed) {
        ch_otel_add_text(&s, CH_OTEL_ERROR_TYPE, failure_type(r, type));
        ch_redact_copy(&error, ch_sv_str(r->err->message));
        s.error = ch_buf_sv(&error);
    }
    measure(sink, &s, r->tokens);
    if (!sink->span || !s.context.sampled)
        return;
    if (r->tokens)
        ch_otel_add_int(&s, CH_OTEL_INPUT_TOKENS, r->tokens);
    sink->span(&s, sink->user);
}

/* telemetry.c -- the public functions of chela/telemetry.h. */
#include "chela/telemetry.h"

#include <stdio.h>
#include <unistd.h>

#include "agent/handle/runtime.h"
#include "base/error.h"
#include "base/opts.h"
#include "io/loop_entry.h"
#include "otel/embedding.h"
#include "otel/exporter.h"
#include "otel/metrics.h"
#include "otel/resource.h"

/* A call of chela_telemetry_flush that waits. Telemetry may end in the meantime. */
struct flush {
    struct ch_timer deadline;
    bool over;
};

struct telemetry {
    struct ch_extension extension; /* in the runtime's extensions */
    struct ch_listener listener;   /* in the runtime's listeners */
    struct ch_embed_observer observer; /* of the runtime's embedding requests */
    chela_runtime *rt;
    struct ch_arena arena;
    struct ch_otel_settings settings;
    struct ch_buf resource[2], scope[2]; /* encoded: protobuf, JSON */
    struct ch_otel_exporter *exporters[CH_OTEL_SIGNALS]; /* NULL: not exported */
    struct ch_otel_metrics *metrics;                     /* NULL: not exported */
    bool measured; /* since the last export */
    struct ch_timer interval;
    struct ch_otel_sink sink;
    struct ch_otel_follow *follow;
    struct flush *flush; /* borrowed; NULL: no flush waits */
};

static const char telemetry_kind; /* its address identifies the extension */

static struct telemetry *telemetry_of(const chela_runtime *rt) {
    for (CH_LIST_EACH(k, &rt->extensions)) {
        struct ch_extension *x = CH_CONTAINER(k, struct ch_extension, link);
        if (x->kind == &telemetry_kind)
            return CH_CONTAINER(x, struct telemetry, extension);
    }
    return NULL;
}

/* --- the sink */

static void export_span(const struct ch_otel_span *s, void *user) {
    struct telemetry *t = user;
    struct ch_otel_exporter *e = t->exporters[CH_OTEL_TRACES];
    ch_otel_write_span(ch_otel_exporter_begin(e), t->settings.signals[CH_OTEL_TRACES].json, s);
    ch_otel_exporter_end(e);
}

static void export_log(const struct ch_otel_span *s, enum ch_otel_severity severity, void *user) {
    struct telemetry *t = user;
    struct ch_otel_exporter *e = t->exporters[CH_OTEL_LOGS];
    ch_otel_write_log(ch_otel_exporter_begin(e), t->settings.signals[CH_OTEL_LOGS].json, s,
                      severity);
    ch_otel_exporter_end(e);
}

static void export_metrics(struct telemetry *t) {
    struct ch_otel_exporter *e = t->exporters[CH_OTEL_METRIC_SIGNAL];
    int64_t now = ch_now_ms(ch_loop_clock(t->rt->loop));
    if (!t->measured)
        return;
    t->measured = false;
    ch_otel_exporter_clear(e); /* the values since the start contain the older ones */
    for (unsigned i = 0; i < CH_OTEL_METRIC_COUNT; i++) {
        if (!ch_otel_metrics_any(t->metrics, (enum ch_otel_metric)i))
            continue;
        ch_otel_metrics_write(t->metrics, (enum ch_otel_metric)i, now, ch_otel_exporter_begin(e));
        ch_otel_exporter_end(e);
    }
    ch_otel_exporter_flush(e, NULL, NULL);
}

static void telemetry_on_interval(struct ch_timer *timer) {
    export_metrics(CH_CONTAINER(timer, struct telemetry, interval));
}

static void export_value(enum ch_otel_metric metric, double value,
                         const struct ch_otel_attribute *attributes, size_t n,
                         struct ch_otel_point **memo, void *user) {
    struct telemetry *t = user;
    ch_otel_metrics_add(t->metrics, metric, value, attributes, n, memo);
    t->measured = true;
    if (!ch_timer_armed(&t->interval))
        ch_timer_start(t->rt->loop, &t->interval,
                       t->settings.signals[CH_OTEL_METRIC_SIGNAL].delay_ms, telemetry_on_interval);
}

static void telemetry_heard(struct ch_listener *l, chela_run *run, const struct chela_event *ev) {
    ch_otel_follow_event(CH_CONTAINER(l, struct telemetry, listener)->follow, run, ev);
}

static void telemetry_checkpoint(struct ch_listener *l, chela_run *run,
                                 const struct ch_block *call, const char *state) {
    struct telemetry *t = CH_CONTAINER(l, struct telemetry, listener);
    ch_otel_follow_checkpoint(t->follow, run, call, state,
                              ch_now_ms(ch_loop_clock(t->rt->loop)));
}

static void telemetry_queried(struct ch_listener *l, chela_run *run,
                              const struct ch_listener_query *q) {
    ch_otel_follow_query(CH_CONTAINER(l, struct telemetry, listener)->follow, run, q);
}

static bool telemetry_entered(struct ch_listener *l, struct ch_sv caller,
                              char out[CH_LISTENER_CONTEXT]) {
    (void)l;
    return ch_otel_follow_enter(caller, out);
}

static void telemetry_left(struct ch_listener *l, const struct ch_listener_request *r) {
    ch_otel_follow_leave(CH_CONTAINER(l, struct telemetry, listener)->follow, r);
}

static bool telemetry_context(struct ch_listener *l, const char *run, struct ch_sv call,
                              const struct ch_listener_query *q, char out[CH_LISTENER_CONTEXT]) {
    return ch_otel_follow_context(CH_CONTAINER(l, struct telemetry, listener)->follow, run, call,
                                  q, out);
}

static void telemetry_embed_begin(struct ch_embed_observer *w, const struct ch_embed_opts *o,
                                  struct ch_embed_record *r) {
    struct telemetry *t = CH_CONTAINER(w, struct telemetry, observer);
    ch_otel_embedding_begin(t->follow, &t->settings, o, r, ch_now_ms(ch_loop_clock(t->rt->loop)));
}

static void telemetry_embed_end(struct ch_embed_observer *w, const struct ch_embed_record *r) {
    struct telemetry *t = CH_CONTAINER(w, struct telemetry, observer);
    ch_otel_embedding_end(&t->sink, r, ch_now_ms(ch_loop_clock(t->rt->loop)));
}

/* --- start and end */

static void telemetry_close(struct ch_extension *x) {
    struct telemetry *t = CH_CONTAINER(x, struct telemetry, extension);
    ch_list_del(&x->link);
    ch_list_del(&t->listener.link);
    if (t->rt->embed_observer == &t->observer)
        t->rt->embed_observer = NULL;
    ch_timer_stop(t->rt->loop, &t->interval);
    if (t->flush)
        t->flush->over = true;
    for (unsigned i = 0; i < CH_OTEL_SIGNALS; i++)
        ch_otel_exporter_free(t->exporters[i]);
    ch_otel_metrics_free(t->metrics);
    if (t->follow)
        ch_otel_follow_free(t->follow);
    for (size_t i = 0; i < 2; i++) {
        ch_buf_release(&t->resource[i]);
        ch_buf_release(&t->scope[i]);
    }
    ch_arena_release(&t->arena);
    ch_free(t);
}

static const char *telemetry_env(const char *name, void *user) {
    return ch_providers_env(user, name);
}

static void open_exporters(struct telemetry *t) {
    for (unsigned i = 0; i < CH_OTEL_SIGNALS; i++) {
        const struct ch_otel_signal_settings *s = &t->settings.signals[i];
        struct ch_otel_frame frame = {ch_buf_sv(&t->resource[s->json]),
                                      ch_buf_sv(&t->scope[s->json])};
        if (s->url)
            t->exporters[i] = ch_otel_exporter_new(t->rt->loop, ch_http_transport(t->rt->http),
                                                   (enum ch_otel_signal)i, s, &frame);
    }
}

static void telemetry_open(struct telemetry *t) {
    chela_runtime *rt = t->rt;
    for (unsigned json = 0; json < 2; json++) {
        ch_otel_write_resource(&t->resource[json], json, &t->settings, true);
        ch_otel_write_scope(&t->scope[json], json);
    }
    open_exporters(t);
    if (t->exporters[CH_OTEL_METRIC_SIGNAL])
        t->metrics = ch_otel_metrics_new(t->settings.signals[CH_OTEL_METRIC_SIGNAL].json,
                                         ch_now_ms(ch_loop_clock(rt->loop)));
    t->sink = (struct ch_otel_sink){.span = t->exporters[CH_OTEL_TRACES] ? export_span : NULL,
                                    .log = t->exporters[CH_OTEL_LOGS] ? export_log : NULL,
                                    .measure = t->metrics ? export_value : NULL,
                                    .user = t};
    t->follow = ch_otel_follow_new(&t->settings, &t->sink);
    t->listener.ignored = CH_OTEL_FOLLOW_IGNORED;
    t->listener.heard = telemetry_heard;
    t->listener.context = telemetry_context;
    t->listener.checkpoint = telemetry_checkpoint;
    t->listener.queried = telemetry_queried;
    t->listener.entered = telemetry_entered;
    t->listener.left = telemetry_left;
    ch_list_add(&rt->listeners, &t->listener.link);
    t->observer = (struct ch_embed_observer){telemetry_embed_begin, telemetry_embed_end};
    rt->embed_observer = &t->observer;
}

int chela_telemetry_start(chela_runtime *rt, const struct chela_telemetry_opts *given,
                          struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    struct chela_telemetry_opts opts;
    int rc = CH_OPTS_READ(chela_telemetry_opts, &opts, given, err);
    if (rc < 0)
        return rc;
    CH_LOG_SCOPE(rt->sink);
    struct telemetry *before = telemetry_of(rt), *t = ch_alloc(sizeof(*t));
    if (before)
        telemetry_close(&before->extension);
    t->rt = rt;
    t->extension.kind = &telemetry_kind;
    t->extension.close = telemetry_close;
    ch_list_add(&rt->extensions, &t->extension.link);
    if (ch_otel_settings_read(&t->settings, &opts, telemetry_env, &rt->providers, &t->arena))
        telemetry_open(t);
    else
        telemetry_close(&t->extension);
    return 0;
}

/* --- flushing */

static size_t pending(const struct telemetry *t) {
    size_t n = 0;
    for (unsigned i = 0; i < CH_OTEL_SIGNALS; i++)
        n += t->exporters[i] ? ch_otel_exporter_pending(t->exporters[i]) : 0;
    return n;
}

static void telemetry_on_deadline(struct ch_timer *timer) {
    CH_CONTAINER(timer, struct flush, deadline)->over = true;
}

static void telemetry_drained(void *user) {
    struct telemetry *t = user;
    if (t->flush && !pending(t))
        t->flush->over = true;
}

size_t chela_telemetry_flush(chela_runtime *rt, int64_t timeout_ms) {
    CH_ENTER_OR(rt, rt->loop, NULL, 0);
    struct telemetry *t = telemetry_of(rt);
    if (!t)
        return 0;
    CH_LOG_SCOPE(rt->sink);
    if (t->metrics)
        export_metrics(t);
    for (unsigned i = 0; i < CH_OTEL_SIGNALS; i++)
        if (t->exporters[i])
            ch_otel_exporter_flush(t->exporters[i], telemetry_drained, t);
    if (pending(t) && timeout_ms > 0 && ch_loop_may_run(rt->loop, NULL) == 0) {
        struct flush flush = {.over = false};
        t->flush = &flush;
        ch_timer_start(rt->loop, &flush.deadline, timeout_ms, telemetry_on_deadline);
        ch_loop_hold(rt->loop);
        ch_loop_run(rt->loop, &flush.over);
        ch_loop_release(rt->loop);
        ch_timer_stop(rt->loop, &flush.deadline);
        t = telemetry_of(rt); /* a callback may have ended or replaced it */
        if (t)
            t->flush = NULL;
    }
    return t ? pending(t) : 0;
}

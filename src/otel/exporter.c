/* exporter.c -- see exporter.h. */
#include "otel/exporter.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "otel/conventions.h"
#include "otel/otlp.h"

struct ch_otel_exporter {
    struct ch_loop *loop;
    struct ch_transport *transport;
    enum ch_otel_signal signal;
    const struct ch_otel_signal_settings *settings;
    struct ch_otel_frame frame;
    struct ch_buf queue; /* encoded items, oldest first; JSON: a comma before each */
    size_t start;        /* bytes at the beginning of `queue` that were taken or dropped */
    uint32_t *sizes;     /* owned: bytes of each item, from index `first` on */
    size_t first, n, cap;
    size_t at;          /* where the item begins that is being encoded */
    struct ch_buf body; /* with the items of the request in flight, or of the request to repeat */
    size_t in_body;     /* items in `body`; 0: none */
    struct ch_buf head, foot; /* of the request */
    struct ch_sv views[3];    /* head, items, foot */
    struct ch_http_request request;
    struct ch_http_call *call; /* NULL: nothing is being sent */
    struct ch_timer timer;     /* the batch's time, or the delay of a repetition */
    unsigned attempts;         /* attempts to send the request in `body` */
    int status;
    int64_t retry_after_ms; /* delay that the collector asked for; 0: none */
    struct ch_buf response;
    bool flushing;
    void (*drained)(void *user); /* of the flush; NULL: none */
    void *user;
    uint64_t lost, told; /* number of lost items; number of them that the log has mentioned */
    int64_t told_at;
};

/* --- requests */

static const struct {
    enum ch_otlp_field resource, scope, item;
} rows[CH_OTEL_SIGNALS] = {
    [CH_OTEL_TRACES] = {CH_OTLP_RESOURCE_SPANS, CH_OTLP_SCOPE_SPANS, CH_OTLP_SPANS},
    [CH_OTEL_METRIC_SIGNAL] = {CH_OTLP_RESOURCE_METRICS, CH_OTLP_SCOPE_METRICS, CH_OTLP_METRICS},
    [CH_OTEL_LOGS] = {CH_OTLP_RESOURCE_LOGS, CH_OTLP_SCOPE_LOGS, CH_OTLP_LOG_RECORDS},
};

static void write_json_frame(struct ch_buf *head, struct ch_buf *foot, enum ch_otel_signal signal,
                             const struct ch_otel_frame *frame) {
    struct ch_otlp w = ch_otlp_begin(head, true);
    ch_otlp_open(&w, rows[signal].resource);
    ch_otlp_message(&w, CH_OTLP_RESOURCE, frame->resource);
    ch_otlp_open(&w, rows[signal].scope);
    ch_otlp_message(&w, CH_OTLP_SCOPE, frame->scope);
    ch_otlp_array(&w, rows[signal].item);
    w.out = foot;
    ch_otlp_text(&w, CH_OTLP_SCHEMA_URL, CH_SV(CH_OTEL_SCHEMA_URL));
    ch_otlp_close(&w);
    ch_otlp_close(&w);
    ch_otlp_finish(&w);
}

/* The lengths of the outer messages come before them. */
static void write_protobuf_frame(struct ch_buf *head, struct ch_buf *foot,
                                 enum ch_otel_signal signal, const struct ch_otel_frame *frame,
                                 size_t bytes) {
    CH_BUF_AUTO resource = {0};
    CH_BUF_AUTO scope = {0};
    struct ch_otlp w = ch_otlp_begin(foot, false);
    ch_otlp_text(&w, CH_OTLP_SCHEMA_URL, CH_SV(CH_OTEL_SCHEMA_URL));
    w.out = &scope;
    ch_otlp_message(&w, CH_OTLP_SCOPE, frame->scope);
    w.out = &resource;
    ch_otlp_message(&w, CH_OTLP_RESOURCE, frame->resource);
    bytes += scope.n + foot->n;
    ch_otlp_bytes(&w, rows[signal].scope, bytes);
    w.out = head;
    ch_otlp_bytes(&w, rows[signal].resource, resource.n + bytes);
    ch_buf_add_sv(head, ch_buf_sv(&resource));
    ch_buf_add_sv(head, ch_buf_sv(&scope));
}

void ch_otel_write_frame(struct ch_buf *head, struct ch_buf *foot, bool json,
                         enum ch_otel_signal signal, const struct ch_otel_frame *frame,
                         size_t bytes) {
    if (json)
        write_json_frame(head, foot, signal, frame);
    else
        write_protobuf_frame(head, foot, signal, frame, bytes);
}

/* --- the queue */

static void tell_losses(struct ch_otel_exporter *e, const char *why) {
    int64_t now = ch_mono_ms(ch_loop_clock(e->loop));
    if (e->lost == e->told || (e->told && now < e->told_at + CH_DEFAULT_OTEL_TELL_MS))
        return;
    ch_log(CH_LOG_WARN, "telemetry", "%" PRIu64 " %s were not exported: %s", e->lost - e->told,
           ch_otel_signal_name(e->signal), why);
    e->told = e->lost;
    e->told_at = now;
}

static void lose(struct ch_otel_exporter *e, size_t n, const char *why) {
    e->lost += n;
    tell_losses(e, why);
}

/* Removes the oldest n items, which have `bytes` bytes, from the queue. */
static void remove_items(struct ch_otel_exporter *e, size_t n, size_t bytes) {
    e->start += bytes;
    e->first += n;
    e->n -= n;
    if (e->start < e->queue.n / 2)
        return;
    ch_buf_consume(&e->queue, e->start);
    memmove(e->sizes, e->sizes + e->first, e->n * sizeof(*e->sizes));
    e->start = e->first = 0;
}

/* Moves the oldest items of the queue into the body of a request. The usual queue is one batch:
 * the two buffers change places. */
static void fill_body(struct ch_otel_exporter *e) {
    size_t n = 0, bytes = 0, from = 0;
    while (n < e->n && n < e->settings->batch &&
           (n == 0 || bytes + e->sizes[e->first + n] <= CH_LIMIT_OTEL_BODY))
        bytes += e->sizes[e->first + n++];
    ch_buf_clear(&e->body);
    if (n == e->n) {
        struct ch_buf taken = e->queue;
        e->queue = e->body;
        e->body = taken;
        from = e->start;
        e->start = e->first = e->n = 0;
    } else {
        ch_buf_add(&e->body, e->queue.p + e->start, bytes);
        remove_items(e, n, bytes);
    }
    from += e->settings->json; /* the comma before the first item */
    ch_buf_clear(&e->head);
    ch_buf_clear(&e->foot);
    ch_otel_write_frame(&e->head, &e->foot, e->settings->json, e->signal, &e->frame, bytes);
    e->views[0] = ch_buf_sv(&e->head);
    e->views[1] = ch_sv(e->body.p + from, e->body.n - from);
    e->views[2] = ch_buf_sv(&e->foot);
    e->in_body = n;
    e->attempts = 0;
}

/* The items of the body were exported or are lost. A buffer that grew while the collector was
 * away is given back. */
static void empty_body(struct ch_otel_exporter *e) {
    e->in_body = 0;
    if (e->body.cap > CH_LIMIT_OTEL_BODY)
        ch_buf_release(&e->body);
}

static void exporter_send(struct ch_otel_exporter *e);

static void exporter_on_timer(struct ch_timer *t) {
    exporter_send(CH_CONTAINER(t, struct ch_otel_exporter, timer));
}

/* Sends the next batch, at once or when its time has come. */
static void schedule(struct ch_otel_exporter *e) {
    if (e->call || e->in_body)
        return;
    if (!e->n) {
        void (*drained)(void *) = e->flushing ? e->drained : NULL;
        e->flushing = false;
        if (drained)
            drained(e->user);
        return;
    }
    if (e->flushing || e->n >= e->settings->batch)
        exporter_send(e);
    else if (!ch_timer_armed(&e->timer))
        ch_timer_start(e->loop, &e->timer, e->settings->delay_ms, exporter_on_timer);
}

/* --- the response */

static void exporter_on_head(const struct ch_http_head *head, void *user) {
    struct ch_otel_exporter *e = user;
    struct ch_sv after = ch_header_find(head->headers, head->nheaders, "retry-after");
    e->status = head->status;
    for (size_t i = 0; i < after.n && i < 6 && after.p[i] >= '0' && after.p[i] <= '9'; i++)
        e->retry_after_ms = 10 * e->retry_after_ms + 1000 * (after.p[i] - '0');
}

static void exporter_on_data(struct ch_sv data, void *user) {
    struct ch_otel_exporter *e = user;
    if (e->response.n + data.n <= CH_LIMIT_OTEL_RESPONSE)
        ch_buf_add_sv(&e->response, data);
}

static bool may_repeat(const struct ch_otel_exporter *e, const struct chela_error *err) {
    static const int statuses[] = {429, 502, 503, 504};
    for (size_t i = 0; i < CH_LEN(statuses); i++)
        if (e->status == statuses[i])
            return true;
    return err && !e->status &&
           (err->code == CHELA_ENET || err->code == CHELA_ETIMEOUT || err->code == CHELA_EPROTO);
}

static void note_rejected(struct ch_otel_exporter *e) {
    CH_BUF_AUTO why = {0};
    int64_t n = ch_otlp_rejected(ch_buf_sv(&e->response), e->settings->json, &why);
    if (n <= 0)
        return;
    CH_BUF_AUTO shown = {0};
    ch_redact_copy(&shown, ch_buf_sv(&why));
    shown.n = ch_utf8_cut(ch_buf_sv(&shown), 200).n;
    ch_buf_add_str(&shown, " (rejected by the collector)");
    lose(e, CH_MIN((size_t)n, e->in_body), ch_buf_str(&shown));
}

static void drop_body(struct ch_otel_exporter *e, const char *why) {
    lose(e, e->in_body, why);
    empty_body(e);
}

static void repeat_later(struct ch_otel_exporter *e, const char *why) {
    int64_t delay = CH_DEFAULT_OTEL_RETRY_MS << CH_MIN(e->attempts, 5u);
    if (++e->attempts > CH_LIMIT_OTEL_ATTEMPTS) {
        drop_body(e, why);
        schedule(e);
        return;
    }
    delay = CH_MIN(CH_MAX(delay, e->retry_after_ms), CH_LIMIT_OTEL_RETRY_MS);
    ch_timer_start(e->loop, &e->timer, delay, exporter_on_timer);
}

static void exporter_on_done(const struct chela_error *err, void *user) {
    struct ch_otel_exporter *e = user;
    char why[CHELA_ERROR_MAX];
    e->call = NULL;
    if (err)
        snprintf(why, sizeof(why), "%s", err->message);
    else
        snprintf(why, sizeof(why), "the collector answered %d", e->status);
    if (!err && e->status / 100 == 2) {
        note_rejected(e);
        empty_body(e);
        tell_losses(e, "the queue was full");
    } else if (may_repeat(e, err)) {
        repeat_later(e, why);
        return;
    } else {
        drop_body(e, why);
    }
    schedule(e);
}

static void exporter_send(struct ch_otel_exporter *e) {
    static const struct ch_http_handler handler = {exporter_on_head, exporter_on_data,
                                                   exporter_on_done};
    if (e->call)
        return;
    if (!e->in_body && !e->n)
        return;
    if (!e->in_body)
        fill_body(e);
    ch_timer_stop(e->loop, &e->timer);
    ch_buf_clear(&e->response);
    e->status = 0;
    e->retry_after_ms = 0;
    e->request = (struct ch_http_request){.method = "POST",
                                          .url = e->settings->url,
                                          .headers = e->settings->headers,
                                          .nheaders = e->settings->nheaders,
                                          .body = e->views,
                                          .nbody = CH_LEN(e->views),
                                          .timeouts = {.total = e->settings->timeout_ms},
                                          .max_body = CH_LIMIT_OTEL_BODY};
    e->call = ch_transport_start(e->transport, &e->request, &handler, e);
}

/* --- for the owner */

struct ch_otel_exporter *ch_otel_exporter_new(struct ch_loop *loop, struct ch_transport *transport,
                                              enum ch_otel_signal signal,
                                              const struct ch_otel_signal_settings *s,
                                              const struct ch_otel_frame *frame) {
    struct ch_otel_exporter *e = ch_alloc(sizeof(*e));
    e->loop = loop;
    e->transport = transport;
    e->signal = signal;
    e->settings = s;
    e->frame = *frame;
    ch_buf_init(&e->queue, 3 * CH_LIMIT_OTEL_BYTES); /* twice the bytes that wait, and an item */
    ch_buf_init(&e->body, 3 * CH_LIMIT_OTEL_BYTES);
    return e;
}

void ch_otel_exporter_free(struct ch_otel_exporter *e) {
    if (!e)
        return;
    size_t waiting = ch_otel_exporter_pending(e);
    if (e->call)
        ch_transport_cancel(e->transport, e->call);
    ch_timer_stop(e->loop, &e->timer);
    if (waiting) {
        e->told_at = INT64_MIN / 2;
        lose(e, waiting, "the collector did not take them in time");
    }
    ch_free(e->sizes);
    ch_buf_release(&e->queue);
    ch_buf_release(&e->body);
    ch_buf_release(&e->head);
    ch_buf_release(&e->foot);
    ch_buf_release(&e->response);
    ch_free(e);
}

struct ch_buf *ch_otel_exporter_begin(struct ch_otel_exporter *e) {
    e->at = e->queue.n;
    if (e->settings->json)
        ch_buf_addc(&e->queue, ',');
    return &e->queue;
}

static void note_size(struct ch_otel_exporter *e, size_t bytes) {
    CH_GROW(e->sizes, e->first + e->n, e->cap, CH_DEFAULT_OTEL_BATCH);
    e->sizes[e->first + e->n++] = (uint32_t)bytes;
}

void ch_otel_exporter_end(struct ch_otel_exporter *e) {
    if (!e->settings->json)
        ch_otlp_wrap(&e->queue, e->at, rows[e->signal].item);
    if (e->queue.overflow) {
        e->queue.n = e->at;
        e->queue.overflow = false;
        e->lost++;
        return;
    }
    note_size(e, e->queue.n - e->at);
    while (e->n > 1 &&
           (e->n > e->settings->queue || e->queue.n - e->start > CH_LIMIT_OTEL_BYTES)) {
        remove_items(e, 1, e->sizes[e->first]);
        e->lost++; /* mentioned when the collector answers or is given up */
    }
    schedule(e);
}

void ch_otel_exporter_clear(struct ch_otel_exporter *e) {
    ch_buf_clear(&e->queue);
    e->start = e->first = e->n = 0;
}

void ch_otel_exporter_flush(struct ch_otel_exporter *e, void (*drained)(void *user), void *user) {
    e->flushing = true;
    e->drained = drained;
    e->user = user;
    if (e->in_body && !e->call && !e->retry_after_ms)
        exporter_send(e);
    else
        schedule(e);
}

size_t ch_otel_exporter_pending(const struct ch_otel_exporter *e) {
    return e->n + e->in_body;
}

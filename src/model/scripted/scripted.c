/* scripted.c -- the transport of the scripted model: sends the response bytes in time.
 *
 *       start --task--> PREPARE --delay--> HEAD --> BODY (piece, pace, ...) --> end
 *
 * Every step runs from the loop, never inside start(). Without a pace, the body is sent in
 * pieces of fixed size that may split events, as on a network; with a pace, event by event.
 * The end is a whole response, a lost connection, or silence. The request's timeouts apply
 * while waiting.
 *
 * A handler may cancel its call, or close the whole transport, from any callback: the call
 * is then only marked, and freed when the callback returns. */
#include "model/scripted/scripted.h"

#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "model/scripted/scripted_private.h"
#include "model/scripted/scripted_reply.h"
#include "model/scripted/scripted_rules.h"

#define PIECE_BYTES 512
#define FOREVER INT64_MAX

struct ch_scripted {
    struct ch_transport transport;
    struct ch_loop *loop;
    struct ch_script script;
    struct ch_list calls;
    uint64_t serial; /* responses so far */
};

struct ch_http_call {
    struct ch_link link; /* link in the transport's list of calls */
    struct ch_scripted *owner;
    struct ch_loop *loop;
    const struct ch_http_request *req; /* borrowed until done or cancel */
    const struct ch_http_handler *handler;
    void *user;
    struct ch_task task;
    struct ch_timer timer;
    int64_t started;
    enum { PREPARE, HEAD, BODY } state;
    struct ch_script_reply reply;
    uint64_t serial;
    size_t at; /* bytes of the body sent */
    bool in_callback, dead;
};

static void scripted_call_free(struct ch_http_call *call) {
    ch_script_reply_release(&call->reply);
    ch_free(call);
}

/* No callback fires after this; the memory is freed now, or when the current callback
 * returns. */
static void call_drop(struct ch_http_call *call) {
    ch_list_del(&call->link);
    ch_task_cancel(call->loop, &call->task);
    ch_timer_stop(call->loop, &call->timer);
    if (call->in_callback)
        call->dead = true;
    else
        scripted_call_free(call);
}

static void scripted_finish(struct ch_http_call *call, const struct chela_error *err) {
    ch_list_del(&call->link);
    call->in_callback = true;
    call->handler->on_done(err, call->user);
    scripted_call_free(call);
}

/* --- waiting ------------------------------------------------------------------ */

static void scripted_step(struct ch_http_call *call);

static void scripted_on_task(struct ch_task *t) {
    scripted_step(CH_CONTAINER(t, struct ch_http_call, task));
}

static void scripted_on_timer(struct ch_timer *t) {
    scripted_step(CH_CONTAINER(t, struct ch_http_call, timer));
}

static void scripted_on_timeout(struct ch_timer *t) {
    struct ch_http_call *call = CH_CONTAINER(t, struct ch_http_call, timer);
    struct chela_error err = {0};
    ch_fail(&err, CHELA_ETIMEOUT, "scripted model: %s",
            call->state == BODY ? "the response stalled" : "no response in time");
    scripted_finish(call, &err);
}

static int64_t scripted_or_default(int64_t ms, int64_t otherwise) {
    return ms > 0 ? ms : otherwise;
}

/* Remaining silence timeout of this request. */
static int64_t scripted_patience(const struct ch_http_call *call) {
    const struct ch_http_timeouts *t = &call->req->timeouts;
    int64_t silence = call->state == BODY
                          ? scripted_or_default(t->idle, CH_DEFAULT_IDLE_MS)
                          : scripted_or_default(t->first_byte, CH_DEFAULT_FIRST_BYTE_MS);
    int64_t spent = ch_mono_ms(ch_loop_clock(call->loop)) - call->started;
    int64_t left = scripted_or_default(t->total, CH_DEFAULT_TOTAL_MS) - spent;
    return CH_MAX(CH_MIN(silence, left), 0);
}

static void step_after(struct ch_http_call *call, int64_t ms) {
    int64_t limit = scripted_patience(call);
    if (ms >= limit)
        ch_timer_start(call->loop, &call->timer, limit, scripted_on_timeout);
    else if (ms > 0)
        ch_timer_start(call->loop, &call->timer, ms, scripted_on_timer);
    else
        ch_task_defer(call->loop, &call->task);
}

/* --- the steps ------------------------------------------------------------------ */

static struct ch_sv join_body(const struct ch_http_request *req, struct ch_buf *out) {
    if (req->nbody == 1)
        return req->body[0];
    for (size_t i = 0; i < req->nbody; i++)
        ch_buf_add_sv(out, req->body[i]);
    return ch_buf_sv(out);
}

/* The embedded rules are valid, so commands that call no model need not read them. */
static void read_demo(struct ch_script *script) {
    size_t n = (size_t)(ch_scripted_demo_end - ch_scripted_demo);
    ch_script_read(script, ch_sv(ch_scripted_demo, n), "demo", NULL);
}

static void scripted_prepare(struct ch_http_call *call) {
    struct ch_scripted *s = call->owner;
    if (!s->script.name)
        read_demo(&s->script);
    CH_BUF_AUTO joined = {.max = CH_LIMIT_JSON_TEXT};
    struct ch_sv body = join_body(call->req, &joined);
    call->serial = ++s->serial;
    ch_script_answer(&s->script, body, call->serial, &call->reply);
    call->state = HEAD;
    step_after(call, call->reply.delay_ms);
}

struct head_texts {
    char id[40], seconds[24], ms[24];
};

static size_t fill_headers(const struct ch_http_call *call, struct head_texts *texts,
                           struct ch_header out[4]) {
    const struct ch_script_reply *r = &call->reply;
    size_t n = 0;
    out[n++] = (struct ch_header){CH_SV("content-type"),
                                  r->stream ? CH_SV("text/event-stream; charset=utf-8")
                                            : CH_SV("application/json")};
    snprintf(texts->id, sizeof(texts->id), "req_scripted_%llu", (unsigned long long)call->serial);
    out[n++] = (struct ch_header){CH_SV("request-id"), ch_sv_str(texts->id)};
    if (r->retry_after < 0)
        return n;
    int64_t ms = (int64_t)(r->retry_after * 1000 + 0.5);
    snprintf(texts->seconds, sizeof(texts->seconds), "%lld", (long long)((ms + 999) / 1000));
    out[n++] = (struct ch_header){CH_SV("retry-after"), ch_sv_str(texts->seconds)};
    if (ms % 1000 == 0)
        return n;
    snprintf(texts->ms, sizeof(texts->ms), "%lld", (long long)ms);
    out[n++] = (struct ch_header){CH_SV("retry-after-ms"), ch_sv_str(texts->ms)};
    return n;
}

/* Returns false if the callback ended the call. */
static bool scripted_leave_callback(struct ch_http_call *call) {
    call->in_callback = false;
    if (!call->dead)
        return true;
    scripted_call_free(call);
    return false;
}

static void send_head(struct ch_http_call *call) {
    struct head_texts texts;
    struct ch_header headers[4];
    struct ch_http_head head = {.status = call->reply.status, .headers = headers};
    head.nheaders = fill_headers(call, &texts, headers);
    call->state = BODY;
    call->in_callback = true;
    if (call->handler->on_head)
        call->handler->on_head(&head, call->user);
    if (scripted_leave_callback(call))
        step_after(call, 0);
}

static size_t piece_length(const struct ch_http_call *call) {
    const struct ch_script_reply *r = &call->reply;
    size_t left = r->length - call->at;
    if (r->pace_ms == 0 || !r->stream)
        return CH_MIN(left, PIECE_BYTES);
    const char *from = r->body.p + call->at, *gap = memmem(from, left, "\n\n", 2);
    return gap ? (size_t)(gap + 2 - from) : left;
}

static void send_piece(struct ch_http_call *call) {
    struct ch_sv piece = ch_sv(call->reply.body.p + call->at, piece_length(call));
    call->at += piece.n;
    call->in_callback = true;
    call->handler->on_data(piece, call->user);
    if (scripted_leave_callback(call))
        step_after(call, call->reply.pace_ms);
}

static void scripted_end_body(struct ch_http_call *call) {
    if (call->reply.end == CH_END_WHOLE) {
        scripted_finish(call, NULL);
        return;
    }
    if (call->reply.end == CH_END_STALL) {
        step_after(call, FOREVER);
        return;
    }
    struct chela_error err = {0};
    ch_fail(&err, CHELA_ENET, "scripted model: connection lost before the response was complete");
    scripted_finish(call, &err);
}

static void scripted_step(struct ch_http_call *call) {
    if (call->state == PREPARE)
        scripted_prepare(call);
    else if (call->reply.status == 0)
        scripted_finish(call, &call->reply.error);
    else if (call->state == HEAD)
        send_head(call);
    else if (call->at < call->reply.length)
        send_piece(call);
    else
        scripted_end_body(call);
}

/* --- the transport ------------------------------------------------------------- */

static struct ch_http_call *scripted_start(struct ch_transport *t,
                                           const struct ch_http_request *req,
                                           const struct ch_http_handler *handler, void *user) {
    struct ch_scripted *s = CH_CONTAINER(t, struct ch_scripted, transport);
    struct ch_http_call *call = ch_alloc(sizeof(*call));
    call->owner = s;
    call->loop = s->loop;
    call->req = req;
    call->handler = handler;
    call->user = user;
    call->task.fn = scripted_on_task;
    call->started = ch_mono_ms(ch_loop_clock(s->loop));
    ch_list_add(&s->calls, &call->link);
    ch_task_defer(s->loop, &call->task);
    return call;
}

static void scripted_cancel(struct ch_transport *t, struct ch_http_call *call) {
    (void)t;
    call_drop(call);
}

static const struct ch_transport_ops scripted_ops = {
    .name = "scripted",
    .start = scripted_start,
    .cancel = scripted_cancel,
};

static int read_script(struct ch_script *script, const char *name, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    if (strcmp(name, "demo") == 0)
        return 0; /* read_demo */
    int rc = ch_file_load(name, CH_LIMIT_YAML_FILE, &text, err);
    return rc < 0 ? rc : ch_script_read(script, ch_buf_sv(&text), name, err);
}

int ch_scripted_new(struct ch_loop *loop, const char *name, struct ch_scripted **out,
                    struct chela_error *err) {
    struct ch_scripted *s = ch_alloc(sizeof(*s));
    s->transport.ops = &scripted_ops;
    s->loop = loop;
    ch_list_init(&s->calls);
    int rc = read_script(&s->script, name, err);
    if (rc < 0) {
        ch_scripted_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void ch_scripted_close(struct ch_scripted *s) {
    if (!s)
        return;
    struct ch_http_call *call;
    while ((call = CH_LIST_FIRST(&s->calls, struct ch_http_call, link)))
        call_drop(call);
    ch_script_release(&s->script);
    ch_free(s);
}

struct ch_transport *ch_scripted_transport(struct ch_scripted *s) {
    return &s->transport;
}

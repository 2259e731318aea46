/* fake_model.c -- see fake_model.h. */
#include "support/fake_model.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/writer.h"

struct ch_http_call {
    struct fake_model *model;
    const struct ch_http_handler *handler;
    void *user;
    const struct fake_reply *reply;
    size_t sent;
    bool headed, cancelled, calling;
    struct ch_task task;
};

static const struct fake_reply used_up = {
    .status = 500,
    .body =
        "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"no reply left\"}}"};

static void call_free(struct ch_http_call *c) {
    c->model->open--;
    ch_free(c);
}

static void send_head(struct ch_http_call *c) {
    const struct fake_reply *r = c->reply;
    const char *type = r->content_type ? r->content_type
                       : r->status     ? "application/json"
                                       : "text/event-stream";
    struct ch_header headers[2] = {{CH_SV("content-type"), ch_sv_str(type)},
                                   {CH_SV("retry-after"), ch_sv_str(r->retry_after)}};
    struct ch_http_head head = {r->status ? r->status : 200, headers, r->retry_after ? 2 : 1};
    c->headed = true;
    if (c->handler->on_head)
        c->handler->on_head(&head, c->user);
}

static void send_piece(struct ch_http_call *c, size_t len) {
    size_t n = c->model->chunk ? CH_MIN(c->model->chunk, len - c->sent) : len - c->sent;
    CH_AUTOFREE char *copy = ch_memdup(c->reply->body + c->sent, n); /* an exact copy, so that
                                                                      * ASan detects reads beyond
                                                                      * the end */
    c->sent += n;
    c->handler->on_data(ch_sv(copy, n), c->user);
}

static void finish(struct ch_http_call *c) {
    struct chela_error err = {0};
    if (c->reply->fail)
        ch_fail(&err, CHELA_ENET, "%s", c->reply->fail);
    c->handler->on_done(c->reply->fail ? &err : NULL, c->user);
    c->cancelled = true;
}

/* Makes one callback in each iteration. */
static void advance(struct ch_task *task) {
    struct ch_http_call *c = CH_CONTAINER(task, struct ch_http_call, task);
    size_t len = c->reply->body ? strlen(c->reply->body) : 0;
    c->calling = true;
    if (!c->headed)
        send_head(c);
    else if (c->sent < len)
        send_piece(c, len);
    else if (!c->reply->hang)
        finish(c);
    c->calling = false;
    if (c->cancelled)
        call_free(c);
    else if (!c->reply->hang || c->sent < len)
        ch_task_defer(c->model->loop, &c->task);
}

static struct ch_http_call *start(struct ch_transport *t, const struct ch_http_request *req,
                                  const struct ch_http_handler *handler, void *user) {
    struct fake_model *m = CH_CONTAINER(t, struct fake_model, transport);
    struct ch_http_call *c = ch_alloc(sizeof(*c));
    c->model = m;
    c->handler = handler;
    c->user = user;
    c->reply = m->next < m->nreplies ? &m->replies[m->next++] : &used_up;
    c->task.fn = advance;
    if (m->choose) {
        CH_BUF_AUTO all = {0};
        for (size_t i = 0; i < req->nbody; i++)
            ch_buf_add_sv(&all, req->body[i]);
        c->reply = m->choose(ch_buf_sv(&all), m->user);
    } else if (m->nrequests < CH_LEN(m->requests)) {
        struct ch_buf *body = &m->requests[m->nrequests];
        for (size_t i = 0; i < req->nbody; i++)
            ch_buf_add_sv(body, req->body[i]);
    }
    m->nrequests++;
    m->open++;
    ch_task_defer(m->loop, &c->task);
    return c;
}

static void cancel(struct ch_transport *t, struct ch_http_call *c) {
    (void)t;
    ch_task_cancel(c->model->loop, &c->task);
    if (c->calling)
        c->cancelled = true; /* advance() frees the call */
    else
        call_free(c);
}

void fake_model_init(struct fake_model *m, struct ch_loop *loop, const struct fake_reply *replies,
                     size_t n) {
    static const struct ch_transport_ops ops = {"fake", start, cancel};
    *m = (struct fake_model){.transport = {&ops}, .loop = loop, .replies = replies, .nreplies = n};
}

void fake_model_release(struct fake_model *m) {
    for (size_t i = 0; i < CH_LEN(m->requests); i++)
        ch_buf_release(&m->requests[i]);
}

struct fake_reply fake_say(struct ch_arena *a, const char *text) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_buf_add_str(&body, A_BEGIN A_BLOCK(0, "{\"type\":\"text\",\"text\":\"\"}")
                              "event: content_block_delta\ndata: {\"type\":"
                              "\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                              "\"text_delta\",\"text\":");
    ch_jw_str(&w, ch_sv_str(text));
    ch_buf_add_str(&body, "}}\n\n" A_CLOSE(0) A_END("end_turn"));
    return (struct fake_reply){.body = ch_arena_str(a, ch_buf_sv(&body))};
}

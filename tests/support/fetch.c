/* fetch.c -- see fetch.h. */
#include "support/fetch.h"

#include <assert.h>

#include "base/mem.h"

static void cancel(struct fetch *f) {
    ch_transport_cancel(f->transport, f->call);
    f->call = NULL;
    f->done = true;
}

static void on_head(const struct ch_http_head *head, void *user) {
    struct fetch *f = user;
    assert(f->started && !f->done);
    f->heads++;
    f->headed = true;
    f->status = head->status;
    for (size_t i = 0; i < head->nheaders; i++)
        ch_buf_addf(&f->headers, "%.*s=%.*s\n", CH_SV_FMT(head->headers[i].name),
                    CH_SV_FMT(head->headers[i].value));
    if (f->at_head)
        f->at_head(f);
    if (f->stop == FETCH_CANCEL_AT_HEAD)
        cancel(f);
}

static void on_data(struct ch_sv data, void *user) {
    struct fetch *f = user;
    assert(f->started && !f->done);
    ch_buf_add_sv(&f->body, data);
    if (f->stop == FETCH_CANCEL_AT_DATA)
        cancel(f);
}

static void on_done(const struct chela_error *err, void *user) {
    struct fetch *f = user;
    assert(f->started && !f->done);
    f->dones++;
    f->done = true;
    f->call = NULL;
    if (err)
        f->err = *err;
    if (f->then)
        f->then(f);
}

void fetch_start(struct fetch *f, struct ch_transport *t) {
    static const struct ch_http_handler handler = {on_head, on_data, on_done};
    if (!f->req.method)
        f->req.method = "GET";
    f->transport = t;
    f->call = ch_transport_start(t, &f->req, &handler, f);
    f->started = true;
}

void fetch_release(struct fetch *f) {
    if (f->call)
        cancel(f);
    ch_buf_release(&f->headers);
    ch_buf_release(&f->body);
}

void fetch_run(struct fetch *f, struct ch_transport *t, struct ch_loop *loop) {
    fetch_start(f, t);
    int rc = ch_loop_run(loop, &f->done);
    assert(rc == 0);
    (void)rc;
}

struct nap {
    struct ch_timer timer;
    bool over;
};

static void on_nap_over(struct ch_timer *timer) {
    CH_CONTAINER(timer, struct nap, timer)->over = true;
}

void run_for(struct ch_loop *loop, int64_t ms) {
    struct nap nap = {0};
    ch_timer_start(loop, &nap.timer, ms, on_nap_over);
    ch_loop_hold(loop);
    ch_loop_run(loop, &nap.over);
    ch_loop_release(loop);
}

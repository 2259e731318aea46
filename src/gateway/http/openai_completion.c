/* openai_completion.c -- see openai_completion.h.
 *
 *   request --read--> history, options --> lane --ready--> run --events--> response
 *
 * The protocols format the response (struct ch_completion_ops). If the client leaves, the
 * response ends, and with a temporary lane its run. An error before the first text of a
 * stream is sent with its HTTP status. */
#include "gateway/http/openai_completion.h"

#include <stdio.h>

#include "agent/handle/lookup.h"
#include "base/error.h"
#include "gateway/http/openai.h"
#include "gateway/lane/client_history.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/tail.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

static void free_completion(struct ch_completion *r) {
    ch_lane_unwatch(&r->watcher);
    ch_list_del(&r->wait.link);
    if (r->delivery)
        ch_delivery_leave(r->delivery);
    if (r->lane && !r->lane->stored)
        ch_lane_close(r->lane);
    r->ops->release(r);
    ch_client_history_release(&r->history);
    ch_free(r->agent);
    ch_free(r);
}

static void completion_on_disconnect(struct ch_request *req) {
    free_completion(req->user);
}

static void completion_fail(struct ch_completion *r, const struct chela_event *ev) {
    bool overflow = ev->end.reason == CHELA_REASON_CONTEXT_OVERFLOW;
    ch_request_fail(r->request, overflow ? 400 : 502,
                    overflow ? "context_length_exceeded" : chela_reason_name(ev->end.reason),
                    "%.*s", (int)ev->end.error.n, ev->end.error.p);
}

bool ch_completion_failed(const struct chela_event *end) {
    return end->end.status == CHELA_STATUS_ERROR || end->end.status == CHELA_STATUS_CANCELLED;
}

static void completion_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct ch_completion *r = CH_CONTAINER(w, struct ch_completion, watcher);
    if (ev->type != CHELA_EV_RUN_END) {
        r->ops->event(r, ev);
        return;
    }
    r->request->on_disconnect = NULL;
    if (ch_completion_failed(ev) && !r->begun)
        completion_fail(r, ev);
    else
        r->ops->end(r, ev);
    free_completion(r);
}

static void completion_refuse(struct ch_completion *r, const struct chela_error *err) {
    struct ch_request *req = r->request;
    req->on_disconnect = NULL;
    free_completion(r);
    ch_request_fail_with(req, err);
}

static void completion_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                            const struct chela_error *err, void *user) {
    struct ch_completion *r = user;
    struct chela_error why = err ? *err : (struct chela_error){0};
    if (stage == CH_DELIVERY_ACCEPTED)
        return;
    ch_delivery_leave(d);
    r->delivery = NULL;
    if (stage == CH_DELIVERY_DUPLICATE)
        l = ch_client_input_find_run(d);
    if (l) {
        ch_lane_unwatch(&r->watcher); /* the session may have come here meanwhile */
        ch_lane_watch(l, &r->watcher);
        return;
    }
    if (stage == CH_DELIVERY_QUEUED && r->watcher.tail) {
        ch_tail_await(&r->watcher, d->id, d->kind->turn == CH_TURN_JOINS);
        return;
    }
    if (!why.code && stage == CH_DELIVERY_DUPLICATE)
        ch_fail(&why, CHELA_EBUSY, "the request was accepted before: session '%s' has the answer",
                d->key);
    if (!why.code)
        ch_fail(&why, CHELA_EBUSY, "session '%s' is busy; the message waits", d->key);
    completion_refuse(r, &why);
}

/* A stored session has its own history: what follows the last reply is an event for it. */
static void completion_admit(struct ch_completion *r) {
    struct chela_error err = {0};
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    const struct ch_delivery_kind *kind =
        ch_client_input_of_history(r->session, &r->history, &w, &err);
    if (kind)
        r->delivery = ch_client_input_accept(r->request->gw, kind, r->session, r->agent, &data,
                                             r->request->event, completion_told, r);
    else
        completion_refuse(r, &err);
}

/* Another gateway has the session: the answer comes from its journal. */
static void completion_on_tail(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                               void *user) {
    struct ch_completion *r = user;
    (void)w;
    (void)gap;
    if (err)
        completion_refuse(r, err);
    else
        completion_admit(r);
}

static void completion_on_lane_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                     const struct chela_error *failed) {
    struct ch_completion *r = CH_CONTAINER(w, struct ch_completion, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    if (!failed && l->stored) {
        completion_admit(r);
        return;
    }
    if (failed)
        r->lane = NULL;
    if (failed && failed->code == CHELA_EBUSY && r->session) {
        ch_tail_open(r->request->gw, r->session, CH_TAIL_NOW, CH_SV(""), &r->watcher,
                     completion_on_tail, r);
        return;
    }
    int rc = failed ? err.code : ch_lane_converse(l, &r->history, &err);
    if (rc < 0)
        completion_refuse(r, &err);
    else
        ch_lane_watch(l, &r->watcher);
}

static struct ch_completion *new_completion(struct ch_request *req,
                                            const struct ch_completion_ops *ops) {
    struct ch_completion *r = ch_alloc(ops->size);
    int64_t now = ch_now_ms(ch_loop_clock(req->gw->rt->loop));
    char id[24];
    ch_random_id("", id);
    snprintf(r->id, sizeof(r->id), "%s%s", ops->prefix, id);
    r->ops = ops;
    r->request = req;
    r->created = now / 1000;
    r->stream = ch_json_bool(ch_json_get(req->json, "stream"), false);
    r->watcher.event = completion_on_event;
    r->wait.ready = completion_on_lane_ready;
    ch_client_history_init(&r->history, &req->arena, now);
    return r;
}

static int completion_read_request(struct ch_completion *r, struct chela_error *err) {
    struct ch_request *req = r->request;
    struct ch_openai_params params = {0};
    struct ch_lane_opts opts = {0};
    int rc = ch_openai_agent(req, &opts, err);
    if (rc == 0)
        rc = ch_openai_sampling(req, &params, &opts, err);
    if (rc == 0)
        rc = ch_openai_choice(req, &opts, err);
    if (rc == 0)
        rc = r->ops->read(r, &opts, err);
    if (rc < 0)
        return rc;
    r->agent = ch_strdup(opts.agent->id);
    opts.patch.system = ch_buf_str(&r->history.system);
    rc = ch_lane_for_request(req, &opts, &r->lane, err);
    if (rc == 0)
        r->session = opts.key;
    return rc;
}

void ch_completion_begin(struct ch_request *req, const struct ch_completion_ops *ops) {
    struct chela_error err = {0};
    struct ch_completion *r = new_completion(req, ops);
    int rc = completion_read_request(r, &err);
    if (rc == 0) {
        req->user = r;
        req->on_disconnect = completion_on_disconnect;
        ch_lane_when_ready(r->lane, &r->wait);
        return;
    }
    free_completion(r);
    if (rc == CHELA_ENOENT)
        ch_request_fail(req, 404, "model_not_found", "%s", err.message);
    else
        ch_request_fail_with(req, &err);
}

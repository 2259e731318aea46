/* admission.c -- see admission.h. */
#include "gateway/http/admission.h"

#include "base/error.h"
#include "base/mem.h"
#include "gateway/lane/tail.h"
#include "gateway/request/idempotency.h"

struct admission {
    struct ch_request *request;
    struct ch_delivery *delivery; /* while another gateway has the event: id, key and kind */
    struct ch_lane_watcher watcher;
    ch_admitted_fn *admitted;
    void (*outer)(struct ch_request *req); /* the earlier on_disconnect; may be NULL */
    void *outer_user;
};

/* Returns the request to its caller. */
static void admission_end(struct admission *a) {
    struct ch_request *req = a->request;
    ch_lane_unwatch(&a->watcher);
    req->on_disconnect = a->outer;
    req->user = a->outer_user;
    ch_free(a);
}

/* The request is answered here. */
static void admission_release_outer(struct ch_request *req) {
    void (*outer)(struct ch_request *req) = CH_TAKE(req->on_disconnect);
    if (outer)
        outer(req);
}

/* --- the outcome in the gateway that has the session ------------------------- */

static void admission_answer(struct admission *a, const struct chela_error *err) {
    struct ch_request *req = a->request;
    const struct ch_delivery *d = a->delivery;
    ch_admitted_fn *admitted = a->admitted;
    admission_end(a);
    if (err)
        ch_request_fail_with(req, err);
    else
        admitted(req, NULL, d);
}

static void admission_settled(const struct chela_error *err, void *user) {
    struct admission *a = user;
    struct ch_delivery *d = a->delivery;
    const char *taken = ch_tail_taken_as(&a->watcher);
    struct ch_sv rest = ch_sv_str(taken ? taken : ""), run = ch_sv_split(&rest, ' ');
    if (run.n && !ch_sv_is(run, "none"))
        d->run = ch_arena_str(&a->request->arena, run);
    if (!taken || rest.n) /* without an outcome, events of the run show that it goes on */
        d->action = "resumed";
    admission_answer(a, err);
}

static void admission_on_tail(struct ch_lane_watcher *w, bool unserved,
                              const struct chela_error *err, void *user) {
    struct admission *a = user;
    if (err && err->code != CHELA_ENOENT) /* the store has the event, but cannot be read now */
        admission_answer(a, NULL);
    else if (err || unserved)
        admission_settled(err, a);
    else
        ch_tail_await(w, a->delivery->id, false, admission_settled, a);
}

/* Begins to wait for the gateway that has the session. Only events that control a run are
 * awaited, because such an event is not queued behind a turn. False: no wait. */
static bool admission_awaits(struct admission *a, const struct ch_delivery *d,
                             enum ch_delivery_stage stage) {
    struct ch_arena *arena = &a->request->arena;
    struct ch_delivery *copy;
    if (stage != CH_DELIVERY_QUEUED || a->outer || d->kind->turn != CH_TURN_CONTROLS ||
        d->gw->draining || !ch_gateway_is_shared(d->gw))
        return false;
    a->delivery = copy = ch_arena_zalloc(arena, sizeof(*copy));
    copy->id = ch_arena_str(arena, ch_sv_str(d->id));
    copy->key = ch_arena_str(arena, ch_sv_str(d->key));
    copy->kind = d->kind;
    ch_tail_open(d->gw, d->key, CH_TAIL_AWAIT, CH_SV(""), &a->watcher, admission_on_tail, a);
    return true;
}

static void admission_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                           const struct chela_error *err, void *user) {
    struct admission *a = user;
    struct ch_request *req = a->request;
    ch_admitted_fn *admitted = a->admitted;
    if (stage == CH_DELIVERY_ACCEPTED)
        return;
    ch_delivery_leave(d);
    if (admission_awaits(a, d, stage))
        return;
    admission_end(a);
    if (stage == CH_DELIVERY_FAILED || stage == CH_DELIVERY_REFUSED ||
        stage == CH_DELIVERY_DUPLICATE) /* its effect may precede the records of a tail */
        admission_release_outer(req);
    ch_admission_note(req, stage, err);
    if (stage == CH_DELIVERY_FAILED)
        ch_request_fail(req, 503, "store_error", "the request cannot be stored: %s", err->message);
    else if (stage == CH_DELIVERY_REFUSED)
        ch_request_fail_with(req, err);
    else
        admitted(req, l, d);
}

static void admission_on_disconnect(struct ch_request *req) {
    struct admission *a = req->user;
    ch_delivery_leave(a->delivery);
    admission_end(a);
    admission_release_outer(req);
}

bool ch_admission_stops(const struct ch_request *req, const struct ch_delivery_kind *kind,
                        const char *key, struct chela_error *err) {
    const struct ch_lane *lane = ch_lane_find(req->gw, ch_sv_str(key));
    /* Only a run in progress is controlled while the gateway drains (delivery.c). */
    if (!req->gw->draining || (kind->turn == CH_TURN_CONTROLS && lane && lane->running))
        return false;
    ch_fail(err, CHELA_EOVERLOAD, "the gateway is stopping");
    return true;
}

void ch_admission_waits(struct ch_request *req, const struct ch_delivery *d,
                        struct chela_error *err) {
    ch_request_add_header(req, "X-Should-Retry", "false"); /* it would be a second message */
    if (!req->gw->draining) {
        ch_fail(err, CHELA_EBUSY, "session '%s' is busy; the message waits", d->key);
        return;
    }
    req->unknown = true; /* with its key, a repeated request gets the answer of the next process */
    ch_fail(err, CHELA_EOVERLOAD, "the gateway is stopping; session '%s' has the message", d->key);
}

/* A budget refuses a message before the store is asked, which may have the message of the first
 * request. */
void ch_admission_note(struct ch_request *req, enum ch_delivery_stage stage,
                       const struct chela_error *err) {
    req->unknown = stage == CH_DELIVERY_FAILED ||
                   (req->repeats && stage == CH_DELIVERY_REFUSED && err->code == CHELA_EBUDGET);
}

void ch_admission_begin(struct ch_request *req, const struct ch_delivery_kind *kind,
                        const char *key, const char *agent, const struct ch_buf *data,
                        ch_admitted_fn *admitted) {
    struct chela_error err = {0};
    ch_idempotency_belongs(req, key);
    if (kind->turn == CH_TURN_CONTROLS && ch_admission_stops(req, kind, key, &err)) {
        admission_release_outer(req);
        ch_request_fail_with(req, &err);
        return;
    }
    struct admission *a = ch_alloc(sizeof(*a));
    a->request = req;
    a->admitted = admitted;
    a->outer = req->on_disconnect;
    a->outer_user = req->user;
    req->user = a;
    req->on_disconnect = admission_on_disconnect;
    CH_BUF_AUTO all = {0};
    ch_buf_add_sv(&all, ch_buf_sv(data));
    ch_client_input_write_context(&all, req, a->outer || kind->turn == CH_TURN_CONTROLS);
    a->delivery = ch_client_input_accept(req->gw, kind, key, agent, &all, req->event,
                                         admission_told, a);
}

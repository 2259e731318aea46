/* session_events.c -- GET /api/sessions/{key}/events.
 *
 * The id of an event is run:seq. A client that reconnects with Last-Event-ID receives the
 * events it missed. If that event is no longer remembered, the client receives an event
 * named `gap`, then all remembered events. The events of a session that another process has
 * come from its journal (tail.h); their ids are run:seq@record. */
#include "gateway/http/session_events.h"

#include "agent/handle/run.h"
#include "base/limits.h"
#include "gateway/http/notices.h"
#include "gateway/http/session_open.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/tail.h"
#include "gateway/request/request.h"

struct event_follower {
    struct ch_request *request;
    struct ch_lane_watcher watcher;
    struct ch_notice_watcher notices; /* ?notices=1 */
    bool until_end;
    char *earlier; /* owned: id of the run before the one that is followed; NULL: none */
    void (*ready)(struct ch_request *req); /* ch_session_events_prepare */
};

static void follower_free(struct event_follower *f) {
    ch_lane_unwatch(&f->watcher);
    ch_notices_unwatch(&f->notices);
    ch_free(f->earlier);
    ch_free(f);
}

static void follower_on_disconnect(struct ch_request *req) {
    follower_free(req->user);
}

static void follower_end(struct event_follower *f) {
    struct ch_request *req = f->request;
    req->on_disconnect = NULL;
    follower_free(f);
    ch_request_end_stream(req);
}

static void follower_on_deleted(struct ch_lane_watcher *w) {
    follower_end(CH_CONTAINER(w, struct event_follower, watcher));
}

static int follower_send(void *user, const char *id, struct ch_sv json) {
    return ch_request_send_event(user, NULL, id, json);
}

static void follower_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct event_follower *f = CH_CONTAINER(w, struct event_follower, watcher);
    ch_lane_write_event(f->request->gw, w, ev, follower_send, f->request);
    if (ev->type != CHELA_EV_RUN_END || !f->until_end ||
        (f->earlier && strcmp(f->earlier, ev->run) == 0))
        return;
    follower_end(f);
}

static const struct ch_lane_event *recent_event(const struct ch_lane *l, size_t i) {
    return &l->recent[(l->recent_first + i) % CH_LIMIT_RECENT_EVENTS];
}

/* A bare sequence number means the newest event with that number. */
static bool event_has_id(const struct ch_lane_event *t, struct ch_sv id) {
    const char *seq = strrchr(t->id, ':');
    return ch_sv_is(id, t->id) || ch_sv_is(id, seq + 1);
}

void ch_session_events_replay(const struct ch_lane *l, struct ch_sv last,
                              ch_session_events_fn *tell, void *user) {
    size_t from = l->nrecent;
    while (from > 0 && !event_has_id(recent_event(l, from - 1), last))
        from--;
    if (from == 0 && !tell(NULL, user))
        return;
    for (size_t i = from; i < l->nrecent; i++)
        if (!tell(recent_event(l, i), user))
            return;
}

static bool follower_send_again(const struct ch_lane_event *t, void *user) {
    if (!t)
        return ch_request_send_event(user, "gap", NULL, CH_SV("{}")) == 0;
    return ch_request_send_event(user, NULL, t->id, ch_sv_str(t->json)) == 0;
}

static struct event_follower *follower_new(struct ch_request *req, bool until_end) {
    struct event_follower *f = ch_alloc(sizeof(*f));
    f->request = req;
    f->watcher.event = follower_on_event;
    f->until_end = until_end;
    f->watcher.deleted = until_end ? NULL : follower_on_deleted;
    req->user = f;
    req->on_disconnect = follower_on_disconnect;
    return f;
}

static void follower_begin_stream(struct ch_request *req) {
    struct event_follower *f = req->user;
    ch_request_begin_stream(req);
    ch_exchange_write(req->x, CH_SV(": listening\n\n"));
    if (!f->until_end && ch_request_query(req, "notices").n)
        ch_notices_watch(req->gw->notices, &f->notices, req);
}

static void follower_start(struct event_follower *f, struct ch_lane *l) {
    struct ch_request *req = f->request;
    follower_begin_stream(req);
    if (req->last_id.n)
        ch_session_events_replay(l, req->last_id, follower_send_again, req);
    ch_lane_watch(l, &f->watcher);
    if (!f->until_end)
        ch_request_forget_texts(req);
}

/* A message that interrupts a run, or waits for its end, causes the next run. */
void ch_session_events_follow_run(struct ch_request *req, struct ch_lane *l,
                                  const struct ch_delivery *d) {
    struct event_follower *f = follower_new(req, true);
    if (ch_client_input_begins_later(d) && l->run)
        f->earlier = ch_strdup(l->run->id);
    follower_start(f, l);
}

/* --- a session that another process has */

static void follower_refuse(struct event_follower *f, const struct chela_error *err) {
    struct ch_request *req = f->request;
    req->on_disconnect = NULL;
    follower_free(f);
    ch_request_fail_with(req, err);
}

static void follower_on_tail(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                             void *user) {
    struct event_follower *f = user;
    (void)w;
    if (err) {
        follower_refuse(f, err);
        return;
    }
    follower_begin_stream(f->request);
    if (gap)
        follower_send_again(NULL, f->request);
    ch_request_forget_texts(f->request);
}

static void follower_on_prepared(struct ch_lane_watcher *w, bool gap,
                                 const struct chela_error *err, void *user) {
    struct event_follower *f = user;
    (void)w;
    (void)gap;
    if (err)
        follower_refuse(f, err);
    else
        f->ready(f->request);
}

void ch_session_events_prepare(struct ch_request *req, const char *key,
                               void (*ready)(struct ch_request *req)) {
    struct event_follower *f = follower_new(req, true);
    f->ready = ready;
    ch_tail_open(req->gw, key, CH_TAIL_AWAIT, CH_SV(""), &f->watcher, follower_on_prepared, f);
}

static void follower_settled(const struct chela_error *err, void *user) {
    struct event_follower *f = user;
    if (err)
        follower_refuse(f, err);
    else
        follower_begin_stream(f->request);
}

void ch_session_events_await(struct ch_request *req, const struct ch_delivery *d) {
    struct event_follower *f = req->user;
    ch_tail_await(&f->watcher, d->id, d->kind->turn == CH_TURN_JOINS, follower_settled, f);
}

static void follow_session(struct ch_request *req, struct ch_lane *l, bool elsewhere) {
    struct event_follower *f = follower_new(req, false);
    if (!elsewhere) {
        follower_start(f, l);
        return;
    }
    ch_tail_open(req->gw, ch_arena_str(&req->arena, req->param),
                 req->last_id.n ? CH_TAIL_AFTER : CH_TAIL_NOW, req->last_id, &f->watcher,
                 follower_on_tail, f);
}

void ch_session_events_get(struct ch_request *req) {
    ch_session_open_lane(req, false, follow_session);
}

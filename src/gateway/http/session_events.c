/* session_events.c -- GET /api/sessions/{key}/events.
 *
 * The events come from the records of the session (tail.h), so their ids are positions, which every
 * process understands. A client that reconnects with Last-Event-ID, or ?after=, receives what it
 * missed. If the session has no such position, the client receives an event named `gap`, then
 * everything from the start. */
#include "gateway/http/session_events.h"

#include <stdio.h>

#include "agent/handle/run.h"
#include "base/limits.h"
#include "gateway/http/notices.h"
#include "gateway/http/session_open.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/tail.h"
#include "gateway/request/http_route.h"
#include "gateway/request/request.h"

struct event_follower {
    struct ch_request *request;
    struct ch_lane_watcher watcher;
    struct ch_notice_watcher notices; /* ?notices=1 */
    bool until_end;
    char *run;     /* owned: the run that is followed; NULL: whichever */
    char *earlier; /* owned: id of the run before the one that is followed; NULL: none */
    bool begun;    /* an event of `run` came */
    void (*ready)(struct ch_request *req); /* ch_session_events_prepare */
};

static void follower_free(struct event_follower *f) {
    ch_lane_unwatch(&f->watcher);
    ch_notices_unwatch(&f->notices);
    ch_free(f->run);
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

static int follower_send(void *user, const char *cursor, struct ch_sv json) {
    return ch_request_send_event(user, NULL, cursor, json);
}

static void follower_on_piece(struct ch_lane_watcher *w, const char *cursor, struct ch_sv json) {
    struct event_follower *f = CH_CONTAINER(w, struct event_follower, watcher);
    if (!f->run || f->begun)
        follower_send(f->request, cursor, json);
}

static void follower_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct event_follower *f = CH_CONTAINER(w, struct event_follower, watcher);
    if (f->run && !f->begun && strcmp(f->run, ev->run) != 0)
        return; /* the end of an earlier run, whose record was not committed yet */
    f->begun = true;
    ch_tail_write_event(w, ev, follower_send, f->request);
    if (ev->type != CHELA_EV_RUN_END || !f->until_end ||
        (f->earlier && strcmp(f->earlier, ev->run) == 0))
        return;
    follower_end(f);
}

static struct event_follower *follower_new(struct ch_request *req, bool until_end) {
    struct event_follower *f = ch_alloc(sizeof(*f));
    f->request = req;
    f->watcher.event = follower_on_event;
    f->watcher.piece = follower_on_piece;
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
        ch_request_send_event(f->request, "gap", NULL, CH_SV("{}"));
    if (!f->until_end)
        ch_request_forget_texts(f->request);
}

/* A message that interrupts a run, or waits for its end, causes the next run. */
void ch_session_events_follow_run(struct ch_request *req, struct ch_lane *l,
                                  const struct ch_delivery *d) {
    struct event_follower *f = follower_new(req, true);
    char after[24];
    if (ch_client_input_begins_later(d) && l->run)
        f->earlier = ch_strdup(l->run->id);
    else if (l->run)
        f->run = ch_strdup(l->run->id);
    int n = snprintf(after, sizeof(after), "%llu", (unsigned long long)ch_lane_committed(l));
    ch_tail_open(req->gw, d->key, CH_TAIL_AFTER, ch_sv(after, (size_t)n), &f->watcher,
                 follower_on_tail, f);
}

/* --- a session that another process has */

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

struct ch_sv ch_session_events_after(struct ch_request *req) {
    struct ch_sv after = ch_request_query(req, "after");
    return req->last_id.n ? req->last_id : ch_http_route_decode_query(&req->arena, after);
}

static void follow_session(struct ch_request *req, struct ch_lane *l, bool elsewhere) {
    struct event_follower *f = follower_new(req, false);
    struct ch_sv after = ch_session_events_after(req);
    (void)l;
    (void)elsewhere;
    ch_tail_open(req->gw, ch_arena_str(&req->arena, req->param),
                 after.n ? CH_TAIL_AFTER : CH_TAIL_NOW, after, &f->watcher, follower_on_tail, f);
}

void ch_session_events_get(struct ch_request *req) {
    ch_session_open_lane(req, false, follow_session);
}

/* events.c -- GET /api/sessions/{key}/events.
 *
 * Each event is sent under its id, run:seq. Who comes back with Last-Event-ID
 * gets what they missed, as far as it is remembered; if the event they name is
 * not, they are told by an event called `gap` and go on from what there is. */
#include "gateway/http/events.h"

#include <stdio.h>

#include "base/limits.h"
#include "gateway/http/routes.h"
#include "gateway/http/session_open.h"

struct follower {
    struct ch_visit *visit;
    struct ch_watcher watcher;
    bool until_end;
};

static void on_left(struct ch_visit *v) {
    struct follower *f = v->user;
    ch_lane_unwatch(&f->watcher);
    ch_free(f);
}

static void on_event(struct ch_watcher *w, const struct chela_event *ev) {
    struct follower *f = CH_CONTAINER(w, struct follower, watcher);
    char id[64];
    char *json = chela_event_json(ev);
    snprintf(id, sizeof(id), "%s:%llu", ev->run, (unsigned long long)ev->seq);
    ch_visit_data(f->visit, NULL, id, ch_sv_str(json));
    chela_free(json);
    if (ev->type != CHELA_EV_RUN_END || !f->until_end)
        return;
    struct ch_visit *v = f->visit;
    v->left = NULL;
    ch_lane_unwatch(&f->watcher);
    ch_free(f);
    ch_visit_end(v);
}

static const struct ch_told *told_at(const struct ch_lane *l, size_t i) {
    return &l->told[(l->told_first + i) % CH_LIMIT_TOLD];
}

/* The number alone stands for the newest event that has it. */
static bool is_that(const struct ch_told *t, struct ch_sv id) {
    const char *seq = strrchr(t->id, ':');
    return ch_sv_is(id, t->id) || ch_sv_is(id, seq + 1);
}

void ch_events_replay(const struct ch_lane *l, struct ch_sv last, ch_replay_fn *tell, void *user) {
    size_t from = l->told_n;
    while (from > 0 && !is_that(told_at(l, from - 1), last))
        from--;
    if (from == 0 && !tell(NULL, user))
        return;
    for (size_t i = from; i < l->told_n; i++)
        if (!tell(told_at(l, i), user))
            return;
}

static bool tell_again(const struct ch_told *t, void *user) {
    if (!t)
        return ch_visit_data(user, "gap", NULL, CH_SV("{}")) == 0;
    return ch_visit_data(user, NULL, t->id, ch_sv_str(t->json)) == 0;
}

void ch_events_follow(struct ch_visit *v, struct ch_lane *l, bool until_end) {
    struct follower *f = ch_alloc(sizeof(*f));
    f->visit = v;
    f->watcher.event = on_event;
    f->until_end = until_end;
    v->user = f;
    v->left = on_left;
    ch_visit_stream(v);
    ch_exchange_write(v->x, CH_SV(": listening\n\n"));
    if (v->last_id.n)
        ch_events_replay(l, v->last_id, tell_again, v);
    ch_lane_watch(l, &f->watcher);
}

static void follow_on(struct ch_visit *v, struct ch_lane *l) {
    ch_events_follow(v, l, false);
}

void ch_sessions_events(struct ch_visit *v) {
    ch_seek(v, false, follow_on);
}

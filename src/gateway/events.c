/* events.c -- GET /api/sessions/{key}/events.
 *
 * Each event is sent under its id, run:seq. Who comes back with Last-Event-ID
 * gets what they missed, as far as it is remembered; if the event they name is
 * not, they are told by an event called `gap` and go on from what there is. */
#include "gateway/events.h"

#include <stdio.h>

#include "base/limits.h"
#include "gateway/lookup.h"
#include "gateway/routes.h"

struct follower {
    struct ch_visit *visit;
    struct ch_watcher watcher;
    struct ch_lane_wait wait;
    bool until_end;
};

static void on_left(struct ch_visit *v) {
    struct follower *f = v->user;
    ch_lane_unwatch(&f->watcher);
    ch_list_del(&f->wait.link);
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

/* What was told after the event that the client saw last. */
static void catch_up(struct ch_visit *v, const struct ch_lane *l) {
    size_t i = 0;
    while (i < l->told_n && !ch_sv_is(v->last_id, told_at(l, i)->id))
        i++;
    if (i == l->told_n) {
        ch_visit_data(v, "gap", NULL, CH_SV("{}"));
        i = (size_t)-1;
    }
    for (i++; i < l->told_n; i++)
        if (ch_visit_data(v, NULL, told_at(l, i)->id, ch_sv_str(told_at(l, i)->json)) < 0)
            return;
}

static void follow(struct follower *f, struct ch_lane *l) {
    struct ch_visit *v = f->visit;
    ch_visit_stream(v);
    ch_exchange_write(v->x, CH_SV(": listening\n\n"));
    if (v->last_id.n)
        catch_up(v, l);
    ch_lane_watch(l, &f->watcher);
}

static struct follower *new_follower(struct ch_visit *v) {
    struct follower *f = ch_alloc(sizeof(*f));
    f->visit = v;
    f->watcher.event = on_event;
    v->user = f;
    v->left = on_left;
    return f;
}

void ch_events_follow(struct ch_visit *v, struct ch_lane *l, bool until_end) {
    struct follower *f = new_follower(v);
    f->until_end = until_end;
    follow(f, l);
}

/* --- a session that is not in memory: it must be in the store */

static int keep_agent(const struct chela_store_session *s, void *user) {
    ((struct ch_lookup *)user)->found = ch_strdup(s->agent);
    return 0;
}

static int ask_agent(struct ch_lookup *l, struct chela_error *err) {
    return chela_store_session(l->store, l->key, keep_agent, l, err);
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *err) {
    struct follower *f = CH_CONTAINER(w, struct follower, wait);
    struct ch_visit *v = f->visit;
    if (!err) {
        follow(f, l);
        return;
    }
    v->left = NULL;
    ch_free(f);
    ch_visit_error(v, err);
}

static void told_agent(struct ch_visit *v, struct ch_lookup *found) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    chela_agent *agent = ch_gateway_agent(v->gw, ch_sv_str(found->found));
    struct ch_lane_opts o = {.agent = agent ? agent : v->gw->agents[0], .key = found->key};
    if (ch_lane_use(v->gw, &o, &lane, &err) < 0) {
        ch_visit_error(v, &err);
        return;
    }
    struct follower *f = new_follower(v);
    f->wait.ready = on_ready;
    ch_lane_when_ready(lane, &f->wait);
}

void ch_sessions_events(struct ch_visit *v) {
    struct ch_lane *lane = ch_lane_find(v->gw, v->param);
    if (!lane || !lane->ready)
        ch_lookup(v, v->param, 0, ask_agent, told_agent);
    else
        ch_events_follow(v, lane, false);
}

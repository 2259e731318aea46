/* lane.c -- see lane.h. */
#include "gateway/lane.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"

/* --- events */

static void count(struct ch_counters *c, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_TOOL_RESULT) {
        c->tool_calls++;
        c->tool_errors += ev->result.is_error;
    }
    if (ev->type == CHELA_EV_TURN_END) {
        c->turns++;
        c->input_tokens += (uint64_t)CH_MAX(ev->turn.usage.input, 0);
        c->output_tokens += (uint64_t)CH_MAX(ev->turn.usage.output, 0);
        c->cost_usd += ev->turn.usage.cost_usd > 0 ? ev->turn.usage.cost_usd : 0;
    }
    if (ev->type == CHELA_EV_RUN_END) {
        c->runs++;
        c->runs_failed += strcmp(ev->end.status, "error") == 0;
    }
}

static void rest(struct ch_lane *l) {
    l->running = false;
    l->rested = ch_mono_ms(ch_loop_clock(l->gw->rt->loop));
}

static void on_event(const struct chela_event *ev, void *user) {
    struct ch_lane *l = user;
    struct ch_link *k = l->watchers.head.next, *next;
    count(&l->gw->counters, ev);
    if (ev->type == CHELA_EV_RUN_END)
        rest(l);
    for (; k != &l->watchers.head; k = next) {
        struct ch_watcher *w = CH_CONTAINER(k, struct ch_watcher, link);
        next = k->next;
        w->event(w, ev);
    }
}

void ch_lane_watch(struct ch_lane *l, struct ch_watcher *w) {
    ch_list_add(&l->watchers, &w->link);
}

void ch_lane_unwatch(struct ch_watcher *w) {
    ch_list_del(&w->link);
}

/* --- life */

static int make_agent(const struct ch_lane_opts *o, chela_agent **out, struct chela_error *err) {
    chela_agent *a;
    int rc = ch_agent_derive(o->agent, &o->patch, &a, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < o->ntools; i++)
        rc = ch_agent_client_tool(a, &o->tools[i], err);
    if (rc < 0)
        ch_agent_free(a);
    else
        *out = a;
    return rc;
}

static void free_lane(struct ch_task *t) {
    struct ch_lane *l = CH_CONTAINER(t, struct ch_lane, bury);
    chela_run_free(l->run);
    ch_agent_free(l->agent);
    ch_free(l);
}

int ch_lane_open(chela_gateway *gw, const struct ch_lane_opts *o, struct ch_lane **out,
                 struct chela_error *err) {
    chela_agent *agent;
    chela_session *session;
    if (gw->nlanes >= CH_LIMIT_LANES)
        return ch_fail(err, CHELA_EBUSY, "too many sessions are in use at once");
    int rc = make_agent(o, &agent, err);
    if (rc < 0)
        return rc;
    rc = ch_session_open(agent, o->key, o->key != NULL, &session, err);
    if (rc < 0) {
        ch_agent_free(agent);
        return rc;
    }
    struct ch_lane *l = ch_alloc(sizeof(*l));
    l->gw = gw;
    l->agent = agent;
    l->session = session;
    l->kept = o->key != NULL;
    l->bury.fn = free_lane;
    ch_list_init(&l->watchers);
    ch_list_add(&gw->lanes, &l->link);
    gw->nlanes++;
    rest(l);
    *out = l;
    return 0;
}

static void leave(struct ch_lane *l) {
    ch_list_del(&l->link);
    l->gw->nlanes--;
    while (!ch_list_empty(&l->watchers))
        ch_list_del(l->watchers.head.next);
    chela_session_close(l->session);
}

void ch_lane_close(struct ch_lane *l) {
    struct ch_loop *loop = l->gw->rt->loop;
    leave(l);
    ch_task_defer(loop, &l->bury);
}

/* --- runs */

int ch_lane_recall(struct ch_lane *l, struct ch_msg *m, struct chela_error *err) {
    int rc = ch_transcript_add(&l->session->transcript, m);
    return rc < 0 ? ch_fail(err, rc, "the history is too long") : 0;
}

int ch_lane_start(struct ch_lane *l, struct ch_msg *input, const char *approve,
                  struct chela_error *err) {
    struct chela_run_opts opts =
        CHELA_RUN_OPTS(.on_event = on_event, .user = l, .approve = approve);
    chela_run *run;
    int rc = ch_run_start(l->session, input, &opts, &run, err);
    if (rc < 0)
        return rc;
    chela_run_free(l->run);
    l->run = run;
    l->running = true;
    return 0;
}

/* --- all of them */

bool ch_lanes_busy(const chela_gateway *gw) {
    for (CH_LIST_EACH(k, &gw->lanes))
        if (CH_CONTAINER(k, struct ch_lane, link)->running)
            return true;
    return false;
}

void ch_lanes_tidy(chela_gateway *gw) {
    int64_t now = ch_mono_ms(ch_loop_clock(gw->rt->loop));
    struct ch_link *k = gw->lanes.head.next, *next;
    for (; k != &gw->lanes.head; k = next) {
        struct ch_lane *l = CH_CONTAINER(k, struct ch_lane, link);
        next = k->next;
        if (!l->running && ch_list_empty(&l->watchers) && now - l->rested > CH_DEFAULT_LANE_MS)
            ch_lane_close(l);
    }
}

void ch_lanes_close(chela_gateway *gw) {
    for (struct ch_lane *l; (l = CH_LIST_FIRST(&gw->lanes, struct ch_lane, link));) {
        leave(l);
        free_lane(&l->bury);
    }
}

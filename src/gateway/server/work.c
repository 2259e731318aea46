/* work.c -- a run in the background: a gateway without a server that works on one session
 * (chela/gateway.h).
 *
 * The lane takes up the events of its inbox, so that other processes can steer, approve and
 * cancel. The work is over when the session is idle and no event waits. */
#include "agent/handle/lookup.h"
#include "agent/machine/media.h"
#include "base/error.h"
#include "base/opts.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/lane_inbox.h"
#include "gateway/server/gateway.h"
#include "io/loop_entry.h"

#define LOOK_MS 200 /* between two looks at the inbox and at the state of the session */

struct work {
    chela_gateway *gw;
    struct ch_timer timer;
    struct ch_lane_wait wait;
    const char *key;
    struct ch_sv text; /* p NULL: resume */
    struct chela_run_opts run;
    int rc;
    struct chela_error err;
    bool over;
};

static void work_look(struct ch_timer *t) {
    struct work *w = CH_CONTAINER(t, struct work, timer);
    struct ch_lane *l = ch_lane_find(w->gw, ch_sv_str(w->key));
    w->over = !l || (!l->running && !ch_lane_inbox_waits(l) && !ch_deliveries_busy(w->gw) &&
                     chela_session_status(l->session) == CHELA_SESSION_IDLE);
    if (w->over)
        return;
    if (l->ready)
        ch_lane_inbox_refresh(l);
    ch_timer_start(w->gw->rt->loop, t, LOOK_MS, work_look);
}

static int work_begin(struct work *w, struct ch_lane *l) {
    struct ch_media_input in = {.kind = CH_MSG_USER,
                                .text = w->text,
                                .ts = ch_now_ms(ch_loop_clock(w->gw->rt->loop))};
    struct ch_msg *m;
    if (!w->text.p)
        return ch_lane_recall(l, w->run.approve, &w->err);
    if (chela_session_status(l->session) == CHELA_SESSION_PAUSED)
        return ch_fail(&w->err, CHELA_ESTATE, "session '%s' waits for an answer or approval",
                       w->key);
    int rc = ch_media_message(&in, w->run.media, w->run.nmedia, &m, &w->err);
    return rc < 0 ? rc : ch_lane_begin(l, m, &w->run, &w->err);
}

static void work_on_ready(struct ch_lane_wait *wait, struct ch_lane *l,
                          const struct chela_error *failed) {
    struct work *w = CH_CONTAINER(wait, struct work, wait);
    if (failed)
        w->err = *failed;
    w->rc = failed ? failed->code : work_begin(w, l);
    if (w->rc < 0)
        w->over = true;
    else
        ch_timer_start(w->gw->rt->loop, &w->timer, LOOK_MS, work_look);
}

static int work_open(struct work *w, struct chela_error *err) {
    struct ch_lane_opts o = {.agent = w->gw->agents[0], .key = w->key};
    struct ch_lane *lane;
    int rc = ch_lane_open(w->gw, &o, &lane, err);
    if (rc == 0) {
        w->wait.ready = work_on_ready;
        ch_lane_when_ready(lane, &w->wait);
    }
    return rc;
}

int chela_gateway_work(chela_runtime *rt, const struct chela_gateway_opts *opts, const char *key,
                       const char *text, size_t n, const struct chela_run_opts *run,
                       struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    struct work w = {.key = key, .text = ch_sv(text, n)};
    struct chela_gateway_opts own;
    int rc = ch_loop_may_run(rt->loop, err);
    if (rc == 0)
        rc = CH_OPTS_NEED(chela_gateway_opts, &own, opts, err);
    if (rc == 0)
        rc = CH_OPTS_READ(chela_run_opts, &w.run, run, err);
    if (rc == 0)
        rc = ch_lane_key_check(ch_sv_str(key ? key : ""), err);
    if (rc == 0 && (!rt->journal || !own.store))
        rc = ch_fail(err, CHELA_ECONFIG, "a run in the background needs a store");
    if (rc == 0)
        rc = ch_gateway_open_headless(rt, opts, &w.gw, err);
    if (rc < 0)
        return rc;
    w.gw->alone = true;
    w.gw->on_event = w.run.on_event;
    w.gw->user = w.run.user;
    ch_runtime_busy(rt, true); /* timers alone do not keep the loop running */
    rc = work_open(&w, err);
    if (rc == 0)
        rc = ch_loop_run(rt->loop, &w.over);
    ch_runtime_busy(rt, false);
    ch_timer_stop(rt->loop, &w.timer);
    ch_list_del(&w.wait.link);
    chela_gateway_close(w.gw);
    if (rc == 0 && w.rc < 0 && err)
        *err = w.err;
    return rc < 0 ? rc : w.rc;
}

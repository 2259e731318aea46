/* schedule_run.c -- runs the due schedules once, without a server: for hosts with a clock of
 * their own, such as cron.
 *
 * It opens a headless gateway and closes it when all runs have ended. Occurrences that
 * another gateway accepted but did not begin are also begun. */
#include "agent/handle/lookup.h"
#include "base/error.h"
#include "base/opts.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "gateway/schedule/schedules.h"
#include "gateway/server/gateway.h"
#include "io/loop_entry.h"

#define LOOK_MS 20

struct schedule_pass {
    chela_gateway *gw;
    struct ch_timer timer;
    int rc;
    struct chela_error err;
    size_t n;
    bool over;
};

/* A delivery that waits for a session of another process is left to that process. */
static void schedule_run_check(struct ch_timer *t) {
    struct schedule_pass *p = CH_CONTAINER(t, struct schedule_pass, timer);
    if (ch_deliveries_busy(p->gw) || ch_lanes_busy(p->gw))
        ch_timer_start(p->gw->rt->loop, t, LOOK_MS, schedule_run_check);
    else
        p->over = true;
}

static void schedule_run_on_begun(int rc, const struct chela_error *err, size_t n, void *user) {
    struct schedule_pass *p = user;
    p->rc = rc;
    p->err = *err;
    p->n = n;
    ch_timer_start(p->gw->rt->loop, &p->timer, 0, schedule_run_check);
}

int chela_schedule_run(chela_runtime *rt, const struct chela_gateway_opts *opts, const char *name,
                       chela_event_fn *on_event, void *user, size_t *n, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    struct schedule_pass p = {0};
    struct chela_gateway_opts own;
    int rc = ch_loop_may_run(rt->loop, err);
    if (rc == 0)
        rc = CH_OPTS_NEED(chela_gateway_opts, &own, opts, err);
    if (rc < 0)
        return rc;
    if (!rt->journal || !own.store)
        return ch_fail(err, CHELA_ECONFIG, "schedules need a store");
    rc = ch_gateway_open_headless(rt, opts, &p.gw, err);
    if (rc < 0)
        return rc;
    p.gw->on_event = on_event;
    p.gw->user = user;
    ch_runtime_busy(rt, true); /* timers alone do not keep the loop running */
    ch_schedules_once(p.gw->schedules, name, schedule_run_on_begun, &p);
    rc = ch_loop_run(rt->loop, &p.over);
    ch_runtime_busy(rt, false);
    ch_timer_stop(rt->loop, &p.timer);
    chela_gateway_close(p.gw);
    if (rc < 0)
        return ch_fail(err, rc, "the loop ended: %s", chela_error_text(rc));
    *n = p.n;
    if (p.rc < 0 && err)
        *err = p.err;
    return p.rc;
}

/* schedule_run.c -- one look at the schedules without a gateway: for who has a
 * clock of his own, such as cron.
 *
 * It is a gateway that serves nobody, and ends once everything that it began has
 * ended. Runs that a gateway accepted and did not begin are taken up as well. */
#include "base/error.h"
#include "gateway/lane/delivery.h"
#include "gateway/schedule/schedules.h"
#include "gateway/server/orphan_scan.h"

#define LOOK_MS 20

struct pass {
    chela_gateway *gw;
    struct ch_timer timer;
    int rc;
    struct chela_error err;
    size_t n;
    bool over;
};

/* What waits for a session that is in use elsewhere is left to others. */
static void on_look(struct ch_timer *t) {
    struct pass *p = CH_CONTAINER(t, struct pass, timer);
    if (ch_deliveries_busy(p->gw) || ch_lanes_busy(p->gw))
        ch_timer_start(p->gw->rt->loop, t, LOOK_MS, on_look);
    else
        p->over = true;
}

static void on_begun(int rc, const struct chela_error *err, size_t n, void *user) {
    struct pass *p = user;
    p->rc = rc;
    p->err = *err;
    p->n = n;
    ch_timer_start(p->gw->rt->loop, &p->timer, 0, on_look);
}

int chela_schedule_run(chela_runtime *rt, const struct chela_gateway_opts *opts, const char *name,
                       chela_event_fn *on_event, void *user, size_t *n, struct chela_error *err) {
    struct pass p = {0};
    if (!rt->own_loop)
        return ch_fail(err, CHELA_ESTATE, "this runtime lives in its host's loop");
    if (!rt->journal || !opts->store)
        return ch_fail(err, CHELA_ECONFIG, "schedules need a store: it knows what was done");
    int rc = ch_gateway_headless(rt, opts, &p.gw, err);
    if (rc < 0)
        return rc;
    p.gw->on_event = on_event;
    p.gw->user = user;
    ch_runtime_busy(rt, true); /* timers alone do not hold the loop */
    ch_schedules_once(p.gw->schedules, name, on_begun, &p);
    rc = ch_loop_run(rt->loop, &p.over);
    ch_runtime_busy(rt, false);
    ch_timer_stop(rt->loop, &p.timer);
    chela_gateway_close(p.gw);
    if (rc < 0)
        return ch_fail(err, rc, "the loop ended: %s", chela_error_text(rc));
    *n = p.n;
    if (p.rc < 0)
        *err = p.err;
    return p.rc;
}

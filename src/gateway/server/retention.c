/* retention.c -- what nobody needs any more is deleted, now and then: events that
 * were dealt with and messages that were sent, once nobody will send them again;
 * and sessions that nobody has used for long, if the host wishes it.
 *
 * Only sessions at rest are: a run that was cut off, or waits for a person, is not
 * over, and neither is what an event or a message that was not sent belongs to. One
 * that is open, here or in another process, is in use. */
#include "base/limits.h"
#include "base/log.h"
#include "gateway/request/gateway.h"
#include "store/store.h"

struct ch_sweep {
    struct ch_work work;
    chela_gateway *gw; /* NULL: it was closed */
    chela_store *store;
    int64_t now, kept_ms; /* kept_ms: of sessions; 0: for good */
    size_t gone;
    int rc;
    struct chela_error err;
};

static void run(struct ch_work *w) {
    struct ch_sweep *s = CH_CONTAINER(w, struct ch_sweep, work);
    s->rc = ch_store_expire(s->store, s->now - CH_DEFAULT_DONE_MS, &s->err);
    if (s->rc == 0 && s->kept_ms)
        s->rc = ch_store_prune_idle(s->store, s->now - s->kept_ms, &s->gone, &s->err);
}

static void dropped(struct ch_work *w) {
    ch_free(CH_CONTAINER(w, struct ch_sweep, work));
}

static void done(struct ch_work *w) {
    struct ch_sweep *s = CH_CONTAINER(w, struct ch_sweep, work);
    if (s->gw)
        s->gw->sweep = NULL;
    if (s->gone)
        ch_log(CH_LOG_INFO, "gateway", "%zu session%s deleted that nobody used any more", s->gone,
               s->gone == 1 ? " was" : "s were");
    if (s->rc < 0)
        ch_log(CH_LOG_WARN, "gateway", "what is old is not deleted: %s", s->err.message);
    ch_free(s);
}

static void on_due(struct ch_timer *t) {
    chela_gateway *gw = CH_CONTAINER(t, chela_gateway, retention);
    ch_timer_start(gw->rt->loop, t, CH_DEFAULT_RETENTION_LOOK_MS, on_due);
    if (gw->sweep)
        return;
    struct ch_sweep *s = ch_alloc(sizeof(*s));
    s->work = (struct ch_work){.run = run, .done = done, .dropped = dropped};
    s->gw = gw;
    s->store = gw->store;
    s->now = ch_now_ms(ch_loop_clock(gw->rt->loop));
    s->kept_ms = gw->retention_ms;
    gw->sweep = s;
    ch_work_submit(gw->rt->workers, &s->work);
}

void ch_retention_set(chela_gateway *gw, int64_t days) {
    gw->retention_ms = days * 24 * 60 * 60 * 1000;
    if (gw->store && !gw->headless)
        ch_timer_start(gw->rt->loop, &gw->retention, 0, on_due);
}

void ch_retention_stop(chela_gateway *gw) {
    ch_timer_stop(gw->rt->loop, &gw->retention);
    if (gw->sweep)
        gw->sweep->gw = NULL;
}

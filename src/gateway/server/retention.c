/* retention.c -- see retention.h.
 *
 * Settled events and sent messages are deleted when nobody will repeat them any more.
 * Sessions are deleted if the host asks for it, and only if they are idle: not if a run was
 * interrupted or waits for a person, if an event or an unsent message belongs to the
 * session, or if a process has it open. */
#include "gateway/server/retention.h"

#include "base/limits.h"
#include "base/log.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/presence_note.h"
#include "store/store.h"

struct ch_retention {
    chela_gateway *gw;
    struct ch_timer timer;
    int64_t kept_ms;               /* idle sessions are kept for so long; 0: for good */
    struct retention_sweep *sweep; /* in progress; else NULL */
};

struct retention_sweep {
    struct ch_work work;
    struct ch_retention *owner; /* NULL: the gateway was closed */
    chela_store *store;
    int64_t now, kept_ms;
    size_t ndeleted;
    int rc;
    struct chela_error err;
};

static void retention_run(struct ch_work *w) {
    struct retention_sweep *s = CH_CONTAINER(w, struct retention_sweep, work);
    s->rc = ch_store_expire(s->store, s->now - CH_DEFAULT_DONE_MS, &s->err);
    if (s->rc == 0)
        s->rc = ch_presence_expire(s->store, s->now, &s->err);
    if (s->rc == 0 && s->kept_ms)
        s->rc = ch_store_prune_idle(s->store, s->now - s->kept_ms, &s->ndeleted, &s->err);
}

static void retention_dropped(struct ch_work *w) {
    ch_free(CH_CONTAINER(w, struct retention_sweep, work));
}

static void retention_done(struct ch_work *w) {
    struct retention_sweep *s = CH_CONTAINER(w, struct retention_sweep, work);
    if (s->owner)
        s->owner->sweep = NULL;
    if (s->ndeleted)
        ch_log(CH_LOG_INFO, "gateway", "deleted %zu unused session%s", s->ndeleted,
               s->ndeleted == 1 ? "" : "s");
    if (s->rc < 0)
        ch_log(CH_LOG_WARN, "gateway", "old data cannot be deleted: %s", s->err.message);
    ch_free(s);
}

static void retention_on_timer(struct ch_timer *t) {
    struct ch_retention *r = CH_CONTAINER(t, struct ch_retention, timer);
    chela_gateway *gw = r->gw;
    ch_timer_start(gw->rt->loop, t, CH_DEFAULT_RETENTION_LOOK_MS, retention_on_timer);
    if (r->sweep)
        return;
    struct retention_sweep *s = ch_alloc(sizeof(*s));
    s->work = (struct ch_work){
        .run = retention_run, .done = retention_done, .dropped = retention_dropped};
    s->owner = r;
    s->store = gw->store;
    s->now = ch_now_ms(ch_loop_clock(gw->rt->loop));
    s->kept_ms = r->kept_ms;
    r->sweep = s;
    ch_work_submit(gw->rt->workers, &s->work);
}

struct ch_retention *ch_retention_new(chela_gateway *gw) {
    struct ch_retention *r = ch_alloc(sizeof(*r));
    r->gw = gw;
    return r;
}

void ch_retention_free(struct ch_retention *r) {
    if (!r)
        return;
    ch_timer_stop(r->gw->rt->loop, &r->timer);
    if (r->sweep)
        r->sweep->owner = NULL;
    ch_free(r);
}

void ch_retention_set(struct ch_retention *r, int64_t days) {
    r->kept_ms = days * 24 * 60 * 60 * 1000;
    if (r->gw->store && !r->gw->headless)
        ch_timer_start(r->gw->rt->loop, &r->timer, 0, retention_on_timer);
}

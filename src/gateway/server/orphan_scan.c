/* orphan_scan.c -- see orphan_scan.h. */
#include "gateway/server/orphan_scan.h"

#include "agent/journal/schedule.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/chat/chat_recovery.h"
#include "gateway/chat/chat_service.h"
#include "gateway/http/webhooks.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/lane_inbox.h"
#include "gateway/lane/orphans.h"
#include "gateway/request/gateway_state.h"
#include "io/worker.h"
#include "store/news.h"
#include "store/owner.h"
#include "store/store.h"

#define EVENT_AGE_MS 500 /* the gateway that accepted an event has this time to open its session */
#define HELD_AGE_MS 5000 /* the time if another gateway has the session */
#define LEASES_READ 64   /* leases that one scan looks at */

struct ch_orphan_scan {
    chela_gateway *gw;
    struct ch_timer timer;
    struct ch_store_news *news; /* NULL: the store has none */
    int64_t chats_at;           /* monotonic: time of the next scan for items of chats */
    struct store_scan *scan; /* in progress; else NULL */
    struct ch_list resumes;
    struct ch_list claims; /* struct orphan_claim */
};

/* --- reading the store, on a worker thread */

struct orphan {
    struct ch_link link;
    char *id, *key, *data, *agent; /* owned; agent: of a session, the others: of an event */
    size_t n;
    bool served; /* a gateway held it last */
    bool held;   /* an event: a process may have its session */
};

struct store_scan {
    struct ch_work work;
    struct ch_orphan_scan *owner; /* NULL: freed during the scan */
    chela_store *store;
    struct ch_list events, sessions; /* struct orphan */
    int64_t now;
};

static struct orphan *add_orphan(struct ch_list *list, const char *key) {
    struct orphan *f = ch_alloc(sizeof(*f));
    f->key = ch_strdup(key);
    ch_list_add(list, &f->link);
    return f;
}

static bool orphan_has_prefix(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static int add_event(const struct chela_store_item *i, void *user) {
    struct orphan *f = add_orphan(user, i->key);
    f->id = ch_strdup(i->id);
    f->data = ch_strndup(i->data, i->n);
    f->n = i->n;
    f->held = true;
    return 0;
}

/* Events of chats are scanned by chat_recovery.c. */
static int orphan_scan_on_event(const struct chela_store_item *i, void *user) {
    struct store_scan *k = user;
    return ch_delivery_owns(i->id) ? add_event(i, &k->events) : 0;
}

static int orphan_scan_on_session(const struct chela_store_session *s, void *user) {
    struct store_scan *k = user;
    if (ch_orphans_lease_is_held(s, k->now) || s->key[chela_session_root(s->key)])
        return 0; /* a sub-session is resumed by its parent */
    struct orphan *f = add_orphan(&k->sessions, s->key);
    f->agent = ch_strdup(s->agent);
    f->served = ch_owner_serves(s->owner);
    return 0;
}

static int orphan_scan_on_lease(const struct chela_store_session *s, void *user) {
    struct orphan *f = user;
    f->held = ch_orphans_lease_is_held(s, ch_store_now());
    return 0;
}

/* The events of one session mostly follow one another. */
static void orphan_scan_read_lease(const struct store_scan *k, struct orphan *f) {
    struct chela_error ignored = {0};
    const struct orphan *before = CH_CONTAINER(f->link.prev, struct orphan, link);
    if (f->link.prev != &k->events.head && strcmp(before->key, f->key) == 0) {
        f->held = before->held;
        return;
    }
    f->held = false;
    chela_store_session(k->store, f->key, orphan_scan_on_lease, f, &ignored);
}

static void orphan_scan_read_store(struct ch_work *w) {
    struct store_scan *k = CH_CONTAINER(w, struct store_scan, work);
    size_t looked = 0;
    struct chela_store_filter running =
        CHELA_STORE_FILTER(.status = "running", .limit = CH_LIMIT_LISTED);
    struct chela_error err = {0};
    k->now = ch_store_now();
    int rc = chela_store_list(k->store, &running, orphan_scan_on_session, k, &err);
    if (rc == 0)
        rc = chela_store_items(k->store, CHELA_STORE_INBOX, orphan_scan_on_event, k, &err);
    for (CH_LIST_EACH(i, &k->events)) {
        if (rc == 0 && looked++ < LEASES_READ)
            orphan_scan_read_lease(k, CH_CONTAINER(i, struct orphan, link));
    }
    if (rc < 0)
        ch_log(CH_LOG_WARN, "gateway", "the store cannot be scanned for orphans: %s", err.message);
}

static void free_orphans(struct ch_list *list) {
    for (struct orphan *f; (f = CH_LIST_FIRST(list, struct orphan, link));) {
        ch_list_del(&f->link);
        ch_free(f->id);
        ch_free(f->key);
        ch_free(f->data);
        ch_free(f->agent);
        ch_free(f);
    }
}

static void store_scan_free(struct ch_work *w) {
    struct store_scan *k = CH_CONTAINER(w, struct store_scan, work);
    if (k->owner)
        k->owner->scan = NULL;
    free_orphans(&k->events);
    free_orphans(&k->sessions);
    ch_free(k);
}

/* --- runs whose process is gone */

#define EVENTS_FIRST_MS 200 /* for events to be taken up before the run is resumed */

struct orphan_resume {
    struct ch_link link;
    struct ch_lane_wait wait;
    struct ch_timer timer;
    chela_gateway *gw;
    char *key; /* owned */
};

static void orphan_resume_free(struct orphan_resume *r) {
    if (ch_timer_armed(&r->timer))
        ch_timer_stop(r->gw->rt->loop, &r->timer);
    ch_list_del(&r->link);
    ch_list_del(&r->wait.link);
    ch_free(r->key);
    ch_free(r);
}

static void orphan_resume_lane(struct orphan_resume *r, struct ch_lane *l,
                               const struct chela_error *failed) {
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = err.code;
    if (rc == 0 && ch_lane_was_interrupted(l)) {
        ch_log(CH_LOG_INFO, "gateway", "session %s has an interrupted run: resuming it", r->key);
        rc = ch_lane_resume(l, CHELA_APPROVE_ASK, &err);
    } else if (rc == 0) {
        ch_lane_start_waiting(l);
    }
    if (rc < 0 && rc != CHELA_EBUSY && rc != CHELA_ENOENT) /* another gateway was first */
        ch_log(CH_LOG_WARN, "gateway", "session %s cannot be resumed: %s", r->key, err.message);
    orphan_resume_free(r);
}

static void orphan_resume_on_timer(struct ch_timer *t) {
    struct orphan_resume *r = CH_CONTAINER(t, struct orphan_resume, timer);
    struct ch_lane *l = ch_lane_find(r->gw, ch_sv_str(r->key));
    if (l && l->ready && !r->gw->draining)
        orphan_resume_lane(r, l, NULL);
    else
        orphan_resume_free(r);
}

/* Waiting events may contain the input that the run needs: results of the client's tools, a
 * decision, a cancellation. They are delivered first, and resume the run themselves. */
static void orphan_resume_on_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                   const struct chela_error *failed) {
    struct orphan_resume *r = CH_CONTAINER(w, struct orphan_resume, wait);
    if (!failed && l->inbox && ch_lane_inbox_waits(l))
        ch_timer_start(r->gw->rt->loop, &r->timer, EVENTS_FIRST_MS, orphan_resume_on_timer);
    else
        orphan_resume_lane(r, l, failed);
}

/* Runs of webhooks and schedules have no client that would resume them; nor have the runs that
 * a gateway was asked for and that it left when it died. */
static bool orphan_is_ours(const chela_gateway *gw, const struct orphan *f) {
    return f->served || ch_webhooks_own_session(gw, f->key) ||
           orphan_has_prefix(f->key, "schedule:") || orphan_has_prefix(f->key, "wake:");
}

static void orphan_resume_session(struct ch_orphan_scan *s, const struct orphan *f) {
    chela_gateway *gw = s->gw;
    struct ch_lane_opts o = {.agent = ch_gateway_agent(gw, ch_sv_str(f->agent)),
                             .key = f->key,
                             .exists = true}; /* unless it was deleted since the scan */
    struct chela_error err = {0};
    struct ch_lane *lane;
    if (ch_lane_find(gw, ch_sv_str(f->key)))
        return;
    if (ch_chat_service_of_session(gw, f->key)) {
        s->chats_at = 0; /* at the next turn */
        return;
    }
    if (!o.agent || !orphan_is_ours(gw, f))
        return;
    if (ch_lane_open(gw, &o, &lane, &err) < 0) {
        ch_log(CH_LOG_WARN, "gateway", "session %s cannot be resumed: %s", f->key, err.message);
        return;
    }
    struct orphan_resume *r = ch_alloc(sizeof(*r));
    r->gw = gw;
    r->key = ch_strdup(f->key);
    r->wait.ready = orphan_resume_on_ready;
    ch_list_add(&s->resumes, &r->link);
    ch_lane_when_ready(lane, &r->wait);
}

/* A session was opened for a client while its run, left by another gateway, is unfinished, or
 * messages wait. If no event has resumed the run, this gateway must resume it: after the lease
 * is released, no other gateway would find the run. */
static void orphan_resume_inherited(chela_gateway *gw) {
    for (struct ch_link *k = gw->lanes.head.next, *next; k != &gw->lanes.head; k = next) {
        struct ch_lane *l = CH_CONTAINER(k, struct ch_lane, link);
        const char *key = l->ready ? l->session->key : NULL;
        next = k->next; /* the lane is closed if its chat cannot open it */
        if (!key || !l->session->inherited || (l->inbox && ch_lane_inbox_waits(l)))
            continue;
        struct ch_chat_service *chat = ch_chat_service_of_session(gw, key);
        if (chat && !chat->overrides_read)
            continue;
        l->session->inherited = false;
        if (gw->headless || gw->draining || key[chela_session_root(key)])
            continue;
        if (chat && !chat->leaving && !l->running)
            ch_chat_recovery_resume(chat, key);
        else if (!chat && !ch_lane_resume_first(l, CHELA_APPROVE_ASK))
            ch_lane_start_waiting(l);
    }
}

/* --- scanning */

/* The lane of an open session reads its events itself. An event that this gateway left itself
 * is taken at once. */
static void orphan_take_event(struct ch_orphan_scan *s, const struct orphan *f) {
    chela_gateway *gw = s->gw;
    struct ch_lane *lane = ch_lane_find(gw, ch_sv_str(f->key));
    if (lane)
        ch_lane_inbox_refresh(lane);
    if (lane || gw->alone || (gw->headless && !orphan_has_prefix(f->id, CH_SCHEDULE_NOTE)))
        return;
    int64_t age = ch_orphans_age(gw->orphans, f->id);
    bool first = ch_orphans_is_first_scan(gw->orphans) && !ch_gateway_is_shared(gw);
    if (first || age >= (f->held ? HELD_AGE_MS : EVENT_AGE_MS))
        ch_delivery_restore(gw, f->id, f->key, ch_sv(f->data, f->n));
}

/* An event of a chat service that is not configured any more waits for that service. */
static enum ch_restored orphan_restore(chela_gateway *gw, const char *id, const char *key,
                                       struct ch_sv data) {
    if (!ch_delivery_owns(id))
        return gw->draining ? CH_RESTORED_ASIDE : ch_chat_recovery_restore(gw, id, data);
    return ch_delivery_restore(gw, id, key, data);
}

enum ch_restored ch_orphan_scan_restore(chela_gateway *gw, struct ch_lane *l, const char *id,
                                        struct ch_sv data) {
    return orphan_restore(gw, id, l->session->key, data);
}

static void orphan_scan_on_timer(struct ch_timer *t);

static void orphan_scan_done(struct ch_work *w) {
    struct store_scan *k = CH_CONTAINER(w, struct store_scan, work);
    struct ch_orphan_scan *s = k->owner;
    if (!s) {
        store_scan_free(w);
        return;
    }
    chela_gateway *gw = s->gw;
    for (CH_LIST_EACH(i, &k->sessions))
        if (!gw->draining && !gw->headless)
            orphan_resume_session(s, CH_CONTAINER(i, struct orphan, link));
    for (CH_LIST_EACH(i, &k->events))
        if (!gw->draining)
            orphan_take_event(s, CH_CONTAINER(i, struct orphan, link));
    ch_orphans_end_scan(gw->orphans);
    store_scan_free(w);
    ch_timer_start(gw->rt->loop, &s->timer,
                   ch_gateway_is_shared(gw) ? CH_DEFAULT_SHARED_ORPHAN_SCAN_MS
                                            : CH_DEFAULT_ORPHAN_SCAN_MS,
                   orphan_scan_on_timer);
}

static void orphan_scan_run(struct ch_orphan_scan *s) {
    struct store_scan *k = ch_alloc(sizeof(*k));
    k->work = (struct ch_work){
        .run = orphan_scan_read_store, .done = orphan_scan_done, .dropped = store_scan_free};
    k->owner = s;
    k->store = s->gw->store;
    ch_list_init(&k->events);
    ch_list_init(&k->sessions);
    s->scan = k;
    ch_orphans_begin_scan(s->gw->orphans);
    ch_work_submit(s->gw->rt->workers, &k->work);
}

static void orphan_scan_on_timer(struct ch_timer *t) {
    struct ch_orphan_scan *s = CH_CONTAINER(t, struct ch_orphan_scan, timer);
    int64_t now = ch_mono_ms(ch_loop_clock(s->gw->rt->loop));
    orphan_resume_inherited(s->gw);
    ch_lanes_close_idle(s->gw);
    if (!s->gw->headless && now >= s->chats_at) {
        s->chats_at = now + CH_DEFAULT_CHAT_SCAN_MS;
        ch_chat_recovery_start(s->gw);
    }
    orphan_scan_run(s);
}

/* --- news of other gateways */

/* Another gateway released the session and left events: they are taken now. */
struct orphan_claim {
    struct ch_work work;
    struct ch_link link;         /* in the scan's claims */
    struct ch_orphan_scan *scan; /* NULL: freed meanwhile */
    chela_store *store;
    char *key; /* owned */
    struct ch_list events;
};

static void orphan_claim_read(struct ch_work *w) {
    struct orphan_claim *c = CH_CONTAINER(w, struct orphan_claim, work);
    struct chela_error ignored = {0};
    ch_store_waiting(c->store, c->key, CH_LIMIT_LANE_EVENTS, add_event, &c->events, &ignored);
}

static void orphan_claim_free(struct ch_work *w) {
    struct orphan_claim *c = CH_CONTAINER(w, struct orphan_claim, work);
    ch_list_del(&c->link);
    free_orphans(&c->events);
    ch_free(c->key);
    ch_free(c);
}

static void orphan_claim_done(struct ch_work *w) {
    struct orphan_claim *c = CH_CONTAINER(w, struct orphan_claim, work);
    chela_gateway *gw = c->scan ? c->scan->gw : NULL;
    for (CH_LIST_EACH(k, &c->events)) {
        const struct orphan *f = CH_CONTAINER(k, struct orphan, link);
        if (gw && !gw->draining)
            orphan_restore(gw, f->id, f->key, ch_sv(f->data, f->n));
    }
    orphan_claim_free(w);
}

static void orphan_scan_on_news(const char *key, bool released, void *user) {
    struct ch_orphan_scan *s = user;
    struct ch_lane *lane = ch_lane_find(s->gw, ch_sv_str(key));
    if (lane)
        ch_lane_inbox_refresh(lane);
    if (lane || !released || s->gw->draining || s->gw->headless)
        return;
    struct orphan_claim *c = ch_alloc(sizeof(*c));
    c->work = (struct ch_work){
        .run = orphan_claim_read, .done = orphan_claim_done, .dropped = orphan_claim_free};
    c->scan = s;
    c->store = s->gw->store;
    c->key = ch_strdup(key);
    ch_list_init(&c->events);
    ch_list_add(&s->claims, &c->link);
    ch_work_submit(s->gw->rt->workers, &c->work);
}

struct ch_orphan_scan *ch_orphan_scan_new(chela_gateway *gw) {
    struct ch_orphan_scan *s = ch_alloc(sizeof(*s));
    s->gw = gw;
    ch_list_init(&s->resumes);
    ch_list_init(&s->claims);
    return s;
}

void ch_orphan_scan_start(struct ch_orphan_scan *s) {
    if (!s->gw->store || !s->gw->rt->journal)
        return;
    if (ch_gateway_is_shared(s->gw))
        s->news = ch_store_news_new(s->gw->rt->loop, s->gw->store, orphan_scan_on_news, s);
    orphan_scan_run(s);
}

void ch_orphan_scan_free(struct ch_orphan_scan *s) {
    if (!s)
        return;
    ch_timer_stop(s->gw->rt->loop, &s->timer);
    ch_store_news_free(s->news);
    for (struct orphan_claim *c; (c = CH_LIST_FIRST(&s->claims, struct orphan_claim, link));) {
        c->scan = NULL;
        ch_list_del(&c->link);
    }
    if (s->scan)
        s->scan->owner = NULL;
    for (struct orphan_resume *r; (r = CH_LIST_FIRST(&s->resumes, struct orphan_resume, link));)
        orphan_resume_free(r);
    ch_free(s);
}

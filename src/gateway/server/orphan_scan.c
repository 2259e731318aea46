/* orphan_scan.c -- see orphan_scan.h. */
#include "gateway/server/orphan_scan.h"

#include "agent/journal/schedule.h"
#include "base/checksum.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/chat/channels.h"
#include "gateway/lane/delivery.h"
#include "io/worker.h"
#include "store/store.h"

#define EVENT_AGE_MS 5000 /* that its gateway has to deliver it */

struct sighting {
    uint64_t id; /* a digest */
    int64_t since; /* monotonic */
    unsigned round;
};

struct ch_lookout {
    chela_gateway *gw;
    struct ch_timer timer;
    struct look *look; /* under way; NULL */
    struct ch_list rescues;
    unsigned round;
    struct sighting *seen; /* owned */
    size_t nseen;
};

/* --- how long something has been there */

static uint64_t digest(const char *id) {
    size_t n = strlen(id);
    return (uint64_t)ch_checksum(0, id, n) << 32 | ch_checksum(1, id, n);
}

int64_t ch_lookout_sighted(struct ch_lookout *s, const char *id) {
    uint64_t d = digest(id);
    int64_t now = ch_mono_ms(ch_loop_clock(s->gw->rt->loop));
    for (size_t i = 0; i < s->nseen; i++)
        if (s->seen[i].id == d) {
            s->seen[i].round = s->round;
            return now - s->seen[i].since;
        }
    if (s->nseen < CH_LIMIT_SIGHTINGS) {
        s->seen = ch_realloc(s->seen, (s->nseen + 1) * sizeof(*s->seen));
        s->seen[s->nseen++] = (struct sighting){d, now, s->round};
    }
    return 0;
}

/* What was not there any more this time, nor the last. */
static void forget_gone(struct ch_lookout *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->nseen; i++)
        if (s->seen[i].round + 1 >= s->round)
            s->seen[n++] = s->seen[i];
    s->nseen = n;
}

bool ch_lookout_is_first(const struct ch_lookout *s) {
    return s->round <= 1;
}

bool ch_session_is_held(const struct chela_store_session *s, int64_t now) {
    return *s->owner && s->until > now && !ch_owner_is_dead(s->owner);
}

/* --- what the store has, read on a worker thread */

struct found {
    struct ch_link link;
    char *id, *key, *data, *agent; /* owned; those that it has */
    size_t n;
    bool served; /* by a gateway, before */
};

struct look {
    struct ch_work work;
    struct ch_lookout *of; /* NULL: it was freed meanwhile */
    chela_store *store;
    struct ch_list events, sessions; /* struct found */
    int64_t now;
};

static struct found *add_found(struct ch_list *list, const char *key) {
    struct found *f = ch_alloc(sizeof(*f));
    f->key = ch_strdup(key);
    ch_list_add(list, &f->link);
    return f;
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static int on_event(const struct chela_store_item *i, void *user) {
    struct look *k = user;
    if (!begins(i->id, CH_HOOK_EVENT) && !begins(i->id, CH_SCHEDULE_NOTE))
        return 0;
    struct found *f = add_found(&k->events, i->key);
    f->id = ch_strdup(i->id);
    f->data = ch_strndup(i->data, i->n);
    f->n = i->n;
    return 0;
}

static int on_session(const struct chela_store_session *s, void *user) {
    struct look *k = user;
    if (ch_session_is_held(s, k->now) || s->key[chela_session_root(s->key)])
        return 0; /* the latter goes on with the one that called it */
    struct found *f = add_found(&k->sessions, s->key);
    f->agent = ch_strdup(s->agent);
    f->served = ch_owner_serves(s->owner);
    return 0;
}

static void read_store(struct ch_work *w) {
    struct look *k = CH_CONTAINER(w, struct look, work);
    struct chela_store_filter running =
        CHELA_STORE_FILTER(.status = "running", .limit = CH_LIMIT_LISTED);
    struct chela_error err = {0};
    k->now = ch_store_now();
    int rc = chela_store_list(k->store, &running, on_session, k, &err);
    if (rc == 0)
        rc = chela_store_items(k->store, CHELA_STORE_INBOX, on_event, k, &err);
    if (rc < 0)
        ch_log(CH_LOG_WARN, "gateway", "what was left behind cannot be read: %s", err.message);
}

static void free_found(struct ch_list *list) {
    for (struct found *f; (f = CH_LIST_FIRST(list, struct found, link));) {
        ch_list_del(&f->link);
        ch_free(f->id);
        ch_free(f->key);
        ch_free(f->data);
        ch_free(f->agent);
        ch_free(f);
    }
}

static void free_look(struct ch_work *w) {
    struct look *k = CH_CONTAINER(w, struct look, work);
    if (k->of)
        k->of->look = NULL;
    free_found(&k->events);
    free_found(&k->sessions);
    ch_free(k);
}

/* --- a run whose process is gone */

struct rescue {
    struct ch_link link;
    struct ch_lane_wait wait;
    char *key; /* owned */
};

static void free_rescue(struct rescue *r) {
    ch_list_del(&r->link);
    ch_list_del(&r->wait.link);
    ch_free(r->key);
    ch_free(r);
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct rescue *r = CH_CONTAINER(w, struct rescue, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    int rc = err.code;
    if (rc == 0 && ch_lane_was_cut_off(l)) {
        ch_log(CH_LOG_INFO, "gateway", "session %s was left in the middle of a run: it goes on",
               r->key);
        rc = ch_lane_resume(l, "ask", &err);
    }
    if (rc < 0 && rc != CHELA_EBUSY) /* somebody was faster */
        ch_log(CH_LOG_WARN, "gateway", "session %s is not taken up: %s", r->key, err.message);
    free_rescue(r);
}

/* What began by itself is for nobody else to end. With a shared store, what
 * another gateway had begun for somebody is too: that one may not come back. */
static bool is_ours(const chela_gateway *gw, const struct found *f) {
    return ch_hooks_own(gw, f->key) || begins(f->key, "schedule:") || begins(f->key, "wake:") ||
           (f->served && ch_gateway_is_shared(gw));
}

static void take_up_session(struct ch_lookout *s, const struct found *f) {
    chela_gateway *gw = s->gw;
    struct ch_lane_opts o = {.agent = ch_gateway_agent(gw, ch_sv_str(f->agent)), .key = f->key};
    struct chela_error err = {0};
    struct ch_lane *lane;
    if (!o.agent || !is_ours(gw, f) || ch_lane_find(gw, ch_sv_str(f->key)) ||
        ch_channels_own(gw, f->key))
        return;
    if (ch_lane_open(gw, &o, &lane, &err) < 0) {
        ch_log(CH_LOG_WARN, "gateway", "session %s is not taken up: %s", f->key, err.message);
        return;
    }
    struct rescue *r = ch_alloc(sizeof(*r));
    r->key = ch_strdup(f->key);
    r->wait.ready = on_ready;
    ch_list_add(&s->rescues, &r->link);
    ch_lane_when_ready(lane, &r->wait);
}

/* --- looking */

/* Whose session is open here, or was left by ourselves, need not wait. */
static void take_up_event(struct ch_lookout *s, const struct found *f) {
    chela_gateway *gw = s->gw;
    if (ch_delivery_knows(gw, f->id) || (gw->headless && !begins(f->id, CH_SCHEDULE_NOTE)))
        return;
    int64_t age = ch_lookout_sighted(s, f->id);
    bool first = ch_lookout_is_first(s) && !ch_gateway_is_shared(gw);
    if (!first && age < EVENT_AGE_MS && !ch_lane_find(gw, ch_sv_str(f->key)))
        return;
    struct ch_delivery *d = ch_delivery_recall(gw, f->id, f->key, ch_sv(f->data, f->n));
    if (d)
        ch_delivery_start(d);
}

static void on_timer(struct ch_timer *t);

static void on_looked(struct ch_work *w) {
    struct look *k = CH_CONTAINER(w, struct look, work);
    struct ch_lookout *s = k->of;
    if (!s) {
        free_look(w);
        return;
    }
    chela_gateway *gw = s->gw;
    for (CH_LIST_EACH(i, &k->sessions))
        if (!gw->draining && !gw->headless)
            take_up_session(s, CH_CONTAINER(i, struct found, link));
    for (CH_LIST_EACH(i, &k->events))
        if (!gw->draining)
            take_up_event(s, CH_CONTAINER(i, struct found, link));
    if (!gw->draining)
        ch_deliveries_retry(gw);
    forget_gone(s);
    free_look(w);
    ch_timer_start(gw->rt->loop, &s->timer,
                   ch_gateway_is_shared(gw) ? CH_DEFAULT_SHARED_LOOKOUT_MS : CH_DEFAULT_LOOKOUT_MS,
                   on_timer);
}

static void look(struct ch_lookout *s) {
    struct look *k = ch_alloc(sizeof(*k));
    k->work = (struct ch_work){.run = read_store, .done = on_looked, .dropped = free_look};
    k->of = s;
    k->store = s->gw->store;
    ch_list_init(&k->events);
    ch_list_init(&k->sessions);
    s->look = k;
    s->round++;
    ch_work_submit(s->gw->rt->workers, &k->work);
}

static void on_timer(struct ch_timer *t) {
    struct ch_lookout *s = CH_CONTAINER(t, struct ch_lookout, timer);
    ch_lanes_tidy(s->gw);
    if (!s->gw->headless)
        ch_channels_recover(s->gw);
    look(s);
}

struct ch_lookout *ch_lookout_new(chela_gateway *gw) {
    struct ch_lookout *s = ch_alloc(sizeof(*s));
    s->gw = gw;
    ch_list_init(&s->rescues);
    return s;
}

void ch_lookout_start(struct ch_lookout *s) {
    if (s->gw->store && s->gw->rt->journal)
        look(s);
}

void ch_lookout_free(struct ch_lookout *s) {
    if (!s)
        return;
    ch_timer_stop(s->gw->rt->loop, &s->timer);
    if (s->look)
        s->look->of = NULL;
    for (struct rescue *r; (r = CH_LIST_FIRST(&s->rescues, struct rescue, link));)
        free_rescue(r);
    ch_free(s->seen);
    ch_free(s);
}

/* tail.c -- see tail.h. */
#include "gateway/lane/tail.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/record_events.h"
#include "io/worker.h"
#include "store/owner.h"
#include "store/store.h"

#define REFUSED_AFTER 3 /* readings without the awaited event, in the inbox or the journal */

struct ch_tail {
    struct ch_link link; /* in the gateway's tails */
    chela_gateway *gw;
    struct ch_list watchers; /* at most one */
    char *key;               /* owned */
    char *after, *awaited;   /* owned; may be NULL */
    char *taken_as;          /* owned; see ch_tail_taken_as */
    enum ch_tail_start start;
    ch_tail_opened_fn *opened; /* NULL: already called, or no callback was given */
    void *user;
    ch_tail_settled_fn *settled; /* NULL: already called, or nothing is awaited */
    void *settled_user;
    bool is_open;
    bool begins;              /* see ch_tail_await */
    bool moved;               /* records came since the event is awaited */
    struct ch_list held;      /* struct ch_record_batch: not passed on yet */
    unsigned missing;         /* readings in a row that did not find the awaited event */
    struct ch_record_events state; /* used by the thread while it reads */
    uint64_t next;                 /* the first record not read */
    struct tail_reading *reading;  /* in progress; else NULL */
    struct ch_timer timer;
    int64_t wait_ms; /* until the next reading */
};

/* --- reading, on a worker thread */

struct tail_reading {
    struct ch_work work;
    struct ch_tail *tail;
    bool abandoned; /* the tail has no watcher any more: it is freed after the reading */
    chela_store *store;
    struct ch_list batches; /* struct ch_record_batch */
    bool first, gap, waits;
    char *awaited; /* owned copy */
    int rc;
    struct chela_error err;
    struct chela_error outcome; /* of the awaited event: ch_delivery_read_outcome */
};

static int tail_on_row(const struct chela_store_session *s, void *user) {
    struct tail_reading *g = user;
    struct ch_tail *t = g->tail;
    g->gap = t->start == CH_TAIL_AWAIT && *s->owner && !ch_owner_serves(s->owner);
    t->next = s->window ? s->window : 1;
    ch_record_events_release(&t->state); /* an earlier reading may have failed */
    t->state = (struct ch_record_events){0};
    ch_buf_add_str(&t->state.agent, s->agent);
    ch_buf_add_str(&t->state.session, s->key);
    return 0;
}

static int tail_on_record(const struct chela_store_record *r, void *user) {
    struct tail_reading *g = user;
    struct ch_record_batch *b = ch_record_events_read(&g->tail->state, r);
    g->tail->next = r->seq + 1;
    if (b && g->first && g->tail->start <= CH_TAIL_AWAIT)
        ch_record_batch_free(b);
    else if (b)
        ch_list_add(&g->batches, &b->link);
    return 0;
}

static int tail_on_waiting(const struct chela_store_item *i, void *user) {
    struct tail_reading *g = user;
    g->waits |= strcmp(i->id, g->awaited) == 0;
    return 0;
}

static void tail_read(struct ch_work *w) {
    struct tail_reading *g = CH_CONTAINER(w, struct tail_reading, work);
    struct ch_tail *t = g->tail;
    if (g->first)
        g->rc = chela_store_session(g->store, t->key, tail_on_row, g, &g->err);
    if (g->rc == 0 && g->awaited)
        g->rc = ch_store_waiting(g->store, t->key, CH_LIMIT_LANE_EVENTS, tail_on_waiting, g,
                                 &g->err);
    if (g->rc == 0 && g->awaited)
        ch_delivery_read_outcome(g->store, g->awaited, &g->outcome);
    if (g->rc == 0)
        g->rc = chela_store_records(g->store, t->key, t->next, tail_on_record, g, &g->err);
}

static void tail_drop_batches(struct ch_list *list) {
    for (struct ch_record_batch *b; (b = CH_LIST_FIRST(list, struct ch_record_batch, link));)
        ch_record_batch_free(b);
}

static void tail_free(struct ch_tail *t) {
    ch_list_del(&t->link);
    for (struct ch_lane_watcher *w;
         (w = CH_LIST_FIRST(&t->watchers, struct ch_lane_watcher, link));)
        ch_lane_unwatch(w);
    if (ch_timer_armed(&t->timer)) /* not during a reading, which may outlive the gateway */
        ch_timer_stop(t->gw->rt->loop, &t->timer);
    tail_drop_batches(&t->held);
    ch_record_events_release(&t->state);
    ch_free(t->key);
    ch_free(t->after);
    ch_free(t->awaited);
    ch_free(t->taken_as);
    ch_free(t);
}

/* A tail in use by the thread is freed when the thread is done with it. */
static void tail_abandon(struct ch_tail *t) {
    struct tail_reading *g = t->reading;
    if (!g) {
        tail_free(t);
        return;
    }
    g->abandoned = true;
    ch_list_del(&t->link);
    for (struct ch_lane_watcher *w;
         (w = CH_LIST_FIRST(&t->watchers, struct ch_lane_watcher, link));)
        ch_lane_unwatch(w);
}

static void tail_free_reading(struct tail_reading *g) {
    tail_drop_batches(&g->batches);
    ch_free(g->awaited);
    ch_free(g);
}

static void tail_drop_reading(struct ch_work *w) {
    struct tail_reading *g = CH_CONTAINER(w, struct tail_reading, work);
    struct ch_tail *t = g->tail;
    t->reading = NULL;
    tail_free_reading(g);
    tail_free(t);
}

/* --- what precedes the first event */

static struct ch_record_batch *tail_next_batch(const struct ch_list *list,
                                               const struct ch_record_batch *b) {
    struct ch_link *k = b ? b->link.next : list->head.next;
    return k == &list->head ? NULL : CH_CONTAINER(k, struct ch_record_batch, link);
}

static void tail_drop_before(struct ch_list *list, const struct ch_record_batch *first) {
    for (struct ch_record_batch *b;
         (b = CH_LIST_FIRST(list, struct ch_record_batch, link)) && b != first;)
        ch_record_batch_free(b);
}

static const struct ch_record_batch *tail_run_start(const struct ch_list *list) {
    const struct ch_record_batch *found = NULL, *b = NULL;
    while ((b = tail_next_batch(list, b)))
        for (size_t i = 0; i < b->n; i++) {
            if (b->events[i].type == CHELA_EV_RUN_START)
                found = b;
            if (b->events[i].type == CHELA_EV_RUN_END)
                found = NULL;
        }
    return found;
}

/* The last event that a client has: "run:seq@record" of a tail, or "run:seq" of the gateway that
 * ran the session. */
struct tail_position {
    struct ch_sv run;
    uint64_t seq, record;
    bool has_record;
};

static struct tail_position tail_read_position(struct ch_sv after) {
    struct ch_sv id = after, record = ch_sv(NULL, 0);
    const char *at = memrchr(after.p, '@', after.n), *colon;
    if (at) {
        id.n = (size_t)(at - after.p);
        record = ch_sv(at + 1, after.n - id.n - 1);
    }
    colon = memrchr(id.p, ':', id.n);
    return (struct tail_position){.run = ch_sv(id.p, colon ? (size_t)(colon - id.p) : 0),
                                  .seq = colon ? strtoull(colon + 1, NULL, 10) : 0,
                                  .record = record.n ? strtoull(record.p, NULL, 10) : 0,
                                  .has_record = record.n > 0};
}

static void tail_drop_events(struct ch_record_batch *b, uint64_t seq) {
    size_t past = 0;
    while (past < b->n && b->events[past].seq <= seq)
        past++;
    b->events += past;
    b->n -= past;
}

static bool tail_is_of(const struct ch_record_batch *b, struct ch_sv run) {
    return b && b->n && ch_sv_is(run, b->events[0].run);
}

/* The first batch after a record. */
static const struct ch_record_batch *tail_after_record(const struct ch_list *list,
                                                       const struct tail_position *p, bool *gap) {
    struct ch_record_batch *b = NULL;
    do {
        b = tail_next_batch(list, b);
        *gap &= !tail_is_of(b, p->run);
    } while (b && b->record < p->record);
    if (b && b->record == p->record) { /* the rest of the same record */
        tail_drop_events(b, p->seq);
        *gap = false;
    }
    return b;
}

/* The numbers of this tail may be lower than those of the client, so all events since the previous
 * state are repeated. Only the number of a RUN_END is the holder's. */
static const struct ch_record_batch *tail_after_event(const struct ch_list *list,
                                                      const struct tail_position *p, bool *gap) {
    struct ch_record_batch *b = NULL, *found = NULL;
    while ((b = tail_next_batch(list, b))) {
        if (!tail_is_of(b, p->run))
            continue;
        const struct chela_event *last = &b->events[b->n - 1];
        bool ended = last->type == CHELA_EV_RUN_END && last->seq <= p->seq;
        *gap = false;
        if (ended || !found || (b->since > found->since && b->since - 1 <= p->seq))
            found = b;
        if (ended)
            tail_drop_events(b, p->seq);
    }
    return found;
}

static int tail_skip(struct ch_tail *t, struct tail_reading *g) {
    const struct ch_record_batch *first = NULL;
    if (t->start == CH_TAIL_ALL)
        return 0;
    if (t->start == CH_TAIL_RUN && !(first = tail_run_start(&g->batches)))
        return ch_fail(&g->err, CHELA_ENOENT, "no run is in progress");
    if (t->start == CH_TAIL_AFTER) {
        struct tail_position p = tail_read_position(ch_sv_str(t->after));
        g->gap = true;
        first = p.has_record ? tail_after_record(&g->batches, &p, &g->gap)
                             : tail_after_event(&g->batches, &p, &g->gap);
    }
    tail_drop_before(&g->batches, first);
    return 0;
}

/* --- telling */

static struct ch_lane_watcher *tail_watcher(const struct ch_tail *t) {
    return CH_LIST_FIRST(&t->watchers, struct ch_lane_watcher, link);
}

static void tail_tell(struct ch_tail *t, const struct ch_record_batch *b) {
    struct ch_lane_watcher *w;
    for (size_t i = 0; i < b->n && (w = tail_watcher(t)); i++) {
        w->record = b->record;
        w->event(w, &b->events[i]);
    }
}

static void tail_tell_settled(struct ch_tail *t, const struct chela_error *err) {
    ch_tail_settled_fn *settled = CH_TAKE(t->settled);
    if (settled)
        settled(err, t->settled_user);
}

static void tail_tell_all(struct ch_tail *t, struct ch_list *batches) {
    for (struct ch_record_batch *b;
         tail_watcher(t) && (b = CH_LIST_FIRST(batches, struct ch_record_batch, link));) {
        bool ours = t->awaited && b->taken && strcmp(b->taken, t->awaited) == 0;
        if (ours && !t->taken_as)
            t->taken_as = ch_strdup(b->mode ? b->mode : "");
        t->moved |= b->n > 0;
        if (t->begins ? t->taken_as != NULL : t->moved)
            tail_tell_settled(t, NULL);
        if (!t->begins || t->taken_as)
            tail_tell(t, b);
        ch_record_batch_free(b);
    }
}

/* Ends the watcher's wait: the session was deleted. */
static void tail_end_deleted(struct ch_tail *t) {
    static const char why[] = "the session was deleted";
    struct ch_lane_watcher *w = tail_watcher(t);
    void (*deleted)(struct ch_lane_watcher *) = w->deleted; /* without it, event may free w */
    struct chela_event end = {
        .type = CHELA_EV_RUN_END,
        .run = ch_buf_str(&t->state.run),
        .seq = t->state.seq,
        .ts = ch_now_ms(ch_loop_clock(t->gw->rt->loop)),
        .end = {.status = CHELA_STATUS_CANCELLED,
                .reason = CHELA_REASON_CANCELLED,
                .text = {"", 0},
                .error = {why, sizeof(why) - 1}}};
    w->record = t->next;
    w->event(w, &end);
    if (deleted)
        deleted(w);
}

static void tail_hold(struct ch_tail *t, struct tail_reading *g) {
    for (struct ch_record_batch *b;
         (b = CH_LIST_FIRST(&g->batches, struct ch_record_batch, link));) {
        ch_list_del(&b->link);
        ch_list_add(&t->held, &b->link);
    }
}

/* The records of a reading while an event is awaited. Records that precede the effect of the
 * event may be of an earlier run, so they are held while the event waits. */
static void tail_on_awaited(struct ch_tail *t, struct tail_reading *g) {
    bool taken = *g->outcome.message && !g->outcome.code;
    /* without g->awaited the reading began before the event was stored */
    bool waits = (g->waits || !g->awaited) && !taken;
    tail_hold(t, g);
    if (waits && !t->begins)
        return;
    if (taken && !t->taken_as)
        t->taken_as = ch_strdup(g->outcome.message);
    if (taken)
        tail_tell_settled(t, NULL);
    if (!g->outcome.code)
        tail_tell_all(t, &t->held);
    t->missing = !waits && t->settled ? t->missing + 1 : 0;
    if (t->missing >= REFUSED_AFTER && !g->outcome.code) /* the holder ended before it could tell */
        ch_fail(&g->outcome, CHELA_ESTATE, "the session refused the request");
    if (g->outcome.code)
        tail_tell_settled(t, &g->outcome);
}

static void tail_start_reading(struct ch_tail *t, bool first);

static void tail_on_timer(struct ch_timer *timer) {
    struct ch_tail *t = CH_CONTAINER(timer, struct ch_tail, timer);
    if (tail_watcher(t))
        tail_start_reading(t, !t->is_open);
    else
        tail_free(t);
}

/* A run in progress is looked at often. */
static void tail_wait(struct ch_tail *t, bool news) {
    bool busy = t->state.begun || t->awaited;
    int64_t most = busy ? CH_DEFAULT_TAIL_BUSY_MS : CH_DEFAULT_TAIL_IDLE_MS;
    t->wait_ms = news ? CH_DEFAULT_TAIL_MS : CH_MIN(2 * t->wait_ms, most);
    ch_timer_start(t->gw->rt->loop, &t->timer, t->wait_ms, tail_on_timer);
}

static void tail_tell_opened(struct ch_tail *t, bool gap, const struct chela_error *err) {
    ch_tail_opened_fn *opened = t->opened;
    struct ch_lane_watcher *w = tail_watcher(t);
    t->opened = NULL;
    t->is_open = true;
    if (err)
        ch_lane_unwatch(w);
    if (opened)
        opened(w, gap, err, t->user);
    else if (err && w->deleted && t->start != CH_TAIL_ALL) /* a new session may follow */
        w->deleted(w);
}

/* The records that were read are known; the rest is read later. */
static void tail_warn(const struct ch_tail *t, const struct tail_reading *g) {
    ch_log(CH_LOG_WARN, "gateway", "the records of session %s cannot be read: %s", t->key,
           g->err.message);
}

static void tail_on_first_read(struct ch_tail *t, struct tail_reading *g) {
    if (g->rc == 0)
        g->rc = tail_skip(t, g);
    if (g->rc < 0 && g->rc != CHELA_ENOENT && !t->opened) { /* nobody can be told */
        tail_warn(t, g);
        return;
    }
    if (g->rc < 0) {
        tail_tell_opened(t, false, &g->err);
        return;
    }
    tail_tell_opened(t, g->gap, NULL);
    tail_tell_all(t, &g->batches);
}

static void tail_on_later_read(struct ch_tail *t, struct tail_reading *g) {
    if (g->rc == CHELA_ENOENT) {
        if (t->settled)
            tail_tell_settled(t, &g->err);
        else
            tail_end_deleted(t);
        return;
    }
    if (g->rc < 0)
        tail_warn(t, g);
    if (!t->settled)
        tail_tell_all(t, &g->batches);
    else if (g->rc < 0)
        tail_hold(t, g);
    else
        tail_on_awaited(t, g);
}

static void tail_on_read(struct ch_work *w) {
    struct tail_reading *g = CH_CONTAINER(w, struct tail_reading, work);
    struct ch_tail *t = g->tail;
    if (g->abandoned) {
        tail_drop_reading(w);
        return;
    }
    /* The event is being stored. Its sender has no use for records of an earlier run, but the
     * session may take the event up before ch_tail_await. A failure is found again later. */
    bool early = !g->first && t->start == CH_TAIL_AWAIT && !t->awaited;
    bool news = !ch_list_empty(&g->batches), deleted = g->rc == CHELA_ENOENT && !early;
    if (early)
        tail_hold(t, g);
    else if (tail_watcher(t) && g->first)
        tail_on_first_read(t, g);
    else if (tail_watcher(t))
        tail_on_later_read(t, g);
    bool over = g->abandoned || !tail_watcher(t) || deleted;
    t->reading = NULL;
    tail_free_reading(g);
    if (over)
        tail_free(t);
    else
        tail_wait(t, news);
}

static void tail_start_reading(struct ch_tail *t, bool first) {
    struct tail_reading *g = ch_alloc(sizeof(*g));
    g->work =
        (struct ch_work){.run = tail_read, .done = tail_on_read, .dropped = tail_drop_reading};
    g->tail = t;
    g->store = t->gw->store;
    g->first = first;
    g->awaited = t->settled ? ch_strdup(t->awaited) : NULL;
    ch_list_init(&g->batches);
    t->reading = g;
    ch_work_submit(t->gw->rt->workers, &g->work);
}

/* --- life */

void ch_tail_open(chela_gateway *gw, const char *key, enum ch_tail_start start, struct ch_sv after,
                  struct ch_lane_watcher *w, ch_tail_opened_fn *opened, void *user) {
    struct ch_tail *t = ch_alloc(sizeof(*t));
    t->gw = gw;
    t->key = ch_strdup(key);
    t->start = start;
    t->after = after.p ? ch_strndup(after.p, after.n) : ch_strdup("");
    t->opened = opened;
    t->user = user;
    t->wait_ms = CH_DEFAULT_TAIL_MS;
    ch_list_init(&t->watchers);
    ch_list_init(&t->held);
    ch_list_add(&gw->tails, &t->link);
    ch_list_add(&t->watchers, &w->link);
    w->tail = t;
    tail_start_reading(t, true);
}

void ch_tail_await(struct ch_lane_watcher *w, const char *event, bool begins,
                   ch_tail_settled_fn *settled, void *user) {
    struct ch_tail *t = w->tail;
    ch_free(t->awaited);
    t->awaited = ch_strdup(event);
    t->begins = begins;
    t->moved = false;
    t->settled = settled;
    t->settled_user = user;
    if (!t->reading)
        ch_timer_start(t->gw->rt->loop, &t->timer, 0, tail_on_timer);
}

const char *ch_tail_taken_as(const struct ch_lane_watcher *w) {
    return w->tail ? w->tail->taken_as : NULL;
}

void ch_tails_close(chela_gateway *gw) {
    for (struct ch_tail *t; (t = CH_LIST_FIRST(&gw->tails, struct ch_tail, link));)
        tail_abandon(t);
}

void ch_tail_event_id(const struct ch_lane_watcher *w, const struct chela_event *ev,
                      struct ch_buf *out) {
    ch_buf_addf(out, "%s:%llu", ev->run, (unsigned long long)ev->seq);
    if (w->tail)
        ch_buf_addf(out, "@%llu", (unsigned long long)w->record);
}

/* lane_inbox.c -- see lane_inbox.h. */
#include "gateway/lane/lane_inbox.h"

#include "agent/journal/journal.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/lane/lane.h"
#include "io/worker.h"
#include "store/store.h"

#define RETRY_MS 1000
#define FULL_MS 10            /* until a full inbox is read again */
#define RESTORE_AGAIN_MS 5000 /* until an event that nothing delivers is restored again */

struct inbox_row {
    struct ch_link link;
    char *id, *data; /* owned; data until the event was restored */
    size_t n;
    bool taken;      /* taken up by this lane; the store may not show it yet */
    bool restored;   /* gw->restore_event was called for the event */
    int64_t restored_at; /* monotonic */
    bool aside;      /* keeps no other event waiting */
    unsigned offered; /* number of the pass in which the event's `take` returned CH_TURN_WAITS */
};

struct ch_lane_inbox {
    struct ch_lane *lane;
    struct ch_list rows, turns;
    size_t nrows;
    unsigned readings; /* begun */
    unsigned pass;
    bool stale; /* the store may have more than was read */
    struct inbox_reading *reading; /* in progress; else NULL */
    void (*opened)(struct ch_lane *l, const struct chela_error *err);
    struct ch_task task;
    struct ch_timer retry;
    bool *freed; /* set when the inbox is freed during a callback */
};

/* --- rows */

static void free_row(struct ch_lane_inbox *i, struct inbox_row *r) {
    ch_list_del(&r->link);
    i->nrows--;
    ch_free(r->id);
    ch_free(r->data);
    ch_free(r);
}

static struct inbox_row *find_row(const struct ch_lane_inbox *i, const char *id) {
    for (CH_LIST_EACH(k, &i->rows)) {
        struct inbox_row *r = CH_CONTAINER(k, struct inbox_row, link);
        if (strcmp(r->id, id) == 0)
            return r;
    }
    return NULL;
}

static struct ch_turn *find_turn(const struct ch_lane_inbox *i, const char *id) {
    for (CH_LIST_EACH(k, &i->turns)) {
        struct ch_turn *t = CH_CONTAINER(k, struct ch_turn, link);
        if (strcmp(t->id, id) == 0)
            return t;
    }
    return NULL;
}

/* --- reading, on a worker thread */

struct inbox_reading {
    struct ch_work work;
    struct ch_lane_inbox *inbox; /* NULL: freed meanwhile */
    chela_store *store;
    char *key; /* owned */
    struct ch_list rows;
    size_t n;
    unsigned number;
    int rc;
    struct chela_error err;
};

static int inbox_on_item(const struct chela_store_item *item, void *user) {
    struct inbox_reading *g = user;
    struct inbox_row *r = ch_alloc(sizeof(*r));
    r->id = ch_strdup(item->id);
    r->data = ch_strndup(item->data, item->n);
    r->n = item->n;
    ch_list_add(&g->rows, &r->link);
    g->n++;
    return 0;
}

static void inbox_read(struct ch_work *w) {
    struct inbox_reading *g = CH_CONTAINER(w, struct inbox_reading, work);
    g->rc = ch_store_waiting(g->store, g->key, CH_LIMIT_LANE_EVENTS, inbox_on_item, g, &g->err);
}

static void inbox_drop_reading(struct ch_work *w) {
    struct inbox_reading *g = CH_CONTAINER(w, struct inbox_reading, work);
    if (g->inbox)
        g->inbox->reading = NULL;
    struct ch_lane_inbox rest = {.nrows = g->n};
    for (struct inbox_row *r; (r = CH_LIST_FIRST(&g->rows, struct inbox_row, link));)
        free_row(&rest, r);
    ch_free(g->key);
    ch_free(g);
}

static void inbox_on_read(struct ch_work *w);

static void inbox_start_reading(struct ch_lane_inbox *i) {
    if (i->reading) {
        i->stale = true;
        return;
    }
    struct inbox_reading *g = ch_alloc(sizeof(*g));
    g->work = (struct ch_work){
        .run = inbox_read, .done = inbox_on_read, .dropped = inbox_drop_reading};
    g->inbox = i;
    g->store = i->lane->gw->store;
    g->key = ch_strdup(i->lane->session->key);
    g->number = ++i->readings;
    ch_list_init(&g->rows);
    i->stale = false;
    i->reading = g;
    ch_work_submit(i->lane->gw->rt->workers, &g->work);
}

static void inbox_on_retry(struct ch_timer *t) {
    inbox_start_reading(CH_CONTAINER(t, struct ch_lane_inbox, retry));
}

static int64_t inbox_now(const struct ch_lane_inbox *i) {
    return ch_mono_ms(ch_loop_clock(i->lane->gw->rt->loop));
}

/* Replace the known rows by the rows of a reading. An event that was taken up keeps this mark
 * until a reading does not contain the event. An event that was restored some time ago is
 * restored again: whatever had to deliver the event may have been dropped. */
static void inbox_replace_rows(struct ch_lane_inbox *i, struct inbox_reading *g) {
    int64_t now = inbox_now(i);
    for (CH_LIST_EACH(k, &g->rows)) {
        struct inbox_row *r = CH_CONTAINER(k, struct inbox_row, link);
        const struct inbox_row *before = find_row(i, r->id);
        if (!before)
            continue;
        r->taken = before->taken;
        r->restored_at = before->restored_at;
        r->restored = before->restored && now - before->restored_at < RESTORE_AGAIN_MS;
        r->aside = before->aside;
    }
    for (struct inbox_row *r; (r = CH_LIST_FIRST(&i->rows, struct inbox_row, link));)
        free_row(i, r);
    for (struct inbox_row *r; (r = CH_LIST_FIRST(&g->rows, struct inbox_row, link));) {
        ch_list_del(&r->link);
        ch_list_add(&i->rows, &r->link);
    }
    i->nrows = g->n;
    g->n = 0;
}

/* A turn whose event is missing in this reading: another process held the session and took
 * the event up. */
static struct ch_turn *inbox_find_gone(const struct ch_lane_inbox *i, unsigned number) {
    for (CH_LIST_EACH(k, &i->turns)) {
        struct ch_turn *t = CH_CONTAINER(k, struct ch_turn, link);
        if (t->since <= number && !find_row(i, t->id))
            return t;
    }
    return NULL;
}

static void inbox_drop_turn(struct ch_turn *t, struct ch_lane *l, int code, const char *why) {
    struct chela_error err = {0};
    ch_fail(&err, code, "%s", why);
    ch_list_del(&t->link);
    t->take(t, l, &err);
}

static void inbox_finish_opening(struct ch_lane_inbox *i, const struct chela_error *err) {
    void (*opened)(struct ch_lane *l, const struct chela_error *err) = i->opened;
    i->opened = NULL;
    opened(i->lane, err);
}

static void inbox_on_read(struct ch_work *w) {
    struct inbox_reading *g = CH_CONTAINER(w, struct inbox_reading, work);
    struct ch_lane_inbox *i = g->inbox;
    unsigned number = g->number;
    bool full = g->n == CH_LIMIT_LANE_EVENTS, gone = false;
    struct chela_error err = g->err;
    if (!i) {
        inbox_drop_reading(w);
        return;
    }
    if (g->rc == 0)
        inbox_replace_rows(i, g);
    inbox_drop_reading(w);
    if (err.code && i->opened) {
        inbox_finish_opening(i, &err);
        return;
    }
    if (err.code) {
        ch_log(CH_LOG_WARN, "gateway", "the events of session %s cannot be read: %s",
               i->lane->session->key, err.message);
        ch_timer_start(i->lane->gw->rt->loop, &i->retry, RETRY_MS, inbox_on_retry);
        return;
    }
    i->freed = &gone;
    for (struct ch_turn *t; !full && !gone && (t = inbox_find_gone(i, number));)
        inbox_drop_turn(t, i->lane, CHELA_EEXIST, "the event was taken up already");
    if (!gone && i->opened)
        inbox_finish_opening(i, NULL);
    else if (!gone && i->stale)
        inbox_start_reading(i);
    if (gone)
        return;
    i->freed = NULL;
    ch_lane_inbox_poke(i->lane);
}

/* --- turns */

struct turn_order { /* kinds of the events before the row being checked */
    bool begins, joins;
};

static bool inbox_may_go(const struct ch_lane *l, const struct ch_turn *t,
                         const struct turn_order *before) {
    if (l->gw->draining && t->kind != CH_TURN_CONTROLS)
        return false;
    switch (t->kind) {
    case CH_TURN_CONTROLS:
        return true;
    case CH_TURN_JOINS:
        return !before->joins && (l->running || !before->begins);
    case CH_TURN_BEGINS:
        break;
    }
    return !ch_lane_is_busy(l) && !before->joins && !before->begins;
}

static void inbox_restore(struct ch_lane_inbox *i, struct inbox_row *r, const bool *gone) {
    struct ch_lane *l = i->lane;
    size_t n = r->n;
    r->restored = true;
    r->restored_at = inbox_now(i);
    CH_AUTOFREE char *data = CH_TAKE(r->data);
    CH_AUTOFREE char *id = ch_strdup(r->id);
    enum ch_restored how = l->gw->restore_event(l->gw, l, id, ch_sv(data, n));
    r = *gone ? NULL : find_row(i, id);
    if (!r)
        return;
    r->aside = how == CH_RESTORED_ASIDE;
    if (how == CH_RESTORED_LATER) {
        r->data = CH_TAKE(data);
        r->restored = false;
        r->offered = i->pass;
    }
}

/* The next row to be offered in this pass; NULL: none. */
static struct inbox_row *inbox_next(struct ch_lane_inbox *i, struct ch_turn **turn) {
    struct turn_order before = {0};
    for (CH_LIST_EACH(k, &i->rows)) {
        struct inbox_row *r = CH_CONTAINER(k, struct inbox_row, link);
        struct ch_turn *t = r->taken ? NULL : find_turn(i, r->id);
        if (r->taken)
            continue;
        *turn = t;
        if (!t && !r->restored && r->offered != i->pass)
            return r;
        if (!t && r->aside)
            continue;
        if (t && r->offered != i->pass && inbox_may_go(i->lane, t, &before))
            return r;
        /* An event that is being prepared may turn out to be of either kind. */
        before.joins |= !t || t->kind == CH_TURN_JOINS;
        before.begins |= !t || t->kind == CH_TURN_BEGINS;
    }
    return NULL;
}

/* An event that cannot be delivered, and that its owner did not settle, no longer blocks the
 * events behind it; it is delivered when the lane is opened again. */
static void inbox_offer(struct ch_lane_inbox *i, struct inbox_row *r, struct ch_turn *t,
                        const bool *gone) {
    CH_AUTOFREE char *id = ch_strdup(r->id);
    r->offered = i->pass;
    ch_list_del(&t->link);
    int rc = t->take(t, i->lane, NULL);
    if (*gone)
        return;
    if (rc == CH_TURN_WAITS)
        ch_list_add(&i->turns, &t->link);
    r = find_row(i, id);
    if (!r)
        return;
    r->taken |= rc == 0;
    r->aside |= rc < 0;
}

static bool inbox_has_untaken(const struct ch_lane_inbox *i) {
    for (CH_LIST_EACH(k, &i->rows))
        if (!CH_CONTAINER(k, struct inbox_row, link)->taken)
            return true;
    return false;
}

/* A gateway that drains takes up only the events that control its runs. */
static bool inbox_is_open(const struct ch_lane *l) {
    return l->ready && (!l->gw->draining || l->running);
}

static void inbox_pump(struct ch_task *task) {
    struct ch_lane_inbox *i = CH_CONTAINER(task, struct ch_lane_inbox, task);
    struct ch_turn *t = NULL;
    bool gone = false;
    i->freed = &gone;
    i->pass++;
    for (struct inbox_row *r; !gone && inbox_is_open(i->lane) && (r = inbox_next(i, &t));) {
        if (t)
            inbox_offer(i, r, t, &gone);
        else
            inbox_restore(i, r, &gone);
    }
    if (gone)
        return;
    i->freed = NULL;
    /* The store may have more. The next reading contains the same rows until the store has
     * the records that take them up. */
    if (i->nrows == CH_LIMIT_LANE_EVENTS && !inbox_has_untaken(i) && !ch_timer_armed(&i->retry))
        ch_timer_start(i->lane->gw->rt->loop, &i->retry, FULL_MS, inbox_on_retry);
}

bool ch_lane_inbox_waits(const struct ch_lane *l) {
    return inbox_has_untaken(l->inbox) || !ch_list_empty(&l->inbox->turns);
}

bool ch_lane_inbox_holds(const struct ch_lane *l, const char *id) {
    const struct inbox_row *r = find_row(l->inbox, id);
    return r && !r->taken;
}

void ch_lane_inbox_wait(struct ch_lane *l, struct ch_turn *t) {
    struct ch_lane_inbox *i = l->inbox;
    t->since = i->readings + 1;
    ch_list_add(&i->turns, &t->link);
    if (t->kind == CH_TURN_BEGINS)
        ch_lane_start_waiting(l); /* the event has its turn when these messages are answered */
    if (find_row(i, t->id))
        ch_lane_inbox_poke(l);
    else
        inbox_start_reading(i);
}

void ch_lane_inbox_refresh(struct ch_lane *l) {
    if (l->inbox && l->ready)
        inbox_start_reading(l->inbox);
}

void ch_lane_inbox_poke(struct ch_lane *l) {
    if (l->inbox)
        ch_task_defer(l->gw->rt->loop, &l->inbox->task);
}

void ch_lane_inbox_settle(chela_gateway *gw, const char *key, const char *id,
                          chela_accepted_fn *done, void *user) {
    const struct ch_lane *l = ch_lane_find(gw, ch_sv_str(key));
    struct inbox_row *r = l && l->inbox ? find_row(l->inbox, id) : NULL;
    struct ch_journal *j = gw->rt->journal;
    struct chela_store_change c = {.kind = CHELA_STORE_SETTLE, .id = id};
    j->ops->change(j, &c, done ? j->gate : CH_SYNC_LATER, done, user);
    if (!r)
        return;
    r->taken = true;
    ch_task_defer(gw->rt->loop, &l->inbox->task); /* the events behind this one may go on */
}

/* --- life */

struct ch_lane_inbox *ch_lane_inbox_new(struct ch_lane *l) {
    struct ch_lane_inbox *i = ch_alloc(sizeof(*i));
    i->lane = l;
    i->task.fn = inbox_pump;
    ch_list_init(&i->rows);
    ch_list_init(&i->turns);
    return i;
}

/* Discard a reading that began under an earlier lease. */
static void inbox_forget_reading(struct ch_lane_inbox *i) {
    if (i->reading)
        i->reading->inbox = NULL;
    i->reading = NULL;
}

void ch_lane_inbox_open(struct ch_lane_inbox *i,
                        void (*done)(struct ch_lane *l, const struct chela_error *err)) {
    inbox_forget_reading(i);
    i->opened = done;
    inbox_start_reading(i);
}

void ch_lane_inbox_stop(struct ch_lane_inbox *i) {
    if (!i)
        return;
    struct ch_loop *loop = i->lane->gw->rt->loop;
    if (i->freed)
        *i->freed = true;
    i->freed = NULL;
    if (ch_task_queued(&i->task))
        ch_task_cancel(loop, &i->task);
    ch_timer_stop(loop, &i->retry);
    inbox_forget_reading(i);
}

void ch_lane_inbox_free(struct ch_lane_inbox *i) {
    if (!i)
        return;
    for (struct ch_turn *t; (t = CH_LIST_FIRST(&i->turns, struct ch_turn, link));)
        inbox_drop_turn(t, i->lane, CHELA_ESTATE, "the session was closed");
    for (struct inbox_row *r; (r = CH_LIST_FIRST(&i->rows, struct inbox_row, link));)
        free_row(i, r);
    ch_free(i);
}

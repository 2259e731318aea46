/* tail.c -- see tail.h. */
#include "gateway/lane/tail.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/machine/event.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/record_events.h"
#include "io/worker.h"
#include "store/owner.h"
#include "store/store.h"

#define REFUSED_AFTER 3 /* readings without the awaited event, in the inbox or the journal */

/* The last event that a client has: a record and the number of its event, or an earlier form. */
struct tail_position {
    uint64_t record, nth; /* nth 0: after all events of the record */
    bool known;           /* `record` is set */
    struct ch_sv run;     /* of the earlier forms; borrowed */
    uint64_t seq;
};

/* An event without a record, which follows the record `after`. */
struct tail_piece {
    struct ch_link link;
    uint64_t after;
    enum chela_event_type type;
    size_t n;
    char json[];
};

struct ch_tail {
    struct ch_link link; /* in the gateway's tails */
    chela_gateway *gw;
    struct ch_list watchers; /* at most one */
    struct ch_lane_watcher live; /* in the lane of the session, if it is open here */
    struct ch_lane *lane;        /* that one, while `live` is linked */
    struct ch_list pieces;       /* struct tail_piece: their records are not passed on yet */
    size_t pieces_bytes;
    bool again;                  /* records were committed during the reading */
    bool late;                   /* pieces of the reply in progress may have been missed */
    bool replying;               /* a reply is in progress, whose record is not passed on yet */
    char *key;               /* owned */
    char *after, *awaited;   /* owned; may be NULL */
    struct tail_position from; /* `after`, read */
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
    const struct tail_position *p = &t->from;
    g->gap = t->start == CH_TAIL_AWAIT && *s->owner && !ch_owner_serves(s->owner);
    if (t->start == CH_TAIL_AFTER)
        g->gap = !p->run.p && (!p->known || p->record > s->last ||
                               (p->record && p->record < s->base)); /* of a deleted session */
    bool early = t->start == CH_TAIL_AFTER && (g->gap || (p->known && p->record < s->window));
    t->next = s->window && !early ? s->window : s->base + 1;
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

static void tail_drop_piece(struct ch_tail *t, struct tail_piece *p) {
    t->pieces_bytes -= p->n;
    ch_list_del(&p->link);
    ch_free(p);
}

static void tail_leave_lane(struct ch_tail *t) {
    ch_list_del(&t->live.link);
    t->lane = NULL;
}

static void tail_free(struct ch_tail *t) {
    tail_leave_lane(t);
    for (struct tail_piece *p; (p = CH_LIST_FIRST(&t->pieces, struct tail_piece, link));)
        tail_drop_piece(t, p);
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
    tail_leave_lane(t);
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

/* run:seq@record or run:seq; `after` ends with a NUL. */
static struct tail_position tail_read_earlier_form(struct ch_sv after) {
    const char *at = memrchr(after.p, '@', after.n);
    size_t n = at ? (size_t)(at - after.p) : after.n;
    const char *colon = memrchr(after.p, ':', n);
    if (!colon)
        return (struct tail_position){0};
    return (struct tail_position){.run = ch_sv(after.p, (size_t)(colon - after.p)),
                                  .seq = strtoull(colon + 1, NULL, 10),
                                  .record = at ? strtoull(at + 1, NULL, 10) : 0,
                                  .known = at != NULL};
}

static bool tail_read_number(const char **p, uint64_t *out) {
    const char *from = *p;
    for (*out = 0; **p >= '0' && **p <= '9' && *p - from < 19; ++*p)
        *out = *out * 10 + (uint64_t)(**p - '0');
    return *p > from;
}

/* Text that is no position has neither a record nor a run. */
static struct tail_position tail_read_position(const char *after) {
    struct tail_position p = {0};
    const char *at = after;
    if (strchr(after, ':'))
        return tail_read_earlier_form(ch_sv_str(after));
    p.known = tail_read_number(&at, &p.record);
    if (p.known && *at == '.') {
        at++;
        p.known = tail_read_number(&at, &p.nth);
        if (p.nth == 0 && p.record > 0) /* before the first event of the record */
            p.record--;
    }
    p.known &= *at == 0;
    return p;
}

static void tail_drop_events(struct ch_record_batch *b, uint64_t seq) {
    while (b->first < b->n && b->events[b->first].seq <= seq)
        b->first++;
}

/* The first batch after a position. */
static const struct ch_record_batch *tail_after_position(const struct ch_list *list,
                                                         const struct tail_position *p) {
    struct ch_record_batch *b = NULL;
    while ((b = tail_next_batch(list, b)) && b->record <= p->record) {
        if (b->record < p->record || p->nth == 0 || p->nth >= b->n)
            continue;
        b->first = p->nth;
        return b;
    }
    return b;
}

static bool tail_is_of(const struct ch_record_batch *b, struct ch_sv run) {
    return b && b->n && ch_sv_is(run, b->events[0].run);
}

/* The first batch after run:seq@record. */
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
    if (t->start == CH_TAIL_AFTER && !t->from.run.p) {
        if (!g->gap)
            tail_drop_before(&g->batches, tail_after_position(&g->batches, &t->from));
        return 0;
    }
    if (t->start == CH_TAIL_AFTER) {
        g->gap = true;
        first = t->from.known ? tail_after_record(&g->batches, &t->from, &g->gap)
                              : tail_after_event(&g->batches, &t->from, &g->gap);
        if (g->gap)
            return 0;
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
    for (size_t i = b->first; i < b->n && (w = tail_watcher(t)); i++) {
        w->record = b->record;
        w->nth = b->n > 1 ? (unsigned)i + 1 : 0;
        if (b->events[i].type == CHELA_EV_TURN_START)
            t->replying = false;
        w->event(w, &b->events[i]);
    }
}

static bool tail_is_of_reply(enum chela_event_type type) {
    return type == CHELA_EV_TEXT_DELTA || type == CHELA_EV_REASONING_DELTA ||
           type == CHELA_EV_TOOL_CALL_DELTA || type == CHELA_EV_SERVER_TOOL ||
           type == CHELA_EV_MEDIA;
}

/* A reply that no model was asked for, such as the words of a person who took over, has no pieces
 * before its record, and none are passed on after the record. */
static void tail_tell_piece(struct ch_tail *t, enum chela_event_type type, uint64_t after,
                            struct ch_sv json) {
    struct ch_lane_watcher *w = tail_watcher(t);
    char cursor[24];
    if (type == CHELA_EV_MODEL_REQUEST)
        t->replying = true;
    if (!w || (tail_is_of_reply(type) && !t->replying))
        return;
    snprintf(cursor, sizeof(cursor), "%llu", (unsigned long long)after);
    w->piece(w, cursor, json);
}

/* Passes on the pieces that follow records up to `upto`. */
static void tail_tell_pieces(struct ch_tail *t, uint64_t upto) {
    struct tail_piece *p;
    while ((p = CH_LIST_FIRST(&t->pieces, struct tail_piece, link)) && p->after <= upto) {
        tail_tell_piece(t, p->type, p->after, ch_sv(p->json, p->n));
        tail_drop_piece(t, p);
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
        tail_tell_pieces(t, b->record - 1);
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
    w->nth = 0;
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

/* Where the session is open here, its commits say when to read. A run in progress elsewhere is
 * looked at often. */
static void tail_wait(struct ch_tail *t, bool news) {
    if (t->again) {
        tail_start_reading(t, !t->is_open);
        return;
    }
    if (t->lane && t->is_open && !t->awaited)
        return;
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
    if (g->rc == CHELA_ENOENT && t->lane) /* being created: the first commit is read */
        return;
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
    bool news = !ch_list_empty(&g->batches), deleted = g->rc == CHELA_ENOENT && !early &&
                                                       t->is_open;
    if (early)
        tail_hold(t, g);
    else if (tail_watcher(t) && g->first)
        tail_on_first_read(t, g);
    else if (tail_watcher(t))
        tail_on_later_read(t, g);
    if (!early && t->is_open && !g->abandoned && tail_watcher(t))
        tail_tell_pieces(t, t->next - 1);
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
    t->again = false;
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

/* --- a session that is open here */

static void tail_read_soon(struct ch_tail *t) {
    if (t->reading)
        t->again = true;
    else
        ch_timer_start(t->gw->rt->loop, &t->timer, 0, tail_on_timer);
}

static void tail_on_committed(struct ch_lane_watcher *live) {
    tail_read_soon(CH_CONTAINER(live, struct ch_tail, live));
}

/* The lane was closed: the session was deleted, or another process has it. */
static void tail_on_lane_closed(struct ch_lane_watcher *live) {
    struct ch_tail *t = CH_CONTAINER(live, struct ch_tail, live);
    t->lane = NULL;
    tail_read_soon(t);
}

/* Keeps a piece until its record was passed on. A piece that finds no room is left out: the
 * record of the reply replaces it. */
static void tail_hold_piece(struct ch_tail *t, enum chela_event_type type, uint64_t after,
                            struct ch_sv json) {
    if (t->pieces_bytes + json.n > CH_LIMIT_HELD_PIECES)
        return;
    struct tail_piece *p = ch_alloc(sizeof(*p) + json.n);
    p->after = after;
    p->type = type;
    p->n = json.n;
    memcpy(p->json, json.p, json.n);
    t->pieces_bytes += json.n;
    ch_list_add(&t->pieces, &p->link);
}

/* The JSON of a piece. A reader that came during the reply gets what was said so far. */
static struct ch_sv tail_write_piece(struct ch_tail *t, const struct chela_event *ev,
                                     uint64_t after, struct ch_buf *whole) {
    bool grows = ev->type == CHELA_EV_TEXT_DELTA || ev->type == CHELA_EV_REASONING_DELTA;
    if (ev->type == CHELA_EV_MODEL_REQUEST)
        t->late = false;
    if (!grows || !t->late)
        return ch_lane_event_json(t->lane, ev);
    struct chela_event all = *ev;
    char cursor[24];
    snprintf(cursor, sizeof(cursor), "%llu", (unsigned long long)after);
    all.delta.text = ev->delta.so_far;
    t->late = false;
    ch_event_write(&all, &(struct ch_event_place){cursor, true}, whole);
    return ch_buf_sv(whole);
}

static void tail_on_live(struct ch_lane_watcher *live, const struct chela_event *ev) {
    struct ch_tail *t = CH_CONTAINER(live, struct ch_tail, live);
    struct ch_lane_watcher *w = tail_watcher(t);
    if (!w || !w->piece || (ch_record_events_make(ev->type) && !ch_lane_is_unrecorded(t->lane)))
        return;
    uint64_t after = ch_lane_position(t->lane);
    CH_BUF_AUTO whole = {0};
    struct ch_sv json = tail_write_piece(t, ev, after, &whole);
    if (t->is_open && ch_list_empty(&t->pieces) && !t->reading && after < t->next)
        tail_tell_piece(t, ev->type, after, json);
    else
        tail_hold_piece(t, ev->type, after, json);
}

static void tail_join(struct ch_tail *t, struct ch_lane *l) {
    t->lane = l;
    t->late = t->replying = l->running;
    ch_lane_watch(l, &t->live);
}

void ch_tails_join(struct ch_lane *l) {
    for (CH_LIST_EACH(k, &l->gw->tails)) {
        struct ch_tail *t = CH_CONTAINER(k, struct ch_tail, link);
        if (!t->lane && strcmp(t->key, l->session->key) == 0)
            tail_join(t, l);
    }
}

/* --- life */

void ch_tail_open(chela_gateway *gw, const char *key, enum ch_tail_start start, struct ch_sv after,
                  struct ch_lane_watcher *w, ch_tail_opened_fn *opened, void *user) {
    struct ch_tail *t = ch_alloc(sizeof(*t));
    t->gw = gw;
    t->key = ch_strdup(key);
    t->start = start;
    t->after = after.p ? ch_strndup(after.p, after.n) : ch_strdup("");
    t->from = tail_read_position(t->after);
    t->live = (struct ch_lane_watcher){.event = tail_on_live,
                                       .committed = tail_on_committed,
                                       .deleted = tail_on_lane_closed};
    t->opened = opened;
    t->user = user;
    t->wait_ms = CH_DEFAULT_TAIL_MS;
    ch_list_init(&t->watchers);
    ch_list_init(&t->held);
    ch_list_init(&t->pieces);
    ch_list_add(&gw->tails, &t->link);
    ch_list_add(&t->watchers, &w->link);
    w->tail = t;
    struct ch_lane *l = ch_lane_find(gw, ch_sv_str(key));
    if (l)
        tail_join(t, l);
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

void ch_tail_write_event(const struct ch_lane_watcher *w, const struct chela_event *ev,
                         int (*fn)(void *user, const char *cursor, struct ch_sv json),
                         void *user) {
    CH_BUF_AUTO json = {0};
    char cursor[40];
    int n = snprintf(cursor, sizeof(cursor), "%llu", (unsigned long long)w->record);
    if (w->nth)
        snprintf(cursor + n, sizeof(cursor) - (size_t)n, ".%u", w->nth);
    ch_event_write(ev, &(struct ch_event_place){.cursor = cursor}, &json);
    fn(user, cursor, ch_buf_sv(&json));
}

/* schedules.c -- see schedules.h. */
#include "gateway/schedule/schedules.h"

#include "agent/journal/journal.h"
#include "agent/journal/schedule.h"
#include "agent/journal/timer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "chela/mailbox.h"
#include "gateway/lane/delivery.h"
#include "gateway/request/gateway_state.h"
#include "io/worker.h"
#include "prompt/directive.h"

#define WAKE_LIMIT (64 * CH_KB)
#define FIRING_MS 50 /* until a scan that waits for firings is tried again */

typedef void once_fn(int rc, const struct chela_error *err, size_t n, void *user);

struct ch_schedules {
    chela_gateway *gw;
    struct ch_schedule **configured; /* owned: schedules of the configuration */
    size_t n;
    struct ch_timer timer;
    int64_t timer_at;           /* wall clock: when the timer fires */
    int64_t asked_at;           /* a run pauses until then; CH_WHEN_NEVER: none since a scan */
    struct schedule_scan *scan; /* in progress; else NULL */
    struct ch_list firings;     /* occurrences that are entering the inbox */
    /* arguments and result of ch_schedules_once */
    char *name; /* owned; NULL: all that are due */
    once_fn *fn;
    void *user;
    size_t accepted;
    int rc;
    struct chela_error err;
    bool once;
};

/* --- reading the store, on a worker thread */

struct schedule_note {
    struct ch_link link;
    char *id, *key, *data; /* owned */
};

struct schedule_scan {
    struct ch_work work;
    struct ch_schedules *owner; /* NULL: freed during the scan */
    chela_store *store;
    struct ch_list notes;   /* struct schedule_note */
    struct ch_list waiting; /* struct schedule_note: occurrences in the inbox */
    int rc;
    struct chela_error err;
};

static void schedules_add_note(struct ch_list *list, const struct chela_store_item *i) {
    struct schedule_note *n = ch_alloc(sizeof(*n));
    n->id = ch_strdup(i->id);
    n->key = ch_strdup(i->key);
    n->data = ch_strndup(i->data, i->n);
    ch_list_add(list, &n->link);
}

static bool schedules_has_prefix(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static int schedules_on_note(const struct chela_store_item *i, void *user) {
    struct schedule_scan *k = user;
    if (schedules_has_prefix(i->id, CH_SCHEDULE_NOTE) ||
        schedules_has_prefix(i->id, CH_SCHEDULE_STATE) ||
        schedules_has_prefix(i->id, CH_TIMER_NOTE))
        schedules_add_note(&k->notes, i);
    return 0;
}

static int schedules_on_event(const struct chela_store_item *i, void *user) {
    struct schedule_scan *k = user;
    if (schedules_has_prefix(i->id, CH_SCHEDULE_NOTE))
        schedules_add_note(&k->waiting, i);
    return 0;
}

static void schedules_read_store(struct ch_work *w) {
    struct schedule_scan *k = CH_CONTAINER(w, struct schedule_scan, work);
    k->rc = chela_store_items(k->store, CHELA_STORE_NOTES, schedules_on_note, k, &k->err);
    if (k->rc == 0)
        k->rc = chela_store_items(k->store, CHELA_STORE_INBOX, schedules_on_event, k, &k->err);
}

static void free_notes(struct ch_list *list) {
    for (struct schedule_note *n; (n = CH_LIST_FIRST(list, struct schedule_note, link));) {
        ch_list_del(&n->link);
        ch_free(n->id);
        ch_free(n->key);
        ch_free(n->data);
        ch_free(n);
    }
}

static void schedules_free_scan(struct ch_work *w) {
    struct schedule_scan *k = CH_CONTAINER(w, struct schedule_scan, work);
    if (k->owner)
        k->owner->scan = NULL;
    free_notes(&k->notes);
    free_notes(&k->waiting);
    ch_free(k);
}

static const struct schedule_note *find_note(const struct ch_list *list, const char *prefix,
                                             const char *name) {
    for (CH_LIST_EACH(k, list)) {
        const struct schedule_note *n = CH_CONTAINER(k, struct schedule_note, link);
        if (schedules_has_prefix(n->id, prefix) && strcmp(n->id + strlen(prefix), name) == 0)
            return n;
    }
    return NULL;
}

static bool has_waiting_occurrence(const struct schedule_scan *k, const char *name) {
    size_t n = strlen(name);
    for (CH_LIST_EACH(i, &k->waiting)) {
        const char *at = CH_CONTAINER(i, struct schedule_note, link)->id + strlen(CH_SCHEDULE_NOTE);
        if (strncmp(at, name, n) == 0 && at[n] == '/')
            return true;
    }
    return false;
}

/* --- an occurrence that enters the inbox */

struct schedule_firing {
    struct ch_link link;
    struct ch_work work;
    struct ch_schedules *owner;   /* NULL: freed meanwhile */
    struct ch_delivery *delivery; /* being stored; NULL: not yet */
    /* of a wake: its file is read on a worker thread */
    char *path, *id, *key, *agent, *head; /* owned */
    char *state_id;      /* owned: the note with the state of the schedule; NULL: by hand */
    struct ch_buf state; /* to be stored after the event; empty: nothing */
    struct ch_bounds bounds;
    struct ch_buf text;
    bool wake;
    bool timer; /* for the timer of a paused run, whose note has the same id */
};

static void report_once(struct ch_schedules *s) {
    once_fn *fn = s->fn;
    if (!fn || s->scan || !ch_list_empty(&s->firings))
        return;
    s->fn = NULL;
    fn(s->rc, &s->err, s->accepted, s->user);
}

static void free_firing(struct schedule_firing *f) {
    ch_list_del(&f->link);
    ch_free(f->path);
    ch_free(f->id);
    ch_free(f->key);
    ch_free(f->agent);
    ch_free(f->head);
    ch_free(f->state_id);
    ch_buf_release(&f->state);
    ch_buf_release(&f->text);
    ch_free(f);
}

static void forget_timer(chela_gateway *gw, const char *id) {
    struct chela_store_change c = {.kind = CHELA_STORE_FORGET, .id = id};

    gw->rt->journal->ops->change(gw->rt->journal, &c, CH_SYNC_LATER, NULL, NULL);
}

static void store_state(chela_gateway *gw, const char *id, struct ch_sv state,
                        chela_accepted_fn *done, void *user) {
    struct ch_journal *j = gw->rt->journal;
    struct chela_store_change c = {
        .kind = CHELA_STORE_NOTE, .id = id, .key = "", .data = state.p, .n = state.n};
    j->ops->change(j, &c, CH_SYNC_COMMIT, done, user);
}

/* After a failure the next scan finds the occurrence again, and the inbox recognises it. */
static void firing_on_state(int rc, const struct chela_error *err, void *user) {
    struct schedule_firing *f = user;
    struct ch_schedules *s = f->owner;
    (void)rc;
    (void)err;
    free_firing(f);
    if (s)
        report_once(s);
}

/* Ends a firing; stores the state first, if there is one. */
static void firing_end(struct schedule_firing *f) {
    f->delivery = NULL;
    if (f->state.n)
        store_state(f->owner->gw, f->state_id, ch_buf_sv(&f->state), firing_on_state, f);
    else
        firing_on_state(0, NULL, f);
}

/* The state would pass over an occurrence that was not stored. */
static void firing_failed(const struct schedule_firing *f, const struct chela_error *err) {
    ch_log(CH_LOG_ERROR, "schedule", "%s cannot be stored: %s", f->id, err->message);
    for (CH_LIST_EACH(k, &f->owner->firings)) {
        struct schedule_firing *other = CH_CONTAINER(k, struct schedule_firing, link);
        if (f->state_id && other->state_id && strcmp(other->state_id, f->state_id) == 0)
            ch_buf_clear(&other->state);
    }
}

static void firing_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                        const struct chela_error *err, void *user) {
    struct schedule_firing *f = user;
    (void)l;
    ch_delivery_leave(d);
    f->owner->accepted += stage == CH_DELIVERY_ACCEPTED;
    if (stage == CH_DELIVERY_FAILED) /* DUPLICATE: another gateway has it */
        firing_failed(f, err);
    else if (f->timer) /* the inbox has, or had, the event */
        forget_timer(f->owner->gw, f->id);
    firing_end(f);
}

static void firing_write(const struct schedule_firing *f, struct ch_buf *out) {
    const struct ch_bounds *b = &f->bounds;
    struct ch_jw w = ch_jw(out);
    ch_jw_kcstr(&w, "text", ch_buf_str(&f->text));
    ch_jw_kbool(&w, "timer", true);
    if (f->wake)
        ch_jw_kbool(&w, "wake", true);
    if (b->cost_usd > 0)
        ch_jw_kdouble(&w, "cost_usd", b->cost_usd);
    if (b->turns)
        ch_jw_kint(&w, "turns", b->turns);
    if (b->timeout_ms)
        ch_jw_kint(&w, "timeout_ms", b->timeout_ms);
}

/* Stores the event, and then the state of its schedule. */
static void firing_accept(struct schedule_firing *f) {
    chela_gateway *gw = f->owner->gw;
    CH_BUF_AUTO data = {0};
    firing_write(f, &data);
    ch_log(CH_LOG_INFO, "schedule", "%s is due", f->id);
    f->delivery = ch_delivery_new(gw, NULL, f->id, f->key, f->agent, ch_buf_sv(&data));
    ch_delivery_accept(f->delivery, firing_told, f);
}

/* --- wakes: a run begins only if the wake file asks for something */

static void wake_file_run(struct ch_work *w) {
    struct schedule_firing *f = CH_CONTAINER(w, struct schedule_firing, work);
    struct chela_error err = {0};
    ch_file_load(f->path, WAKE_LIMIT, &f->text, &err); /* a missing file counts as empty */
}

/* A file of blank lines and headings asks for nothing. */
static bool is_blank_wake(struct ch_sv text) {
    while (text.p) {
        struct ch_sv line = ch_sv_trim(ch_sv_split(&text, '\n'));
        if (line.n && line.p[0] != '#')
            return false;
    }
    return true;
}

static void wake_file_done(struct ch_work *w) {
    struct schedule_firing *f = CH_CONTAINER(w, struct schedule_firing, work);
    if (!f->owner) {
        free_firing(f);
        return;
    }
    if (!is_blank_wake(ch_buf_sv(&f->text))) {
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&text, "%s\n\n%s", f->head, ch_buf_str(&f->text));
        ch_buf_release(&f->text);
        f->text = (struct ch_buf){0};
        ch_buf_add(&f->text, text.p, text.n);
        firing_accept(f);
        return;
    }
    firing_end(f);
}

static void wake_file_dropped(struct ch_work *w) {
    free_firing(CH_CONTAINER(w, struct schedule_firing, work));
}

static void wake_file_read(struct schedule_firing *f, const struct ch_schedule *s,
                           const chela_agent *agent) {
    CH_BUF_AUTO path = {0}, head = {0};
    ch_buf_addf(&path, "%s/%s", agent->workspace ? agent->workspace : ".", s->is.wake_file);
    ch_buf_addf(&head,
                "You wake up by yourself, at %s. This is what %s says. Do what it asks for now; if "
                "nothing needs attention, answer with %s and nothing else.",
                f->head, s->is.wake_file, CH_WAKE_OK);
    ch_free(f->head);
    f->head = ch_buf_take(&head);
    f->path = ch_buf_take(&path);
    f->work = (struct ch_work){
        .run = wake_file_run, .done = wake_file_done, .dropped = wake_file_dropped};
    ch_work_submit(f->owner->gw->rt->workers, &f->work);
}

/* --- firing */

/* id NULL: derived from the due time. with_state: also stores the state of the schedule. */
static void schedules_fire(struct ch_schedules *all, struct ch_schedule *s, int64_t due,
                           const char *id, bool with_state) {
    chela_agent *agent = ch_gateway_agent(all->gw, ch_sv_str(s->is.agent ? s->is.agent : ""));
    CH_BUF_AUTO event = {0}, key = {0}, stamp = {0}, state_id = {0};
    struct schedule_firing *f = ch_alloc(sizeof(*f));
    f->owner = all;
    ch_list_add(&all->firings, &f->link);
    if (id)
        ch_buf_add_str(&event, id);
    else
        ch_schedule_event_id(s, due, &event);
    ch_schedule_session(s, due, &key);
    ch_schedule_stamp(s, due, &stamp);
    f->id = ch_buf_take(&event);
    f->key = ch_buf_take(&key);
    f->agent = ch_strdup(s->is.agent ? s->is.agent : "");
    f->bounds = (struct ch_bounds){s->is.cost_budget_usd, s->is.max_turns, s->is.timeout_ms};
    if (!id) {
        ch_buf_addf(&state_id, CH_SCHEDULE_STATE "%s", s->is.name);
        f->state_id = ch_buf_take(&state_id);
    }
    if (with_state)
        ch_schedule_state_write(&s->state, &f->state);
    if (s->is.wake_file && agent) {
        f->wake = true;
        f->head = ch_buf_take(&stamp);
        wake_file_read(f, s, agent);
        return;
    }
    ch_buf_addf(&f->text, "%s, due %s: %s", s->is.name, ch_buf_str(&stamp),
                s->is.prompt ? s->is.prompt : "");
    firing_accept(f);
}

/* Resumes a paused run that is due. Returns the time when the run of the note is due; a run
 * that was already due is not due again. */
static int64_t schedules_fire_timer(struct ch_schedules *all, const struct schedule_note *n,
                                    int64_t now) {
    CH_ARENA_AUTO arena = {0};
    const char *agent;
    int64_t due = ch_timer_read(ch_sv_str(n->data), &arena, &agent);
    if (due == INT64_MAX) {
        ch_log(CH_LOG_WARN, "schedule", "%s makes no sense", n->id);
        forget_timer(all->gw, n->id);
        return CH_WHEN_NEVER;
    }
    if (due > now)
        return due;
    struct schedule_firing *f = ch_alloc(sizeof(*f));
    f->owner = all;
    f->id = ch_strdup(n->id);
    f->timer = true;
    ch_list_add(&all->firings, &f->link);
    f->delivery = ch_delivery_new(all->gw, CH_DELIVERY_TIMER, n->id, n->key, agent, CH_SV(""));
    ch_delivery_accept(f->delivery, firing_told, f);
    return CH_WHEN_NEVER;
}

static void log_left_out(const struct ch_schedule *s, const struct ch_schedule_due *due) {
    if (due->set_back)
        ch_log(CH_LOG_WARN, "schedule", "%s: the clock was set back; the schedule starts over",
               s->is.name);
    if (due->skipped)
        ch_log(CH_LOG_INFO, "schedule", "%s: missed: %zu", s->is.name, due->skipped);
    if (due->over)
        ch_log(CH_LOG_WARN, "schedule", "%s: left out: %zu; the limit is %lld runs a day",
               s->is.name, due->over, (long long)s->is.max_runs_per_day);
}

/* Fires the due occurrences of a schedule. Returns when it is due next. */
static int64_t schedules_fire_due(struct ch_schedules *all, const struct schedule_scan *k,
                                  struct ch_schedule *s, int64_t now) {
    const struct schedule_note *n = find_note(&k->notes, CH_SCHEDULE_STATE, s->is.name);
    struct ch_schedule_due due;
    struct ch_schedule_state before;
    s->state = (struct ch_schedule_state){0};
    if (n)
        ch_schedule_state_read(ch_sv_str(n->data), &s->state);
    before = s->state;
    ch_schedule_due(s, now, &due);
    log_left_out(s, &due);
    if (due.n && has_waiting_occurrence(k, s->is.name)) {
        ch_log(CH_LOG_WARN, "schedule", "%s is skipped: an earlier occurrence still waits",
               s->is.name);
        s->state.runs = before.day == s->state.day ? before.runs : 0;
        due.n = 0;
    }
    for (size_t i = 0; i < due.n; i++)
        schedules_fire(all, s, due.times[i], NULL, i + 1 == due.n);
    if (due.n == 0 && memcmp(&before, &s->state, sizeof(before)) != 0) {
        CH_BUF_AUTO id = {0}, state = {0};
        ch_buf_addf(&id, CH_SCHEDULE_STATE "%s", s->is.name);
        ch_schedule_state_write(&s->state, &state);
        store_state(all->gw, ch_buf_str(&id), ch_buf_sv(&state), NULL, NULL);
    }
    return ch_schedule_next(s, CH_MAX(now, s->state.last));
}

static void schedules_fire_by_hand(struct ch_schedules *all, const struct schedule_scan *k,
                                   struct ch_schedule *s, int64_t now) {
    CH_BUF_AUTO id = {0};
    ch_schedule_event_id(s, now, &id);
    ch_buf_addf(&id, "/by-hand-%lld", (long long)now);
    if (has_waiting_occurrence(k, s->is.name))
        all->rc = ch_fail(&all->err, CHELA_EBUSY,
                          "an earlier occurrence of schedule '%s' still waits", s->is.name);
    else
        schedules_fire(all, s, now, ch_buf_str(&id), false);
}

static bool schedules_is_configured(const struct ch_schedules *s, const char *name) {
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->configured[i]->is.name, name) == 0)
            return true;
    return false;
}

/* Lowers *next to the time when the schedule is due next. */
static void schedules_check(struct ch_schedules *all, const struct schedule_scan *k,
                            struct ch_schedule *s, int64_t now, int64_t *next, bool *found) {
    if (!all->name) {
        int64_t at = schedules_fire_due(all, k, s, now);
        *next = CH_MIN(*next, at);
    } else if (strcmp(all->name, s->is.name) == 0) {
        *found = true;
        schedules_fire_by_hand(all, k, s, now);
    }
}

/* Returns when a schedule is due next. */
static int64_t schedules_check_all(struct ch_schedules *all, const struct schedule_scan *k,
                                   int64_t now) {
    int64_t next = CH_WHEN_NEVER;
    bool found = false;
    for (size_t i = 0; i < all->n; i++)
        schedules_check(all, k, all->configured[i], now, &next, &found);
    for (CH_LIST_EACH(i, &k->notes)) {
        const struct schedule_note *n = CH_CONTAINER(i, struct schedule_note, link);
        CH_AUTO(ch_schedule) s = NULL;
        struct chela_error err = {0};
        if (schedules_has_prefix(n->id, CH_TIMER_NOTE) && !all->name && !all->once) {
            int64_t at = schedules_fire_timer(all, n, now);
            next = CH_MIN(next, at);
        }
        if (!schedules_has_prefix(n->id, CH_SCHEDULE_NOTE))
            continue;
        if (ch_schedule_read(ch_sv_str(n->data), n->key, &s, &err) < 0)
            ch_log(CH_LOG_WARN, "schedule", "%s makes no sense: %s", n->id, err.message);
        else if (!schedules_is_configured(all, s->is.name))
            schedules_check(all, k, s, now, &next, &found);
    }
    if (all->name && !found)
        all->rc = ch_fail(&all->err, CHELA_ENOENT, "no schedule '%s'", all->name);
    return next;
}

/* --- scanning */

static void schedules_on_timer(struct ch_timer *t);

/* The next scan begins at `next`, or earlier. */
static void schedules_arm(struct ch_schedules *s, int64_t next) {
    struct ch_loop *loop = s->gw->rt->loop;
    int64_t now = ch_now_ms(ch_loop_clock(loop));
    int64_t ms = CH_MAX(CH_MIN(next - now, CH_LIMIT_SCHEDULE_SLEEP_MS), 1);
    s->timer_at = now + ms;
    ch_timer_start(loop, &s->timer, ms, schedules_on_timer);
}

/* A run of this gateway pauses until `due`. */
static void schedules_on_pause(int64_t due, void *user) {
    struct ch_schedules *s = user;
    s->asked_at = CH_MIN(s->asked_at, due);
    if (!s->scan && s->asked_at < s->timer_at)
        schedules_arm(s, s->asked_at);
}

static void schedules_on_scanned(struct ch_work *w) {
    struct schedule_scan *k = CH_CONTAINER(w, struct schedule_scan, work);
    struct ch_schedules *s = k->owner;
    if (!s) {
        schedules_free_scan(w);
        return;
    }
    int64_t now = ch_now_ms(ch_loop_clock(s->gw->rt->loop)), next = CH_WHEN_NEVER;
    if (k->rc == 0 && !s->gw->draining)
        next = schedules_check_all(s, k, now);
    else if (k->rc < 0)
        ch_log(CH_LOG_WARN, "schedule", "schedules cannot be read: %s", k->err.message);
    if (k->rc < 0) {
        s->rc = k->rc;
        s->err = k->err;
    }
    if (s->name && !s->once) { /* this scan read only one schedule: scan all */
        ch_free(CH_TAKE(s->name));
        next = now;
    }
    if (!s->once)
        schedules_arm(s, CH_MIN(next, s->asked_at));
    schedules_free_scan(w);
    report_once(s);
}

static void schedules_scan(struct ch_schedules *s) {
    if (s->scan || !s->gw->store)
        return;
    s->asked_at = CH_WHEN_NEVER;
    struct schedule_scan *k = ch_alloc(sizeof(*k));
    k->work = (struct ch_work){
        .run = schedules_read_store, .done = schedules_on_scanned, .dropped = schedules_free_scan};
    k->owner = s;
    k->store = s->gw->store;
    ch_list_init(&k->notes);
    ch_list_init(&k->waiting);
    s->scan = k;
    ch_work_submit(s->gw->rt->workers, &k->work);
}

/* A scan must not read the state of a schedule before it is stored. */
static void schedules_on_timer(struct ch_timer *t) {
    struct ch_schedules *s = CH_CONTAINER(t, struct ch_schedules, timer);
    if (ch_list_empty(&s->firings))
        schedules_scan(s);
    else
        ch_timer_start(s->gw->rt->loop, t, FIRING_MS, schedules_on_timer);
}

void ch_schedules_start(struct ch_schedules *s) {
    if (s->gw->store && s->gw->rt->journal) {
        s->gw->rt->timers.set = schedules_on_pause;
        s->gw->rt->timers.user = s;
    }
    schedules_scan(s);
}

void ch_schedules_once(struct ch_schedules *s, const char *name, once_fn *fn, void *user) {
    s->once = true;
    s->name = name ? ch_strdup(name) : NULL;
    s->fn = fn;
    s->user = user;
    schedules_scan(s);
}

bool ch_schedules_run_now(struct ch_schedules *s, const char *name, once_fn *fn, void *user) {
    if (s->fn || s->once)
        return false;
    ch_free(s->name);
    s->name = ch_strdup(name);
    s->fn = fn;
    s->user = user;
    s->rc = 0;
    s->err = (struct chela_error){0};
    s->accepted = 0;
    schedules_scan(s);
    return true;
}

void ch_schedules_forget(struct ch_schedules *s, const void *user) {
    if (s->fn && s->user == user)
        s->fn = NULL;
}

void ch_schedules_write(const struct ch_schedules *s, struct ch_buf *out) {
    for (size_t i = 0; i < s->n; i++) {
        ch_schedule_write(s->configured[i], out);
        ch_buf_addc(out, '\n');
    }
}

/* --- life */

static int schedules_add_configured(struct ch_schedules *s, const struct chela_schedule *given,
                                    struct chela_error *err) {
    struct chela_error why = {0};
    int rc = ch_schedule_new(given, NULL, &s->configured[s->n], &why);
    if (rc < 0)
        return ch_fail(err, CHELA_ECONFIG, "schedule %s: %s", given->name ? given->name : "?",
                       why.message);
    const char *agent = s->configured[s->n++]->is.agent;
    if (agent && !ch_gateway_agent(s->gw, ch_sv_str(agent)))
        return ch_fail(err, CHELA_ECONFIG, "schedule %s: there is no agent '%s'", given->name,
                       agent);
    return 0;
}

int ch_schedules_new(chela_gateway *gw, const struct chela_gateway_opts *o,
                     struct ch_schedules **out, struct chela_error *err) {
    size_t n = 0;
    while (o->schedules && o->schedules[n])
        n++;
    if (n && (!gw->store || !gw->rt->journal))
        return ch_fail(err, CHELA_ECONFIG, "schedules need a store");
    struct ch_schedules *s = ch_alloc(sizeof(*s));
    s->gw = gw;
    s->configured = ch_alloc((n + 1) * sizeof(struct ch_schedule *));
    ch_list_init(&s->firings);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = schedules_add_configured(s, o->schedules[i], err);
    if (rc < 0)
        ch_schedules_free(s);
    else
        *out = s;
    return rc;
}

void ch_schedules_free(struct ch_schedules *s) {
    if (!s)
        return;
    ch_timer_stop(s->gw->rt->loop, &s->timer);
    if (s->gw->rt->timers.user == s)
        s->gw->rt->timers.set = NULL;
    if (s->scan)
        s->scan->owner = NULL;
    if (s->fn && !s->once) {
        struct chela_error over = {0};
        ch_fail(&over, CHELA_EBUSY, "the schedules are being reloaded: try again");
        CH_TAKE(s->fn)(CHELA_EBUSY, &over, 0, s->user);
    }
    for (struct schedule_firing *f;
         (f = CH_LIST_FIRST(&s->firings, struct schedule_firing, link));) {
        ch_list_del(&f->link);
        f->owner = NULL;
        if (!f->delivery)
            continue; /* its callback frees it */
        ch_delivery_leave(f->delivery);
        free_firing(f);
    }
    for (size_t i = 0; i < s->n; i++)
        ch_schedule_free(s->configured[i]);
    ch_free(s->configured);
    ch_free(s->name);
    ch_free(s);
}

/* schedules.c -- see schedules.h. */
#include "gateway/schedule/schedules.h"

#include "agent/journal/journal.h"
#include "agent/journal/schedule.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/lane/delivery.h"
#include "io/worker.h"

#define WAKE_LIMIT (64 * CH_KB)

typedef void once_fn(int rc, const struct chela_error *err, size_t n, void *user);

struct ch_schedules {
    chela_gateway *gw;
    struct ch_schedule **own; /* owned: those of the configuration */
    size_t n;
    struct ch_timer timer;
    struct look *look;     /* under way; NULL */
    struct ch_list firings; /* on their way into the inbox */
    /* of ch_schedules_once */
    char *name; /* owned; NULL: what is due */
    once_fn *fn;
    void *user;
    size_t accepted;
    int rc;
    struct chela_error err;
    bool once;
};

/* --- what the store has, read on a worker thread */

struct note {
    struct ch_link link;
    char *id, *key, *data; /* owned */
};

struct look {
    struct ch_work work;
    struct ch_schedules *of; /* NULL: it was freed meanwhile */
    chela_store *store;
    struct ch_list notes; /* struct note */
    struct ch_list waiting; /* the same: occurrences in the inbox */
    int rc;
    struct chela_error err;
};

static void add_note(struct ch_list *list, const struct chela_store_item *i) {
    struct note *n = ch_alloc(sizeof(*n));
    n->id = ch_strdup(i->id);
    n->key = ch_strdup(i->key);
    n->data = ch_strndup(i->data, i->n);
    ch_list_add(list, &n->link);
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static int on_note(const struct chela_store_item *i, void *user) {
    struct look *k = user;
    if (begins(i->id, CH_SCHEDULE_NOTE) || begins(i->id, CH_SCHEDULE_STATE))
        add_note(&k->notes, i);
    return 0;
}

static int on_event(const struct chela_store_item *i, void *user) {
    struct look *k = user;
    if (begins(i->id, CH_SCHEDULE_NOTE))
        add_note(&k->waiting, i);
    return 0;
}

static void read_store(struct ch_work *w) {
    struct look *k = CH_CONTAINER(w, struct look, work);
    k->rc = chela_store_items(k->store, CHELA_STORE_NOTES, on_note, k, &k->err);
    if (k->rc == 0)
        k->rc = chela_store_items(k->store, CHELA_STORE_INBOX, on_event, k, &k->err);
}

static void free_notes(struct ch_list *list) {
    for (struct note *n; (n = CH_LIST_FIRST(list, struct note, link));) {
        ch_list_del(&n->link);
        ch_free(n->id);
        ch_free(n->key);
        ch_free(n->data);
        ch_free(n);
    }
}

static void free_look(struct ch_work *w) {
    struct look *k = CH_CONTAINER(w, struct look, work);
    if (k->of)
        k->of->look = NULL;
    free_notes(&k->notes);
    free_notes(&k->waiting);
    ch_free(k);
}

static const struct note *find_note(const struct ch_list *list, const char *prefix,
                                    const char *name) {
    for (CH_LIST_EACH(k, list)) {
        const struct note *n = CH_CONTAINER(k, struct note, link);
        if (begins(n->id, prefix) && strcmp(n->id + strlen(prefix), name) == 0)
            return n;
    }
    return NULL;
}

static bool still_waits(const struct look *k, const char *name) {
    size_t n = strlen(name);
    for (CH_LIST_EACH(i, &k->waiting)) {
        const char *at = CH_CONTAINER(i, struct note, link)->id + strlen(CH_SCHEDULE_NOTE);
        if (strncmp(at, name, n) == 0 && at[n] == '/')
            return true;
    }
    return false;
}

/* --- an occurrence on its way into the inbox */

struct firing {
    struct ch_link link;
    struct ch_work work;
    struct ch_schedules *of;    /* NULL: they were freed, nothing follows */
    struct ch_delivery *delivery; /* owned; of the gateway */
    /* a wake: what its file says; read on a worker thread */
    char *path, *id, *key, *agent, *head; /* owned */
    char *state_id;             /* owned: stored with it */
    struct ch_buf state;
    struct ch_bounds bounds;
    struct ch_buf text;
    bool wake;
};

static void report_once(struct ch_schedules *s) {
    once_fn *fn = s->fn;
    if (!fn || s->look || !ch_list_empty(&s->firings))
        return;
    s->fn = NULL;
    fn(s->rc, &s->err, s->accepted, s->user);
}

static void free_firing(struct firing *f) {
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

static void on_accepted(int rc, const struct chela_error *err, void *user) {
    struct firing *f = user;
    struct ch_schedules *s = f->of;
    struct ch_delivery *d = CH_TAKE(f->delivery);
    if (s && rc == 0) {
        s->accepted++;
        ch_delivery_start(d);
    } else if (s) {
        if (rc != CHELA_EEXIST) /* that is somebody else's now */
            ch_log(CH_LOG_ERROR, "schedule", "%s cannot be stored: %s", f->id,
                   err ? err->message : chela_error_text(rc));
        ch_delivery_free(d);
    }
    free_firing(f);
    if (s)
        report_once(s);
}

static void store_state(chela_gateway *gw, const char *id, struct ch_sv state) {
    struct ch_journal *j = gw->rt->journal;
    struct chela_store_change c = {
        .kind = CHELA_STORE_NOTE, .id = id, .key = "", .data = state.p, .n = state.n};
    j->ops->change(j, &c, CH_SYNC_COMMIT, NULL, NULL);
}

/* The event, and how far the schedule has come: one transaction. */
static void accept_it(struct firing *f) {
    chela_gateway *gw = f->of->gw;
    struct ch_journal *j = gw->rt->journal;
    CH_BUF_AUTO data = {0};
    struct ch_delivery_opts o = {.id = f->id, .key = f->key, .agent = f->agent,
                                 .text = ch_buf_str(&f->text), .timer = true, .wake = f->wake,
                                 .bounds = f->bounds};
    f->delivery = ch_delivery_new(gw, &o);
    ch_delivery_write(f->delivery, &data);
    struct chela_store_change c = {
        .kind = CHELA_STORE_ACCEPT, .id = f->id, .key = f->key, .data = data.p, .n = data.n};
    if (f->state_id)
        store_state(gw, f->state_id, ch_buf_sv(&f->state));
    ch_log(CH_LOG_INFO, "schedule", "%s is due", f->id);
    j->ops->change(j, &c, j->gate, on_accepted, f);
}

/* --- wakes: nothing is done while their file says nothing */

static void read_file(struct ch_work *w) {
    struct firing *f = CH_CONTAINER(w, struct firing, work);
    struct chela_error err = {0};
    ch_file_load(f->path, WAKE_LIMIT, &f->text, &err); /* one that is not there says nothing */
}

/* Blank lines and headings alone ask for nothing. */
static bool says_nothing(struct ch_sv text) {
    while (text.p) {
        struct ch_sv line = ch_sv_trim(ch_sv_split(&text, '\n'));
        if (line.n && line.p[0] != '#')
            return false;
    }
    return true;
}

static void on_read(struct ch_work *w) {
    struct firing *f = CH_CONTAINER(w, struct firing, work);
    struct ch_schedules *s = f->of;
    if (!s) {
        free_firing(f);
        return;
    }
    if (!says_nothing(ch_buf_sv(&f->text))) {
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&text, "%s\n\n%s", f->head, ch_buf_str(&f->text));
        ch_buf_release(&f->text);
        f->text = (struct ch_buf){0};
        ch_buf_add(&f->text, text.p, text.n);
        accept_it(f);
        return;
    }
    if (f->state_id)
        store_state(s->gw, f->state_id, ch_buf_sv(&f->state));
    free_firing(f);
    report_once(s);
}

static void drop_read(struct ch_work *w) {
    free_firing(CH_CONTAINER(w, struct firing, work));
}

static void read_wake(struct firing *f, const struct ch_schedule *s, const chela_agent *agent) {
    CH_BUF_AUTO path = {0}, head = {0};
    ch_buf_addf(&path, "%s/%s", agent->workspace ? agent->workspace : ".", s->is.wake_file);
    ch_buf_addf(&head,
                "You wake up by yourself, at %s. This is what %s says. Do what it asks for now; if "
                "nothing needs attention, answer with %s and nothing else.",
                f->head, s->is.wake_file, CH_WAKE_OK);
    ch_free(f->head);
    f->head = ch_buf_take(&head);
    f->path = ch_buf_take(&path);
    f->work = (struct ch_work){.run = read_file, .done = on_read, .dropped = drop_read};
    ch_work_submit(f->of->gw->rt->workers, &f->work);
}

/* --- firing */

/* state: to be stored with it; NULL: with another one. */
static void fire(struct ch_schedules *all, struct ch_schedule *s, int64_t due, const char *id,
                 bool with_state) {
    chela_agent *agent = ch_gateway_agent(all->gw, ch_sv_str(s->is.agent ? s->is.agent : ""));
    CH_BUF_AUTO event = {0}, key = {0}, stamp = {0}, state_id = {0};
    struct firing *f = ch_alloc(sizeof(*f));
    f->of = all;
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
    if (with_state) {
        ch_buf_addf(&state_id, CH_SCHEDULE_STATE "%s", s->is.name);
        f->state_id = ch_buf_take(&state_id);
        ch_schedule_state_write(&s->state, &f->state);
    }
    if (s->is.wake_file && agent) {
        f->wake = true;
        f->head = ch_buf_take(&stamp);
        read_wake(f, s, agent);
        return;
    }
    ch_buf_addf(&f->text, "%s, due %s: %s", s->is.name, ch_buf_str(&stamp),
                s->is.prompt ? s->is.prompt : "");
    accept_it(f);
}

static void tell_left_out(const struct ch_schedule *s, const struct ch_schedule_due *due) {
    if (due->set_back)
        ch_log(CH_LOG_WARN, "schedule", "%s: the clock was set back: it begins anew", s->is.name);
    if (due->skipped)
        ch_log(CH_LOG_INFO, "schedule", "%s: missed: %zu", s->is.name, due->skipped);
    if (due->over)
        ch_log(CH_LOG_WARN, "schedule", "%s: left out: %zu; it may have %lld runs a day",
               s->is.name, due->over, (long long)s->is.max_runs_per_day);
}

/* Returns when it is due next. */
static int64_t attend_to(struct ch_schedules *all, const struct look *k, struct ch_schedule *s,
                         int64_t now) {
    const struct note *n = find_note(&k->notes, CH_SCHEDULE_STATE, s->is.name);
    struct ch_schedule_due due;
    struct ch_schedule_state before;
    s->state = (struct ch_schedule_state){0};
    if (n)
        ch_schedule_state_read(ch_sv_str(n->data), &s->state);
    before = s->state;
    ch_schedule_due(s, now, &due);
    tell_left_out(s, &due);
    if (due.n && still_waits(k, s->is.name)) {
        ch_log(CH_LOG_WARN, "schedule", "%s is left out: its last run still waits", s->is.name);
        s->state.runs = before.day == s->state.day ? before.runs : 0;
        due.n = 0;
    }
    for (size_t i = 0; i < due.n; i++)
        fire(all, s, due.times[i], NULL, i + 1 == due.n);
    if (due.n == 0 && memcmp(&before, &s->state, sizeof(before)) != 0) {
        CH_BUF_AUTO id = {0}, state = {0};
        ch_buf_addf(&id, CH_SCHEDULE_STATE "%s", s->is.name);
        ch_schedule_state_write(&s->state, &state);
        store_state(all->gw, ch_buf_str(&id), ch_buf_sv(&state));
    }
    return ch_schedule_next(s, CH_MAX(now, s->state.last));
}

static void fire_by_hand(struct ch_schedules *all, const struct look *k, struct ch_schedule *s,
                         int64_t now) {
    CH_BUF_AUTO id = {0};
    ch_schedule_event_id(s, now, &id);
    ch_buf_addf(&id, "/by-hand-%lld", (long long)now);
    if (still_waits(k, s->is.name))
        all->rc = ch_fail(&all->err, CHELA_EBUSY, "a run of schedule '%s' still waits",
                          s->is.name);
    else
        fire(all, s, now, ch_buf_str(&id), false);
}

static bool is_own(const struct ch_schedules *s, const char *name) {
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->own[i]->is.name, name) == 0)
            return true;
    return false;
}

/* *next: when anything is due again. */
static void look_at(struct ch_schedules *all, const struct look *k, struct ch_schedule *s,
                    int64_t now, int64_t *next, bool *found) {
    if (!all->name) {
        int64_t at = attend_to(all, k, s, now);
        *next = CH_MIN(*next, at);
    } else if (strcmp(all->name, s->is.name) == 0) {
        *found = true;
        fire_by_hand(all, k, s, now);
    }
}

/* All of them, and when the next is due. */
static int64_t look_at_all(struct ch_schedules *all, const struct look *k, int64_t now) {
    int64_t next = CH_WHEN_NEVER;
    bool found = false;
    for (size_t i = 0; i < all->n; i++)
        look_at(all, k, all->own[i], now, &next, &found);
    for (CH_LIST_EACH(i, &k->notes)) {
        const struct note *n = CH_CONTAINER(i, struct note, link);
        CH_AUTO(ch_schedule) s = NULL;
        struct chela_error err = {0};
        if (!begins(n->id, CH_SCHEDULE_NOTE))
            continue;
        if (ch_schedule_read(ch_sv_str(n->data), n->key, &s, &err) < 0)
            ch_log(CH_LOG_WARN, "schedule", "%s makes no sense: %s", n->id, err.message);
        else if (!is_own(all, s->is.name))
            look_at(all, k, s, now, &next, &found);
    }
    if (all->name && !found)
        all->rc = ch_fail(&all->err, CHELA_ENOENT, "there is no schedule '%s'", all->name);
    return next;
}

/* --- looking */

static void on_timer(struct ch_timer *t);

static void on_looked(struct ch_work *w) {
    struct look *k = CH_CONTAINER(w, struct look, work);
    struct ch_schedules *s = k->of;
    if (!s) {
        free_look(w);
        return;
    }
    struct ch_loop *loop = s->gw->rt->loop;
    int64_t now = ch_now_ms(ch_loop_clock(loop)), next = CH_WHEN_NEVER;
    if (k->rc == 0 && !s->gw->draining)
        next = look_at_all(s, k, now);
    else if (k->rc < 0)
        ch_log(CH_LOG_WARN, "schedule", "schedules cannot be read: %s", k->err.message);
    if (k->rc < 0) {
        s->rc = k->rc;
        s->err = k->err;
    }
    if (!s->once)
        ch_timer_start(loop, &s->timer,
                       CH_MAX(CH_MIN(next - now, CH_LIMIT_SCHEDULE_SLEEP_MS), 1), on_timer);
    free_look(w);
    report_once(s);
}

static void look(struct ch_schedules *s) {
    if (s->look || !s->gw->store)
        return;
    struct look *k = ch_alloc(sizeof(*k));
    k->work = (struct ch_work){.run = read_store, .done = on_looked, .dropped = free_look};
    k->of = s;
    k->store = s->gw->store;
    ch_list_init(&k->notes);
    ch_list_init(&k->waiting);
    s->look = k;
    ch_work_submit(s->gw->rt->workers, &k->work);
}

static void on_timer(struct ch_timer *t) {
    look(CH_CONTAINER(t, struct ch_schedules, timer));
}

void ch_schedules_start(struct ch_schedules *s) {
    look(s);
}

void ch_schedules_once(struct ch_schedules *s, const char *name, once_fn *fn, void *user) {
    s->once = true;
    s->name = name ? ch_strdup(name) : NULL;
    s->fn = fn;
    s->user = user;
    look(s);
}

/* --- life */

static int add_own(struct ch_schedules *s, const struct chela_schedule *given,
                   struct chela_error *err) {
    struct chela_error why = {0};
    int rc = ch_schedule_new(given, NULL, &s->own[s->n], &why);
    if (rc < 0)
        return ch_fail(err, CHELA_ECONFIG, "schedule %s: %s", given->name ? given->name : "?",
                       why.message);
    const char *agent = s->own[s->n++]->is.agent;
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
        return ch_fail(err, CHELA_ECONFIG, "schedules need a store: it knows what was done");
    struct ch_schedules *s = ch_alloc(sizeof(*s));
    s->gw = gw;
    s->own = ch_alloc((n + 1) * sizeof(struct ch_schedule *));
    ch_list_init(&s->firings);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_own(s, o->schedules[i], err);
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
    if (s->look)
        s->look->of = NULL;
    for (struct firing *f; (f = CH_LIST_FIRST(&s->firings, struct firing, link));) {
        ch_list_del(&f->link); /* whoever comes back with it frees it */
        f->of = NULL;
        ch_delivery_free(CH_TAKE(f->delivery));
    }
    for (size_t i = 0; i < s->n; i++)
        ch_schedule_free(s->own[i]);
    ch_free(s->own);
    ch_free(s->name);
    ch_free(s);
}

/* schedules.c -- schedules stored in a store; see chela/schedule.h. */
#include "agent/journal/schedule.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"
#include "store/store.h"

/* --- one schedule */

static int store_schedules_change(chela_store *store, struct chela_store_change *c,
                                  struct chela_error *err) {
    struct chela_error why = {0};
    int rc = ch_store_commit(store, c, 1, true, err ? err : &why);
    return rc < 0 ? rc : c->rc;
}

struct count {
    const char *of_session;
    size_t all, session;
};

static int count_note(const struct chela_store_item *i, void *user) {
    struct count *c = user;
    bool is_one = strncmp(i->id, CH_SCHEDULE_NOTE, strlen(CH_SCHEDULE_NOTE)) == 0;
    c->all += is_one;
    c->session += is_one && c->of_session && strcmp(c->of_session, i->key) == 0;
    return 0;
}

static int store_schedules_check_room(chela_store *store, const char *of_session,
                                      struct chela_error *err) {
    struct count c = {.of_session = of_session};
    int rc = chela_store_items(store, CHELA_STORE_NOTES, count_note, &c, err);
    if (rc < 0)
        return rc;
    if (c.all >= CH_LIMIT_SCHEDULES)
        return ch_fail(err, CHELA_ELIMIT, "the store already has %zu schedules", c.all);
    if (c.session >= CH_LIMIT_SESSION_SCHEDULES)
        return ch_fail(err, CHELA_ELIMIT, "this session already has %zu schedules", c.session);
    return 0;
}

int chela_schedule_add(chela_store *store, const struct chela_schedule *given,
                       const char *of_session, struct chela_error *err) {
    CH_NEEDS(store, err);
    CH_AUTO(ch_schedule) s = NULL;
    CH_BUF_AUTO id = {0}, state_id = {0}, data = {0}, state = {0};
    const char *key = of_session ? of_session : "";
    int64_t now = ch_store_now();
    int rc = ch_schedule_new(given, key, &s, err);
    if (rc == 0 && ch_schedule_next(s, now) == CH_WHEN_NEVER)
        rc = ch_fail(err, CHELA_EINVAL, "its time has passed");
    if (rc == 0)
        rc = store_schedules_check_room(store, of_session, err);
    if (rc < 0)
        return rc;
    s->state = (struct ch_schedule_state){.since = now, .last = now};
    ch_buf_addf(&id, CH_SCHEDULE_NOTE "%s", s->is.name);
    ch_buf_addf(&state_id, CH_SCHEDULE_STATE "%s", s->is.name);
    ch_schedule_write(s, &data);
    ch_schedule_state_write(&s->state, &state);
    struct chela_store_change c = {.kind = CHELA_STORE_NOTE, .token = 1, .id = ch_buf_str(&id),
                                   .key = key, .data = data.p, .n = data.n, .now = now};
    rc = store_schedules_change(store, &c, err);
    if (rc == CHELA_EEXIST)
        return ch_fail(err, rc, "there is a schedule '%s' already", s->is.name);
    if (rc < 0)
        return rc;
    struct chela_store_change begun = {.kind = CHELA_STORE_NOTE, .id = ch_buf_str(&state_id),
                                       .key = key, .data = state.p, .n = state.n, .now = now};
    return store_schedules_change(store, &begun, err);
}

int chela_schedule_remove(chela_store *store, const char *name, struct chela_error *err) {
    CH_NEEDS(store, err);
    CH_BUF_AUTO id = {0}, state_id = {0};
    ch_buf_addf(&id, CH_SCHEDULE_NOTE "%s", name);
    ch_buf_addf(&state_id, CH_SCHEDULE_STATE "%s", name);
    struct chela_store_change c[] = {{.kind = CHELA_STORE_FORGET, .id = ch_buf_str(&id)},
                                     {.kind = CHELA_STORE_FORGET, .id = ch_buf_str(&state_id)}};
    int rc = store_schedules_change(store, c, err);
    if (rc == CHELA_ENOENT)
        return ch_fail(err, rc, "there is no schedule '%s' in the store", name);
    if (rc == 0)
        rc = store_schedules_change(store, c + 1, err);
    return rc == CHELA_ENOENT ? 0 : rc;
}

/* --- all schedules */

struct entry {
    struct ch_schedule *s; /* owned */
    bool waiting;
};

struct listing {
    struct entry *list;
    size_t n;
    bool states; /* second pass: read the states */
};

static void store_schedules_put(struct listing *l, struct ch_schedule *s) {
    l->list = ch_realloc(l->list, (l->n + 1) * sizeof(*l->list));
    l->list[l->n++] = (struct entry){.s = s};
}

static struct entry *store_schedules_find(struct listing *l, struct ch_sv name) {
    for (size_t i = 0; i < l->n; i++)
        if (ch_sv_is(name, l->list[i].s->is.name))
            return &l->list[i];
    return NULL;
}

/* The rest of an id after the prefix, up to a slash; p NULL: another kind. */
static struct ch_sv store_schedules_name_in(const char *id, const char *prefix) {
    size_t n = strlen(prefix);
    if (strncmp(id, prefix, n) != 0)
        return ch_sv(NULL, 0);
    struct ch_sv rest = ch_sv_str(id + n);
    return ch_sv_split(&rest, '/');
}

static int list_note(const struct chela_store_item *i, void *user) {
    struct listing *l = user;
    struct ch_sv name =
        store_schedules_name_in(i->id, l->states ? CH_SCHEDULE_STATE : CH_SCHEDULE_NOTE);
    struct entry *e = name.p ? store_schedules_find(l, name) : NULL;
    struct ch_schedule *s;
    if (l->states && e)
        ch_schedule_state_read(ch_sv(i->data, i->n), &e->s->state);
    else if (!l->states && name.p && !e &&
             ch_schedule_read(ch_sv(i->data, i->n), i->key, &s, NULL) == 0)
        store_schedules_put(l, s);
    return 0;
}

static int list_event(const struct chela_store_item *i, void *user) {
    struct ch_sv name = store_schedules_name_in(i->id, CH_SCHEDULE_NOTE);
    struct entry *e = name.p ? store_schedules_find(user, name) : NULL;
    if (e)
        e->waiting = true;
    return 0;
}

static int store_schedules_tell(const struct listing *l, chela_schedule_fn *fn, void *user) {
    int64_t now = ch_store_now();
    for (size_t i = 0; i < l->n; i++) {
        const struct ch_schedule *s = l->list[i].s;
        int64_t day = (now / 1000 + ch_zone_at(s->zone, now / 1000).offset) / 86400;
        struct chela_schedule_row row = {
            .schedule = &s->is,
            .of_session = s->of_session,
            .last = s->state.last > s->state.since ? s->state.last : 0,
            .next = ch_schedule_next(s, CH_MAX(now, s->state.last)),
            .runs_today = s->state.day == day ? s->state.runs : 0,
            .waiting = l->list[i].waiting};
        if (fn(&row, user))
            break;
    }
    return 0;
}

int chela_schedule_list(chela_store *store, const struct chela_schedule *const *configured,
                        chela_schedule_fn *fn, void *user, struct chela_error *err) {
    CH_NEEDS(store, err);
    struct chela_error why = {0};
    struct listing l = {0};
    int rc = 0;
    err = err ? err : &why;
    for (size_t i = 0; rc == 0 && configured && configured[i]; i++) {
        struct ch_schedule *s;
        rc = ch_schedule_new(configured[i], NULL, &s, err);
        if (rc == 0)
            store_schedules_put(&l, s);
    }
    if (rc == 0)
        rc = chela_store_items(store, CHELA_STORE_NOTES, list_note, &l, err);
    l.states = true;
    if (rc == 0)
        rc = chela_store_items(store, CHELA_STORE_NOTES, list_note, &l, err);
    if (rc == 0)
        rc = chela_store_items(store, CHELA_STORE_INBOX, list_event, &l, err);
    if (rc == 0)
        rc = store_schedules_tell(&l, fn, user);
    for (size_t i = 0; i < l.n; i++)
        ch_schedule_free(l.list[i].s);
    ch_free(l.list);
    return rc;
}

static void store_schedules_write_time(struct ch_jw *w, const char *key,
                                       const struct chela_schedule *s, int64_t ms) {
    if (ms <= 0 || ms == CH_WHEN_NEVER)
        return;
    char *text = chela_schedule_time(s, ms);
    ch_jw_kcstr(w, key, text);
    ch_free(text);
}

char *chela_schedule_row_json(const struct chela_schedule_row *row) {
    const struct chela_schedule *s = row->schedule;
    CH_AUTO(ch_schedule) copy = NULL;
    CH_BUF_AUTO is = {0}, out = {0};
    if (ch_schedule_new(s, row->of_session, &copy, NULL) < 0)
        return ch_strdup("{}");
    ch_schedule_write(copy, &is);
    ch_buf_add(&out, is.p, is.n - 1); /* without the closing brace: more members follow */
    ch_buf_addc(&out, ',');
    CH_BUF_AUTO rest = {0};
    struct ch_jw w = ch_jw(&rest);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "source", !row->of_session ? "config" : *row->of_session ? "session" : "store");
    store_schedules_write_time(&w, "last", s, row->last);
    store_schedules_write_time(&w, "next", s, row->next);
    ch_jw_kint(&w, "runs_today", row->runs_today);
    ch_jw_kbool(&w, "waiting", row->waiting);
    ch_jw_end(&w, '}');
    ch_buf_add(&out, rest.p + 1, rest.n - 1);
    ch_buf_str(&out);
    return ch_buf_take(&out);
}

/* recover.c -- sessions of a store that was restored wait for a person; see chela/store.h.
 *
 * What a restored store does not know may have happened already: a run in progress went on, an
 * event was handled, a message was sent. Each session with such an item is held: its lease belongs
 * to no process, never expires, and cannot be taken (ch_owner_is_held). So no gateway resumes its
 * run, takes its events up, or sends its messages, until a person releases the session. */
#include <stdlib.h>

#include "agent/journal/journal.h"
#include "agent/journal/schedule.h"
#include "agent/journal/timer.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/key_table.h"
#include "base/utf8.h"
#include "chela/gateway.h"
#include "json/json.h"
#include "json/writer.h"
#include "store/owner.h"
#include "store/store.h"

#define CLAIMS 8   /* attempts to take a lease that others take, too */
#define HOLD_MS ((int64_t)100 * 365 * 24 * 3600 * 1000)
#define EXCERPT 200 /* bytes of a text that a list shows */

struct held { /* a key, once */
    struct ch_keyed by_key;
    char *key; /* owned */
    struct held *next;
};

struct holding {
    struct ch_key_table keys;
    struct held *first, **last;
    struct ch_buf *states; /* of schedules: "ID\nSTATE\n" */
};

static void recover_add(struct holding *h, const char *key) {
    if (!*key || ch_key_table_find(&h->keys, ch_sv_str(key)))
        return;
    struct held *one = ch_alloc(sizeof(*one));
    one->key = ch_strdup(key);
    *h->last = one;
    h->last = &one->next;
    ch_key_table_add(&h->keys, &one->by_key, one->key);
}

static void recover_release(struct holding *h) {
    for (struct held *one = h->first, *next; one; one = next) {
        next = one->next;
        ch_key_table_del(&h->keys, &one->by_key);
        ch_free(one->key);
        ch_free(one);
    }
    ch_key_table_release(&h->keys);
}

/* --- holding */

static int recover_on_session(const struct chela_store_session *s, void *user) {
    if (strcmp(s->status, "idle") != 0 && !s->key[chela_session_root(s->key)])
        recover_add(user, s->key); /* the session of a caller stands for those that it called */
    return 0;
}

static int recover_on_event(const struct chela_store_item *i, void *user) {
    recover_add(user, i->key);
    return 0;
}

static int recover_on_message(const struct chela_store_item *i, void *user) {
    if (strcmp(i->state, "failed") != 0)
        recover_add(user, i->key);
    return 0;
}

static int recover_on_note(const struct chela_store_item *i, void *user) {
    struct holding *h = user;
    struct ch_schedule_state state;
    if (strncmp(i->id, CH_TIMER_NOTE, strlen(CH_TIMER_NOTE)) == 0)
        recover_add(h, i->key);
    if (strncmp(i->id, CH_SCHEDULE_STATE, strlen(CH_SCHEDULE_STATE)) != 0)
        return 0;
    ch_schedule_state_read(ch_sv(i->data, i->n), &state);
    state.since = CH_MAX(state.since, ch_store_now());
    ch_buf_addf(h->states, "%s\n", i->id);
    ch_schedule_state_write(&state, h->states);
    ch_buf_addc(h->states, '\n');
    return 0;
}

static int recover_on_lease(const struct chela_store_session *s, void *user) {
    *(uint64_t *)user = s->token;
    return 0;
}

static int recover_hold(chela_store *s, const char *key, struct chela_error *err) {
    int64_t now = ch_store_now();
    uint64_t token = 0;
    int rc = CHELA_EBUSY;
    for (int i = 0; rc == CHELA_EBUSY && i < CLAIMS; i++) {
        struct chela_store_claim c = {.key = key,
                                      .agent = "",
                                      .owner = CH_OWNER_HELD,
                                      .now = now,
                                      .until = now + HOLD_MS,
                                      .steal = token,
                                      .create = 1,
                                      .judge = 1};
        *err = (struct chela_error){0};
        rc = ch_store_open_session(s, &c, recover_on_lease, &token, err);
    }
    return rc;
}

/* Occurrences of schedules before now are passed over: the store does not know which have run. */
static int recover_pass_over(chela_store *s, const struct ch_buf *states, struct chela_error *err) {
    struct ch_sv rest = ch_buf_sv(states);
    int rc = 0;
    while (rc == 0 && rest.n) {
        struct ch_sv id = ch_sv_split(&rest, '\n'), state = ch_sv_split(&rest, '\n');
        CH_AUTOFREE char *name = ch_strndup(id.p, id.n);
        struct chela_store_change c = {.kind = CHELA_STORE_NOTE,
                                       .id = name,
                                       .key = "",
                                       .data = state.p,
                                       .n = state.n,
                                       .now = ch_store_now()};
        rc = ch_store_commit(s, &c, 1, true, err);
    }
    return rc;
}

static int recover_begin_epoch(chela_store *s, struct chela_error *err) {
    struct chela_store_identity id = {.store = ""};
    if (!s->ops->identity)
        return 0;
    int rc = ch_store_enter(s, err);
    return rc < 0 ? rc : ch_store_leave(s, s->ops->identity(s->db, 1, &id, err));
}

int chela_store_recovered(chela_store *s, size_t *n, struct chela_error *err) {
    CH_NEEDS(s, err);
    struct chela_error why = {0}, *to = err ? err : &why;
    CH_BUF_AUTO states = {0};
    struct holding h = {.states = &states};
    size_t count = 0;
    h.last = &h.first;
    int rc = recover_begin_epoch(s, to);
    if (rc == 0)
        rc = chela_store_list(s, NULL, recover_on_session, &h, to);
    if (rc == 0)
        rc = chela_store_items(s, CHELA_STORE_INBOX, recover_on_event, &h, to);
    if (rc == 0)
        rc = chela_store_items(s, CHELA_STORE_OUTBOX, recover_on_message, &h, to);
    if (rc == 0)
        rc = chela_store_items(s, CHELA_STORE_NOTES, recover_on_note, &h, to);
    for (const struct held *one = h.first; rc == 0 && one; one = one->next) {
        rc = recover_hold(s, one->key, to);
        count += rc == 0;
    }
    if (rc == 0)
        rc = recover_pass_over(s, &states, to);
    if (n)
        *n = count;
    recover_release(&h);
    return rc;
}

/* --- listing */

struct listing {
    struct ch_jw w;
    const char *key;
    struct ch_buf calls; /* "CALL\nNAME\nEFFECT\nTS\n" of calls without a result */
};

static int recover_add_held(const struct chela_store_session *s, void *user) {
    if (ch_owner_is_held(s->owner))
        recover_add(user, s->key);
    return 0;
}

static int recover_write_row(const struct chela_store_session *s, void *user) {
    struct listing *l = user;
    ch_jw_kcstr(&l->w, "session", s->key);
    ch_jw_kcstr(&l->w, "agent", s->agent);
    ch_jw_kcstr(&l->w, "status", s->status);
    ch_jw_kint(&l->w, "updated", s->updated);
    return 0;
}

static void recover_write_text(struct listing *l, struct ch_sv data) {
    ch_jw_kstr(&l->w, "text", ch_utf8_cut(data, EXCERPT));
}

static int recover_write_event(const struct chela_store_item *i, void *user) {
    struct listing *l = user;
    ch_jw_begin(&l->w, '{');
    ch_jw_kcstr(&l->w, "id", i->id);
    ch_jw_kint(&l->w, "ts", i->ts);
    recover_write_text(l, ch_sv(i->data, i->n));
    ch_jw_end(&l->w, '}');
    return 0;
}

static int recover_write_message(const struct chela_store_item *i, void *user) {
    struct listing *l = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (strcmp(i->key, l->key) != 0 || strcmp(i->state, "failed") == 0)
        return 0;
    struct ch_sv text = ch_sv(i->data, i->n);
    if (ch_json_parse(&arena, text, CH_JSON_REPLACE, &v, NULL, NULL) == 0)
        text = ch_json_get_str(v, "text");
    ch_jw_begin(&l->w, '{');
    ch_jw_kcstr(&l->w, "id", i->id);
    ch_jw_kcstr(&l->w, "state", i->state);
    recover_write_text(l, text);
    ch_jw_end(&l->w, '}');
    return 0;
}

/* Keeps the calls that have begun and have no result. */
static int recover_on_record(const struct chela_store_record *r, void *user) {
    struct listing *l = user;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO others = {0};
    const struct ch_json *v;
    if (r->type == CH_REC_INBOUND)
        ch_buf_clear(&l->calls);
    if ((r->type != CH_REC_STARTED && r->type != CH_REC_DONE) ||
        ch_json_parse(&arena, ch_sv(r->data, r->n), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return 0;
    int64_t call = ch_json_int(ch_json_get(v, "call"), -1);
    for (struct ch_sv rest = ch_buf_sv(&l->calls); rest.n;) {
        struct ch_sv line = ch_sv_split(&rest, '\n');
        CH_AUTOFREE char *text = ch_strndup(line.p, line.n);
        if (strtoll(text, NULL, 10) != call)
            ch_buf_addf(&others, "%s\n", text);
    }
    if (r->type == CH_REC_STARTED)
        ch_buf_addf(&others, "%lld %lld %.*s %.*s\n", (long long)call, (long long)r->ts,
                    CH_SV_FMT(ch_json_get_str(v, "effect")), CH_SV_FMT(ch_json_get_str(v, "name")));
    ch_buf_clear(&l->calls);
    ch_buf_add_sv(&l->calls, ch_buf_sv(&others));
    return 0;
}

static void recover_write_calls(struct listing *l) {
    for (struct ch_sv rest = ch_buf_sv(&l->calls); rest.n;) {
        struct ch_sv line = ch_sv_split(&rest, '\n');
        ch_sv_split(&line, ' ');
        CH_AUTOFREE char *ts = ch_strndup(line.p, line.n);
        ch_sv_split(&line, ' ');
        struct ch_sv effect = ch_sv_split(&line, ' ');
        ch_jw_begin(&l->w, '{');
        ch_jw_kstr(&l->w, "name", line);
        ch_jw_kstr(&l->w, "effect", effect);
        ch_jw_kint(&l->w, "ts", strtoll(ts, NULL, 10));
        ch_jw_end(&l->w, '}');
    }
}

static int recover_write_session(chela_store *s, struct listing *l, struct chela_error *err) {
    struct chela_error ignored = {0};
    ch_buf_clear(&l->calls);
    ch_jw_begin(&l->w, '{');
    int rc = chela_store_session(s, l->key, recover_write_row, l, err);
    if (rc == 0) /* a damaged journal is listed without its calls */
        chela_store_records(s, l->key, 1, recover_on_record, l, &ignored);
    ch_jw_kbegin(&l->w, "calls", '[');
    recover_write_calls(l);
    ch_jw_end(&l->w, ']');
    ch_jw_kbegin(&l->w, "events", '[');
    if (rc == 0)
        rc = ch_store_waiting(s, l->key, CH_LIMIT_LANE_EVENTS, recover_write_event, l, err);
    ch_jw_end(&l->w, ']');
    ch_jw_kbegin(&l->w, "messages", '[');
    if (rc == 0)
        rc = chela_store_items(s, CHELA_STORE_OUTBOX, recover_write_message, l, err);
    ch_jw_end(&l->w, ']');
    ch_jw_end(&l->w, '}');
    return rc;
}

int chela_store_held(chela_store *s, char **out, struct chela_error *err) {
    CH_NEEDS(s, err);
    CH_NEEDS_ARG(out, err);
    struct chela_error why = {0}, *to = err ? err : &why;
    CH_BUF_AUTO json = {0};
    struct holding h = {.states = NULL};
    struct listing l = {.w = ch_jw(&json)};
    *out = NULL;
    h.last = &h.first;
    int rc = chela_store_list(s, NULL, recover_add_held, &h, to);
    ch_jw_begin(&l.w, '[');
    for (const struct held *one = h.first; rc == 0 && one; one = one->next) {
        l.key = one->key;
        rc = recover_write_session(s, &l, to);
    }
    ch_jw_end(&l.w, ']');
    ch_buf_release(&l.calls);
    recover_release(&h);
    if (rc == 0)
        *out = ch_buf_take(&json);
    return rc;
}

/* --- releasing */

struct release {
    const char *key;
    uint64_t token;
    bool held, runs, empty;
    struct ch_list ids; /* struct release_id */
};

struct release_id {
    struct ch_link link;
    enum chela_store_change_kind kind;
    char id[];
};

static int release_on_row(const struct chela_store_session *s, void *user) {
    struct release *r = user;
    r->held = ch_owner_is_held(s->owner);
    r->token = s->token;
    r->runs = strcmp(s->status, "idle") != 0;
    r->empty = s->last == s->base && !*s->agent;
    return 0;
}

static void release_add(struct release *r, enum chela_store_change_kind kind, const char *id) {
    struct release_id *one = ch_alloc(sizeof(*one) + strlen(id) + 1);
    one->kind = kind;
    memcpy(one->id, id, strlen(id) + 1);
    ch_list_add(&r->ids, &one->link);
}

static int release_on_event(const struct chela_store_item *i, void *user) {
    release_add(user, CHELA_STORE_SETTLE, i->id);
    return 0;
}

static int release_on_message(const struct chela_store_item *i, void *user) {
    struct release *r = user;
    if (strcmp(i->key, r->key) == 0 && strcmp(i->state, "failed") != 0)
        release_add(r, CHELA_STORE_RECEIPT, i->id);
    return 0;
}

static int release_on_note(const struct chela_store_item *i, void *user) {
    struct release *r = user;
    if (strcmp(i->key, r->key) == 0 && strncmp(i->id, CH_TIMER_NOTE, strlen(CH_TIMER_NOTE)) == 0)
        release_add(r, CHELA_STORE_FORGET, i->id);
    return 0;
}

/* Settles the events, gives the messages up, forgets the timers, and cancels the run. */
static int release_drop(chela_store *s, struct release *r, struct chela_error *err) {
    static const char note[] = "{\"note\":\"dropped after a restore\"}";
    chela_follow *run = NULL;
    int rc = ch_store_waiting(s, r->key, INT32_MAX, release_on_event, r, err);
    if (rc == 0)
        rc = chela_store_items(s, CHELA_STORE_OUTBOX, release_on_message, r, err);
    if (rc == 0)
        rc = chela_store_items(s, CHELA_STORE_NOTES, release_on_note, r, err);
    for (struct release_id *one; (one = CH_LIST_FIRST(&r->ids, struct release_id, link));) {
        struct chela_store_change c = {.kind = one->kind,
                                       .id = one->id,
                                       .state = "failed",
                                       .data = note,
                                       .n = sizeof(note) - 1,
                                       .now = ch_store_now()};
        if (rc == 0)
            rc = ch_store_commit(s, &c, 1, true, err);
        ch_list_del(&one->link);
        ch_free(one);
    }
    if (rc == 0 && r->runs)
        rc = chela_follow_new(s, r->key, &run, err);
    if (rc == 0 && r->runs)
        rc = chela_follow_cancel(run, err);
    chela_follow_close(run);
    return rc;
}

int chela_store_release(chela_store *s, const char *key, int drop, struct chela_error *err) {
    CH_NEEDS(s, err);
    CH_NEEDS_ARG(key, err);
    struct chela_error why = {0}, ignored = {0}, *to = err ? err : &why;
    struct release r = {.key = key};
    ch_list_init(&r.ids);
    int rc = chela_store_session(s, key, release_on_row, &r, to);
    if (rc == 0 && !r.held)
        rc = ch_fail(to, CHELA_ESTATE, "session '%s' does not wait after a restore", key);
    if (rc == 0 && drop)
        rc = release_drop(s, &r, to);
    struct chela_store_change c = {.kind = CHELA_STORE_RELEASE, .key = key, .token = r.token};
    if (rc == 0)
        rc = ch_store_change(s, &c, to);
    if (rc == 0 && r.empty) /* the session was made to hold events; they stay */
        ch_store_delete_records(s, key, &ignored);
    return rc;
}

/* memory.c -- a store in memory, lost when its handle is closed: for tests and
 * for programs that need sessions, queues and searches but no file.
 *
 * It follows the rules of every store (chela/sys/store.h). Transactions need no
 * rollback, since no change can fail half way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "store/past.h"
#include "store/store.h"

enum { /* further boxes, after those of enum chela_store_box */
    KEPT = CHELA_STORE_NOTES + 1,
    GONE, /* digests of the ids of events whose session was deleted; ts: end of their time */
    BOXES
};

struct session {
    struct ch_link link;
    struct chela_store_session row; /* its texts are owned */
    struct chela_store_record *records; /* owned; their data too */
    size_t n, cap;
    uint64_t stamp; /* orders changes within one millisecond */
};

struct item {
    struct ch_link link;
    struct chela_store_item row; /* its texts are owned */
    bool done;                   /* an item of the inbox: it is settled */
};

struct chela_store_db {
    struct ch_list sessions, boxes[BOXES];
    uint64_t stamp;
};

static void store_memory_set(const char **field, const char *text, size_t n) {
    char *copy = ch_strndup(text ? text : "", n);

    ch_free((char *)*field);
    *field = copy;
}

static void set_str(const char **field, const char *text) {
    store_memory_set(field, text, text ? strlen(text) : 0);
}

static struct session *store_memory_find(struct chela_store_db *db, const char *key) {
    for (CH_LIST_EACH(k, &db->sessions)) {
        struct session *s = CH_CONTAINER(k, struct session, link);
        if (strcmp(s->row.key, key) == 0)
            return s;
    }
    return NULL;
}

static struct item *store_memory_find_item(struct chela_store_db *db, int box, const char *id) {
    for (CH_LIST_EACH(k, &db->boxes[box])) {
        struct item *i = CH_CONTAINER(k, struct item, link);
        if (strcmp(i->row.id, id) == 0)
            return i;
    }
    return NULL;
}

/* --- opening and closing ------------------------------------------------------------------- */

static int memory_open(const char *target, int read_only, struct chela_store_db **out,
                       const char **note, struct chela_error *err) {
    struct chela_store_db *db = ch_alloc(sizeof(*db));

    (void)target, (void)read_only, (void)note, (void)err;
    ch_list_init(&db->sessions);
    for (size_t b = 0; b < CH_LEN(db->boxes); b++)
        ch_list_init(&db->boxes[b]);
    *out = db;
    return 0;
}

/* Whether the text is the number of a key (past.h). */
static bool is_past(const struct item *i) {
    return strncmp(i->row.id, CH_PAST, strlen(CH_PAST)) == 0 && i->row.id[strlen(CH_PAST)];
}

static uint64_t past_of(const struct item *i) {
    return i ? strtoull(i->row.data, NULL, 10) : 0;
}

/* The number that the deletion of an earlier session with the key took. */
static uint64_t past_number(struct chela_store_db *db, const char *key) {
    char name[CH_PAST_NAME];

    ch_past_name(key, name);
    return CH_MAX(past_of(store_memory_find_item(db, KEPT, name)),
                  past_of(store_memory_find_item(db, KEPT, CH_PAST)));
}

static struct session *store_memory_add_session(struct chela_store_db *db, const char *key,
                                                const char *agent, size_t agent_n,
                                                const char *parent, int64_t now) {
    struct session *s = ch_alloc(sizeof(*s));

    set_str(&s->row.key, key);
    store_memory_set(&s->row.agent, agent, agent_n);
    set_str(&s->row.parent, parent);
    set_str(&s->row.title, "");
    set_str(&s->row.status, "idle");
    set_str(&s->row.owner, "");
    s->row.created = s->row.updated = now;
    s->row.base = s->row.last = past_number(db, key);
    s->row.window = s->row.base + 1;
    s->stamp = ++db->stamp;
    ch_list_add(&db->sessions, &s->link);
    return s;
}

static void free_session(struct session *s) {
    const char *texts[] = {s->row.key,    s->row.agent,  s->row.title,
                           s->row.status, s->row.parent, s->row.owner};

    for (size_t i = 0; i < CH_LEN(texts); i++)
        ch_free((char *)texts[i]);
    for (size_t i = 0; i < s->n; i++)
        ch_free((char *)s->records[i].data);
    ch_list_del(&s->link);
    ch_free(s->records);
    ch_free(s);
}

static void free_item(struct item *i) {
    const char *texts[] = {i->row.id, i->row.key, i->row.state, i->row.data, i->row.receipt};

    for (size_t k = 0; k < CH_LEN(texts); k++)
        ch_free((char *)texts[k]);
    ch_list_del(&i->link);
    ch_free(i);
}

static void memory_close(struct chela_store_db *db) {
    for (struct session *s; (s = CH_LIST_FIRST(&db->sessions, struct session, link));)
        free_session(s);
    for (size_t b = 0; b < CH_LEN(db->boxes); b++)
        for (struct item *i; (i = CH_LIST_FIRST(&db->boxes[b], struct item, link));)
            free_item(i);
    ch_free(db);
}

/* --- changes ------------------------------------------------------------------ */

static void store_memory_add_record(struct session *s, const struct chela_store_record *r) {
    CH_GROW(s->records, s->n, s->cap, 16);
    s->records[s->n] = *r;
    s->records[s->n++].data = ch_strndup(r->data, r->n);
}

static struct item *find_waiting(struct chela_store_db *db, const char *id, const char *key) {
    struct item *i = store_memory_find_item(db, CHELA_STORE_INBOX, id);

    return i && !i->done && strcmp(i->row.key, key) == 0 ? i : NULL;
}

static int store_memory_add_item(struct chela_store_db *db, enum chela_store_box box,
                                 const struct chela_store_change *c);

static void store_memory_mail(struct chela_store_db *db, const struct chela_store_change *c) {
    for (size_t i = 0; i < c->ntakes; i++)
        store_memory_find_item(db, CHELA_STORE_INBOX, c->takes[i])->done = true;
    for (size_t i = 0; i < c->nsends; i++) {
        struct chela_store_send *m = &c->sends[i];
        struct chela_store_change intent = {
            .id = m->id, .key = c->key, .data = m->data, .n = m->n, .now = c->now};
        m->rc = store_memory_add_item(db, CHELA_STORE_OUTBOX, &intent);
    }
}

static int store_memory_append(struct chela_store_db *db, struct session *s,
                               const struct chela_store_change *c) {
    if (!s)
        return CHELA_ENOENT;
    if (s->row.token != c->token)
        return CHELA_EPERM;
    if (c->nrecords && c->records[0].seq != s->row.last + 1)
        return CHELA_ESTATE;
    for (size_t i = 0; i < c->ntakes; i++)
        if (!find_waiting(db, c->takes[i], c->key))
            return CHELA_EEXIST;
    store_memory_mail(db, c);
    for (size_t i = 0; i < c->nrecords; i++)
        store_memory_add_record(s, &c->records[i]);
    s->row.last += c->nrecords;
    s->row.updated = c->now;
    s->stamp = ++db->stamp;
    if (c->head.status)
        set_str(&s->row.status, c->head.status);
    if (c->head.title)
        set_str(&s->row.title, c->head.title);
    s->row.window = CH_MAX(s->row.window, c->head.window);
    s->row.turns += c->head.turns;
    s->row.messages += c->head.messages;
    return 0;
}

static int store_memory_lease(struct session *s, const struct chela_store_change *c) {
    if (!s || s->row.token != c->token)
        return CHELA_EPERM;
    s->row.until = c->kind == CHELA_STORE_RENEW ? c->until : 0;
    if (c->kind == CHELA_STORE_RELEASE)
        set_str(&s->row.owner, "");
    return 0;
}

static int store_memory_create(struct chela_store_db *db, struct session *s,
                               const struct chela_store_change *c) {
    if (s)
        return CHELA_EEXIST;
    store_memory_add_session(db, c->key, c->data, c->n, c->id, c->now);
    return 0;
}

static int title(struct session *s, const struct chela_store_change *c) {
    if (!s)
        return CHELA_ENOENT;
    store_memory_set(&s->row.title, c->data, c->n);
    return 0;
}

static struct item *make_item(const struct chela_store_change *c, const char *state) {
    struct item *i = ch_alloc(sizeof(*i));

    set_str(&i->row.id, c->id);
    set_str(&i->row.key, c->key);
    set_str(&i->row.state, state);
    set_str(&i->row.receipt, "");
    store_memory_set(&i->row.data, c->data, c->n);
    i->row.n = c->n;
    i->row.ts = c->now;
    return i;
}

static void drop_items(struct ch_list *box, const char *key) {
    for (struct ch_link *k = box->head.next, *next; k != &box->head; k = next) {
        next = k->next;
        struct item *i = CH_CONTAINER(k, struct item, link);
        if (strcmp(i->row.key, key) == 0)
            free_item(i);
    }
}

#define DIGEST (2 * CH_SHA256_SIZE + 1)

static void digest_id(const char *id, char out[DIGEST]) {
    unsigned char digest[CH_SHA256_SIZE];

    ch_sha256_of(ch_sv_str(id), digest);
    ch_sha256_hex(digest, out);
}

/* Whether the event was accepted for a session that was deleted. */
static bool is_gone(struct chela_store_db *db, const char *id, int64_t now) {
    char digest[DIGEST];

    digest_id(id, digest);
    const struct item *i = store_memory_find_item(db, GONE, digest);
    return i && i->row.ts > now;
}

static void remember_events(struct chela_store_db *db, const char *key) {
    struct ch_list *gone = &db->boxes[GONE];
    char digest[DIGEST];
    size_t n = 0;

    for (CH_LIST_EACH(k, &db->boxes[CHELA_STORE_INBOX])) {
        const struct item *event = CH_CONTAINER(k, struct item, link);
        if (strcmp(event->row.key, key) != 0)
            continue;
        digest_id(event->row.id, digest);
        struct item *i = make_item(&(struct chela_store_change){.id = digest}, "");
        i->row.ts = event->row.ts + CH_DEFAULT_DONE_MS;
        ch_list_add(gone, &i->link);
    }
    for (CH_LIST_EACH(k, gone))
        n++;
    for (; n > CH_LIMIT_GONE_EVENTS; n--)
        free_item(CH_LIST_FIRST(gone, struct item, link));
}

static void empty_kept(struct chela_store_db *db, const char *key) {
    for (CH_LIST_EACH(k, &db->boxes[KEPT])) {
        struct item *i = CH_CONTAINER(k, struct item, link);
        if (strcmp(i->row.key, key) == 0) {
            store_memory_set(&i->row.data, "", 0);
            i->row.n = 0;
        }
    }
}

/* Whether the session has an event or an unsent message. */
static bool is_owed(struct chela_store_db *db, const char *key) {
    for (int box = CHELA_STORE_INBOX; box <= CHELA_STORE_OUTBOX; box++)
        for (CH_LIST_EACH(k, &db->boxes[box])) {
            const struct item *i = CH_CONTAINER(k, struct item, link);
            if (!i->done && strcmp(i->row.state, "sent") != 0 &&
                strcmp(i->row.state, "failed") != 0 && strcmp(i->row.key, key) == 0)
                return true;
        }
    return false;
}

static int store_memory_keep(struct chela_store_db *db, const struct chela_store_change *c);

static void set_past(struct chela_store_db *db, const char *name, uint64_t number) {
    char text[24];
    int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)number);

    store_memory_keep(db, &(struct chela_store_change){
                              .id = name, .data = text, .n = (size_t)n, .until = ch_past_until()});
}

/* The deletion takes the number after the last record. The keys that were deleted first are
 * forgotten; their largest number stays. */
static void remember_number(struct chela_store_db *db, const struct session *s) {
    char name[CH_PAST_NAME];
    size_t n = 0;

    if (s->row.last == s->row.base)
        return;
    ch_past_name(s->row.key, name);
    set_past(db, name, s->row.last + 1);
    for (CH_LIST_EACH(k, &db->boxes[KEPT]))
        n += is_past(CH_CONTAINER(k, struct item, link));
    for (struct ch_link *k = db->boxes[KEPT].head.next, *next; n > CH_LIMIT_PAST; k = next) {
        struct item *i = CH_CONTAINER(k, struct item, link);
        next = k->next;
        if (!is_past(i))
            continue;
        const struct item *rest = store_memory_find_item(db, KEPT, CH_PAST);
        set_past(db, CH_PAST, CH_MAX(past_of(i), past_of(rest)));
        free_item(i);
        n--;
    }
}

static int store_memory_drop(struct chela_store_db *db, struct session *s,
                             const struct chela_store_change *c) {
    if (!s)
        return CHELA_ENOENT;
    if ((*s->row.owner && s->row.until > c->now) || (c->until && s->row.updated >= c->until) ||
        (c->token == 1 && is_owed(db, c->key)))
        return CHELA_EBUSY;
    if (c->token != 2)
        remember_events(db, c->key);
    remember_number(db, s);
    empty_kept(db, c->key);
    for (int box = CHELA_STORE_INBOX; c->token != 2 && box <= CHELA_STORE_OUTBOX; box++)
        drop_items(&db->boxes[box], c->key);
    drop_items(&db->boxes[CHELA_STORE_NOTES], c->key);
    free_session(s);
    return 0;
}

static int store_memory_add_item(struct chela_store_db *db, enum chela_store_box box,
                                 const struct chela_store_change *c) {
    if (store_memory_find_item(db, box, c->id) ||
        (box == CHELA_STORE_INBOX && is_gone(db, c->id, c->now)))
        return CHELA_EEXIST;
    struct item *i = make_item(c, box == CHELA_STORE_INBOX ? "new" : "intent");
    ch_list_add(&db->boxes[box], &i->link);
    return 0;
}

/* Notes are sorted by name. */
static int store_memory_note(struct chela_store_db *db, const struct chela_store_change *c) {
    struct item *before = store_memory_find_item(db, CHELA_STORE_NOTES, c->id);

    if (before && c->token)
        return CHELA_EEXIST;
    if (before)
        free_item(before);
    struct ch_list *notes = &db->boxes[CHELA_STORE_NOTES];
    struct ch_link *next = notes->head.next;
    while (next != &notes->head &&
           strcmp(CH_CONTAINER(next, struct item, link)->row.id, c->id) < 0)
        next = next->next;
    struct item *i = make_item(c, "");
    i->link = (struct ch_link){.next = next, .prev = next->prev};
    next->prev->next = &i->link;
    next->prev = &i->link;
    return 0;
}

static int store_memory_forget(struct chela_store_db *db, const struct chela_store_change *c) {
    struct item *i = store_memory_find_item(db, CHELA_STORE_NOTES, c->id);

    if (!i)
        return CHELA_ENOENT;
    free_item(i);
    return 0;
}

static int store_memory_keep(struct chela_store_db *db, const struct chela_store_change *c) {
    struct item *before = store_memory_find_item(db, KEPT, c->id);

    if (before && c->until && c->token && before->row.ts > c->now)
        return CHELA_EEXIST;
    if (before)
        free_item(before);
    if (!c->until)
        return before ? 0 : CHELA_ENOENT;
    struct item *i = make_item(c, "");
    i->row.ts = c->until;
    ch_list_add(&db->boxes[KEPT], &i->link);
    return 0;
}

static int store_memory_settle(struct chela_store_db *db, const struct chela_store_change *c) {
    struct item *i = store_memory_find_item(db, CHELA_STORE_INBOX, c->id);

    if (!i)
        return CHELA_ENOENT;
    i->done = true;
    return 0;
}

/* Lists are in the order of arrival. */
static int store_memory_expire(struct chela_store_db *db, const struct chela_store_change *c) {
    static const int boxes[] = {CHELA_STORE_INBOX, CHELA_STORE_OUTBOX, KEPT, GONE};
    size_t gone = 0;

    for (size_t b = 0; b < CH_LEN(boxes); b++) {
        int box = boxes[b];
        bool timed = box == KEPT || box == GONE;
        int64_t before = timed ? c->now : c->until;
        struct ch_link *k = db->boxes[box].head.next, *next;
        for (; k != &db->boxes[box].head && gone < CH_LIMIT_EXPIRED; k = next) {
            struct item *i = CH_CONTAINER(k, struct item, link);
            next = k->next;
            bool over = timed || i->done || strcmp(i->row.state, "sent") == 0;
            if (i->row.ts >= before || !over)
                continue;
            free_item(i);
            gone++;
        }
    }
    return gone ? 0 : CHELA_ENOENT;
}

static int store_memory_receipt(struct chela_store_db *db, const struct chela_store_change *c) {
    struct item *i = store_memory_find_item(db, CHELA_STORE_OUTBOX, c->id);

    if (!i)
        return CHELA_ENOENT;
    if (strcmp(i->row.state, "sent") == 0)
        return CHELA_EEXIST;
    set_str(&i->row.state, c->state);
    store_memory_set(&i->row.receipt, c->data, c->n);
    i->row.attempts++;
    return 0;
}

static int store_memory_apply(struct chela_store_db *db, const struct chela_store_change *c) {
    struct session *s = c->key ? store_memory_find(db, c->key) : NULL;

    switch (c->kind) {
    case CHELA_STORE_APPEND:
        return store_memory_append(db, s, c);
    case CHELA_STORE_RENEW:
    case CHELA_STORE_RELEASE:
        return store_memory_lease(s, c);
    case CHELA_STORE_CREATE:
        return store_memory_create(db, s, c);
    case CHELA_STORE_TITLE:
        return title(s, c);
    case CHELA_STORE_DELETE:
        return store_memory_drop(db, s, c);
    case CHELA_STORE_ACCEPT:
        return store_memory_add_item(db, CHELA_STORE_INBOX, c);
    case CHELA_STORE_SETTLE:
        return store_memory_settle(db, c);
    case CHELA_STORE_INTENT:
        return store_memory_add_item(db, CHELA_STORE_OUTBOX, c);
    case CHELA_STORE_RECEIPT:
        return store_memory_receipt(db, c);
    case CHELA_STORE_NOTE:
        return store_memory_note(db, c);
    case CHELA_STORE_FORGET:
        return store_memory_forget(db, c);
    case CHELA_STORE_EXPIRE:
        return store_memory_expire(db, c);
    case CHELA_STORE_KEEP:
        return store_memory_keep(db, c);
    }
    return CHELA_EINVAL;
}

static int memory_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                         int sync, struct chela_error *err) {
    (void)sync, (void)err;
    for (size_t i = 0; i < n; i++)
        changes[i].rc = store_memory_apply(db, &changes[i]);
    return 0;
}

/* --- reading -------------------------------------------------------------------- */

static int memory_open_session(struct chela_store_db *db, const struct chela_store_claim *c,
                               chela_store_session_fn *fn, void *user, struct chela_error *err) {
    struct session *s = store_memory_find(db, c->key);

    if (!s && !c->create)
        return ch_fail(err, CHELA_ENOENT, "there is no session '%s'", c->key);
    if (!s)
        s = store_memory_add_session(db, c->key, c->agent, strlen(c->agent), "", c->now);
    bool holds = *s->row.owner && (c->judge || s->row.until > c->now);
    bool busy = holds && !(c->steal && c->steal == s->row.token);
    if (!busy) {
        set_str(&s->row.owner, c->owner);
        s->row.until = c->until;
        s->row.token++;
    }
    fn(&s->row, user);
    return busy ? ch_fail(err, CHELA_EBUSY, "session '%s' is in use", c->key) : 0;
}

static int memory_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                          void *user, struct chela_error *err) {
    struct session *s = store_memory_find(db, key);

    if (!s)
        return ch_fail(err, CHELA_ENOENT, "there is no session '%s'", key);
    fn(&s->row, user);
    return 0;
}

static bool passes(const struct session *s, const struct chela_store_filter *f) {
    return (!f->prefix || strncmp(s->row.key, f->prefix, strlen(f->prefix)) == 0) &&
           (!f->status || strcmp(s->row.status, f->status) == 0) &&
           (!f->before || s->row.updated < f->before);
}

static bool is_newer(const struct session *a, const struct session *b) {
    if (a->row.updated != b->row.updated)
        return a->row.updated > b->row.updated;
    return a->stamp > b->stamp;
}

/* The newest session older than `than`; NULL: of all. */
static struct session *store_memory_newest(struct chela_store_db *db,
                                           const struct chela_store_filter *f,
                                           const struct session *than) {
    struct session *best = NULL;

    for (CH_LIST_EACH(k, &db->sessions)) {
        struct session *s = CH_CONTAINER(k, struct session, link);
        if (passes(s, f) && (!than || is_newer(than, s)) && (!best || is_newer(s, best)))
            best = s;
    }
    return best;
}

static int memory_list(struct chela_store_db *db, const struct chela_store_filter *f,
                       chela_store_session_fn *fn, void *user, struct chela_error *err) {
    struct session *s = store_memory_newest(db, f, NULL);

    (void)err;
    for (size_t n = 0; s && (!f->limit || n < f->limit); n++) {
        if (fn(&s->row, user))
            return 0;
        s = store_memory_newest(db, f, s);
    }
    return 0;
}

static int memory_records(struct chela_store_db *db, const char *key, uint64_t from,
                          chela_store_record_fn *fn, void *user, struct chela_error *err) {
    struct session *s = store_memory_find(db, key);

    if (!s)
        return ch_fail(err, CHELA_ENOENT, "there is no session '%s'", key);
    for (size_t i = from > s->row.base ? from - s->row.base - 1 : 0; i < s->n; i++)
        if (fn(&s->records[i], user))
            break;
    return 0;
}

static int memory_items(struct chela_store_db *db, enum chela_store_box box,
                        chela_store_item_fn *fn, void *user, struct chela_error *err) {
    (void)err;
    for (CH_LIST_EACH(k, &db->boxes[box])) {
        struct item *i = CH_CONTAINER(k, struct item, link);
        if (!i->done && strcmp(i->row.state, "sent") != 0 && fn(&i->row, user))
            break;
    }
    return 0;
}

static int memory_waiting(struct chela_store_db *db, const char *key, size_t limit,
                          chela_store_item_fn *fn, void *user, struct chela_error *err) {
    (void)err;
    for (CH_LIST_EACH(k, &db->boxes[CHELA_STORE_INBOX])) {
        struct item *i = CH_CONTAINER(k, struct item, link);
        if (i->done || strcmp(i->row.key, key) != 0)
            continue;
        if (limit-- == 0 || fn(&i->row, user))
            break;
    }
    return 0;
}

static int memory_kept(struct chela_store_db *db, const char *id, chela_store_item_fn *fn,
                       void *user, struct chela_error *err) {
    const struct item *i = store_memory_find_item(db, KEPT, id);

    if (!i)
        return ch_fail(err, CHELA_ENOENT, "nothing is kept under '%s'", id);
    fn(&i->row, user);
    return 0;
}

const struct chela_store_ops ch_store_memory = {
    .name = "memory",
    .flags = CHELA_STORE_INSTANT,
    .open = memory_open,
    .close = memory_close,
    .commit = memory_commit,
    .open_session = memory_open_session,
    .session = memory_session,
    .list = memory_list,
    .records = memory_records,
    .items = memory_items,
    .waiting = memory_waiting,
    .kept = memory_kept,
};

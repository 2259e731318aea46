/* store.c -- see chela/store.h: open a store by URL, and the functions that are
 * one call of the backend. portable.c copies whole sessions, prune.c deletes
 * sessions, search.c finds texts. */
#include "store/store.h"

#include <time.h>

#include "agent/handle/agent.h"
#include "agent/handle/session.h"
#include "agent/journal/journal.h"
#include "base/checksum.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/opts.h"
#include "io/module.h"
#include "store/paused_calls.h"

/* --- opening ------------------------------------------------------------------- */

static const struct {
    const char *scheme, *module;
    bool whole; /* the backend gets the whole URL */
} schemes[] = {
    {"memory:", NULL, false},
    {"sqlite:", "store-sqlite", false},
    {"postgres://", "store-postgres", true},
    {"postgresql://", "store-postgres", true},
    {"redis://", "store-redis", true},
    {"rediss://", "store-redis", true},
};

bool ch_store_known(const char *url) {
    for (size_t i = 0; i < CH_LEN(schemes); i++) {
        size_t n = strlen(schemes[i].scheme);
        if (strncmp(url, schemes[i].scheme, n) == 0)
            return !schemes[i].module || schemes[i].whole || url[n];
    }
    return false;
}

static int find_ops(const char *url, const char *module_path, const struct chela_store_ops **ops,
                    const char **target, struct chela_error *err) {
    for (size_t i = 0; i < CH_LEN(schemes); i++) {
        size_t n = strlen(schemes[i].scheme);
        if (strncmp(url, schemes[i].scheme, n) != 0)
            continue;
        *target = schemes[i].whole ? url : url + n;
        if (!schemes[i].module) {
            *ops = &ch_store_memory;
            return 0;
        }
        if (!**target)
            return ch_fail(err, CHELA_EINVAL, "store '%s' names no file", url);
        if (strcmp(*target, ":memory:") == 0) /* SQLite's name for a database in memory */
            return ch_fail(err, CHELA_EINVAL, "store '%s' would be a file: use memory:", url);
        return ch_module_load(schemes[i].module, "store", module_path, (const void **)ops, err);
    }
    return ch_fail(err, CHELA_EINVAL,
                   "store '%.*s...': expected sqlite:PATH, postgres://HOST/DATABASE, redis://HOST "
                   "or memory:",
                   (int)CH_MIN(strcspn(url, ":/"), (size_t)20), url);
}

int chela_store_open(const char *url, const struct chela_store_opts *given, chela_store **out,
                     struct chela_error *err) {
    struct chela_store_opts opts;
    struct chela_error why = {0}, *to = err ? err : &why;
    const struct chela_store_ops *ops;
    const char *target = NULL, *note = NULL;
    struct chela_store_db *db;

    CH_NEEDS_ARG(out, err);
    *out = NULL;
    int rc = CH_OPTS_READ(chela_store_opts, &opts, given, to);
    if (rc == 0)
        rc = find_ops(url, opts.module_path, &ops, &target, to);
    if (rc == 0)
        rc = ops->open(target, opts.read_only, &db, &note, to);
    if (rc < 0)
        return rc;
    chela_store *s = ch_alloc(sizeof(*s));
    atomic_init(&s->refs, 1);
    s->ops = ops;
    s->db = db;
    s->url = ch_strdup(url);
    s->target = s->url + (target - url);
    s->note = note;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->ended, NULL);
    pthread_mutex_init(&s->paused_lock, NULL);
    *out = s;
    return 0;
}

void ch_store_ref(chela_store *store) {
    atomic_fetch_add(&store->refs, 1);
}

void chela_store_close(chela_store *s) {
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    s->ops->close(s->db);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->ended);
    pthread_mutex_destroy(&s->paused_lock);
    ch_paused_sessions_release(&s->paused);
    ch_free(s->url);
    ch_free(s);
}

const char *chela_store_note(const chela_store *store) {
    CH_NEEDS_OR(store, NULL, NULL);
    return store->note;
}

/* --- calls of the backend ----------------------------------------------------------- */

int64_t ch_store_now(void) {
    return ch_now_ms(&ch_clock_system);
}

uint32_t ch_record_sum(const struct chela_store_record *r) {
    uint64_t head[2] = {r->seq, r->type};

    return ch_checksum(ch_checksum(0, head, sizeof(head)), r->data, r->n);
}

int ch_record_damaged(const char *key, uint64_t seq, struct chela_error *err) {
    return ch_fail(err, CHELA_EPARSE, "session '%s' is damaged: record %llu was changed", key,
                   (unsigned long long)seq);
}

/* Waits for the backend. False: another call failed meanwhile, or the store does not answer;
 * never for a patient caller. Not inlined: copies in every call of the backend would double the
 * code of this file. */
__attribute__((noinline)) static bool store_wait(chela_store *s, bool patient) {
    pthread_mutex_lock(&s->lock);
    unsigned failures = s->failures;
    bool refused = !patient && s->gone && (s->busy || s->waits);

    s->waits++;
    while (s->busy && !refused) {
        pthread_cond_wait(&s->ended, &s->lock);
        refused = !patient && s->failures != failures;
    }
    s->waits--;
    s->busy |= !refused;
    pthread_mutex_unlock(&s->lock);
    return !refused;
}

__attribute__((noinline)) int ch_store_enter(chela_store *s, struct chela_error *err) {
    return store_wait(s, false) ? 0 : ch_fail(err, CHELA_ENET, "the store does not answer");
}

__attribute__((noinline)) int ch_store_leave(chela_store *s, int rc) {
    pthread_mutex_lock(&s->lock);
    s->busy = false;
    s->gone = rc == CHELA_ENET;
    s->failures += s->gone;
    if (s->gone)
        pthread_cond_broadcast(&s->ended);
    else
        pthread_cond_signal(&s->ended);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int ch_store_commit(chela_store *s, struct chela_store_change *changes, size_t n, bool sync,
                    struct chela_error *err) {
    int rc = ch_store_enter(s, err);

    return rc < 0 ? rc : ch_store_leave(s, s->ops->commit(s->db, changes, n, sync, err));
}

int ch_store_write(chela_store *s, struct chela_store_change *changes, size_t n, bool sync,
                   struct chela_error *err) {
    store_wait(s, true);
    return ch_store_leave(s, s->ops->commit(s->db, changes, n, sync, err));
}

bool ch_store_may_split(int rc, size_t n) {
    return rc < 0 && rc != CHELA_ENET && rc != CHELA_EBUSY && rc != CHELA_EPROTO && n > 1;
}

void ch_store_commit_apart(chela_store *s, struct chela_store_change *changes, size_t n, bool sync,
                           struct chela_error *errs) {
    for (size_t i = 0; i < n; i++) {
        int rc = ch_store_write(s, &changes[i], 1, sync, &errs[i]);
        if (rc < 0)
            changes[i].rc = rc == CHELA_EBUSY ? CHELA_ETIMEOUT : rc;
    }
}

int ch_store_open_session(chela_store *s, const struct chela_store_claim *claim,
                          chela_store_session_fn *fn, void *user, struct chela_error *err) {
    store_wait(s, true);
    return ch_store_leave(s, s->ops->open_session(s->db, claim, fn, user, err));
}

int chela_store_list(chela_store *s, const struct chela_store_filter *filter,
                     chela_store_session_fn *fn, void *user, struct chela_error *err) {
    CH_NEEDS(s, err);
    struct chela_store_filter own;
    struct chela_error why = {0};
    int rc = CH_OPTS_READ(chela_store_filter, &own, filter, err);

    if (rc == 0)
        rc = ch_store_enter(s, err);
    return rc < 0 ? rc
                  : ch_store_leave(s, s->ops->list(s->db, &own, fn, user, err ? err : &why));
}

int chela_store_session(chela_store *s, const char *key, chela_store_session_fn *fn, void *user,
                        struct chela_error *err) {
    CH_NEEDS(s, err);
    struct chela_error why = {0};

    int rc = ch_store_enter(s, err);
    return rc < 0 ? rc : ch_store_leave(s, s->ops->session(s->db, key, fn, user, err ? err : &why));
}

int chela_store_items(chela_store *s, enum chela_store_box box, chela_store_item_fn *fn,
                      void *user, struct chela_error *err) {
    CH_NEEDS(s, err);
    struct chela_error why = {0};

    if ((unsigned)box > CHELA_STORE_NOTES)
        return ch_fail(err, CHELA_EINVAL, "there is no collection %d", (int)box);
    int rc = ch_store_enter(s, err);
    return rc < 0 ? rc : ch_store_leave(s, s->ops->items(s->db, box, fn, user, err ? err : &why));
}

int ch_store_waiting(chela_store *s, const char *key, size_t limit, chela_store_item_fn *fn,
                     void *user, struct chela_error *err) {
    int rc = ch_store_enter(s, err);
    return rc < 0 ? rc : ch_store_leave(s, s->ops->waiting(s->db, key, limit, fn, user, err));
}

int ch_store_kept(chela_store *s, const char *id, chela_store_item_fn *fn, void *user,
                  struct chela_error *err) {
    int rc = ch_store_enter(s, err);
    return rc < 0 ? rc : ch_store_leave(s, s->ops->kept(s->db, id, fn, user, err));
}

const char *chela_store_record_name(uint32_t type) {
    return ch_record_name(type);
}

/* --- reading records --------------------------------------------------------------------- */

struct check {
    const char *key;
    uint64_t next;
    uint64_t other; /* the first record, if it has another number than `next` */
    uint64_t base;
    chela_store_record_fn *fn;
    void *user;
    int rc;
    struct chela_error *err;
};

static int check_record(const struct chela_store_record *r, void *user) {
    struct check *c = user;

    if (r->seq != c->next) {
        c->other = r->seq;
        return 1;
    }
    if (r->sum != ch_record_sum(r))
        c->rc = ch_record_damaged(c->key, r->seq, c->err);
    if (c->rc < 0)
        return 1;
    c->next++;
    return c->fn(r, c->user);
}

static int check_base(const struct chela_store_session *row, void *user) {
    struct check *c = user;

    c->base = row->base;
    return 0;
}

static int read_records(chela_store *s, struct check *c) {
    c->other = 0;
    int rc = ch_store_enter(s, c->err);
    if (rc == 0)
        rc = ch_store_leave(s, s->ops->records(s->db, c->key, c->next, check_record, c, c->err));
    return rc < 0 ? rc : c->rc;
}

/* The first record has another number: the numbers before it are of sessions that were deleted, or
 * records are missing. */
static int read_other(chela_store *s, struct check *c) {
    int rc = chela_store_session(s, c->key, check_base, c, c->err);

    if (rc < 0)
        return rc;
    if (c->next > 1 && c->next <= c->base)
        return ch_fail(c->err, CHELA_ENOENT, "record %llu is of a session '%s' that was deleted",
                       (unsigned long long)c->next, c->key);
    bool begins = c->next == 1 && c->other == c->base + 1;
    if (begins)
        c->next = c->other;
    rc = begins ? read_records(s, c) : 0;
    return rc < 0 || !c->other
               ? rc
               : ch_fail(c->err, CHELA_EPARSE, "session '%s' is damaged: record %llu is missing",
                         c->key, (unsigned long long)c->next);
}

int chela_store_records(chela_store *s, const char *key, uint64_t from, chela_store_record_fn *fn,
                        void *user, struct chela_error *err) {
    CH_NEEDS(s, err);
    struct chela_error why = {0};
    struct check c = {
        .key = key, .next = from ? from : 1, .fn = fn, .user = user, .err = err ? err : &why};

    int rc = read_records(s, &c);
    return rc == 0 && c.other ? read_other(s, &c) : rc;
}

/* --- examination ---------------------------------------------------------------------------- */

static int check_nothing(const struct chela_store_record *r, void *user) {
    (void)r, (void)user;
    return 0;
}

static int check_sessions(chela_store *s, size_t *n, struct chela_error *err) {
    struct ch_store_keys keys = {0};
    int rc = chela_store_list(s, NULL, ch_keys_add, &keys, err);

    for (size_t i = 0; rc == 0 && i < keys.n; i++) {
        rc = chela_store_records(s, keys.list[i], 1, check_nothing, NULL, err);
        if (rc == CHELA_ENOENT) /* deleted since the list was made */
            rc = 0;
    }
    *n = keys.n;
    ch_keys_release(&keys);
    return rc;
}

int chela_store_check(chela_store *s, size_t *sessions, struct chela_error *err) {
    CH_NEEDS(s, err);
    struct chela_error why = {0}, *to = err ? err : &why;
    size_t n = 0;
    int rc = s->ops->check ? ch_store_enter(s, to) : 0;

    if (rc == 0 && s->ops->check)
        rc = ch_store_leave(s, s->ops->check(s->db, to));
    if (rc == 0)
        rc = check_sessions(s, &n, to);
    if (sessions)
        *sessions = n;
    return rc;
}

int ch_store_purge(chela_store *s, bool whole, const char **remains, struct chela_error *err) {
    *remains = "";
    if (!s->ops->purge)
        return 0;
    int rc = ch_store_enter(s, err);
    return rc < 0 ? rc : ch_store_leave(s, s->ops->purge(s->db, whole, remains, err));
}

/* --- maintenance of sessions ---------------------------------------------------------------- */

void ch_store_give_way(void) {
    const struct timespec moment = {.tv_nsec = 1000 * 1000};

    nanosleep(&moment, NULL);
}

int ch_store_change(chela_store *s, struct chela_store_change *c, struct chela_error *err) {
    int rc = ch_store_commit(s, c, 1, true, err);

    if (rc < 0 || c->rc == 0)
        return rc;
    if (c->rc == CHELA_EBUSY)
        return ch_fail(err, c->rc, "session '%s' is in use", c->key);
    if (c->rc == CHELA_ETIMEOUT)
        return ch_fail(err, c->rc, "session '%s' is locked by another program", c->key);
    return ch_fail(err, c->rc, "there is no session '%s'", c->key);
}

int chela_store_title(chela_store *s, const char *key, const char *title,
                      struct chela_error *err) {
    CH_NEEDS(s, err);
    CH_NEEDS_ARG(title, err);
    struct chela_error why = {0};
    struct chela_store_change c = {.kind = CHELA_STORE_TITLE,
                                   .key = key,
                                   .data = title,
                                   .n = CH_MIN(strlen(title), (size_t)CH_LIMIT_TITLE)};

    return ch_store_change(s, &c, err ? err : &why);
}

int ch_keys_add(const struct chela_store_session *row, void *user) {
    struct ch_store_keys *keys = user;

    if ((keys->n & (keys->n - 1)) == 0) { /* 0 or a power of two: full */
        size_t cap = keys->n ? 2 * keys->n : 1;
        keys->list = ch_realloc(keys->list, cap * sizeof(*keys->list));
        keys->titles = ch_realloc(keys->titles, cap * sizeof(*keys->titles));
    }
    keys->titles[keys->n] = ch_strdup(row->title);
    keys->list[keys->n++] = ch_strdup(row->key);
    return 0;
}

void ch_keys_release(struct ch_store_keys *keys) {
    for (size_t i = 0; i < keys->n; i++) {
        ch_free(keys->list[i]);
        ch_free(keys->titles[i]);
    }
    ch_free(keys->list);
    ch_free(keys->titles);
}

int ch_store_expire(chela_store *s, int64_t before, struct chela_error *err) {
    struct chela_store_change c = {
        .kind = CHELA_STORE_EXPIRE, .until = before, .now = ch_store_now()};
    int rc;

    do /* small transactions, so that others can write */
        rc = ch_store_commit(s, &c, 1, false, err);
    while (rc == 0 && c.rc == 0);
    return rc;
}

/* read.c -- see read.h.
 *
 * An interrupted query continues where it stopped: it remembers the number of
 * the last item, so nothing is delivered twice. */
#include "store/redis/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/redis/db.h"
#include "store/redis/link.h"

#define RECORDS 256        /* requested at a time, while they are small */
#define LARGE (8 * CH_MB)  /* total size above which records are requested one by one */

/* Retry until success or until the call's time is over. */
static int persist(struct chela_store_db *db,
                   int (*step)(struct chela_store_db *db, void *user, struct chela_error *err),
                   void *user, struct chela_error *err) {
    for (unsigned i = 0;; i++) {
        struct chela_error why = {0};
        db->again = false;
        int rc = ch_redis_connect(db, &why);
        if (rc == 0)
            rc = step(db, user, &why);
        if (rc == 0)
            return 0;
        if (!ch_redis_try_again(db, i)) {
            *err = why;
            return rc;
        }
    }
}

/* --- hashes ---------------------------------------------------------------------- */

enum { BASE = 13 }; /* a field of sessions, which those of earlier formats do not have */

static bool is_hash(const redisReply *r, size_t fields) {
    if (r->type != REDIS_REPLY_ARRAY || r->elements != fields)
        return false;
    for (size_t i = 0; i < fields; i++)
        if (r->element[i]->type != REDIS_REPLY_STRING && i != BASE)
            return false;
    return true;
}

static const char *redis_read_str(const redisReply *r, size_t i) {
    return r->element[i]->str;
}

static int64_t num(const redisReply *r, size_t i) {
    return strtoll(r->element[i]->str, NULL, 10);
}

static uint64_t redis_read_count(const redisReply *r, size_t i) {
    return strtoull(r->element[i]->str, NULL, 10);
}

struct batch { /* hashes: one answer per key */
    const char *kind, *fields;
    size_t nfields;
    char *const *keys;
    redisReply **rows;
    size_t n;
};

static void drop_rows(struct batch *b) {
    for (size_t i = 0; i < b->n; i++) {
        freeReplyObject(b->rows[i]);
        b->rows[i] = NULL;
    }
}

static int redis_read_fetch(struct chela_store_db *db, void *user, struct chela_error *err) {
    struct batch *b = user;
    int rc = 0;

    drop_rows(b);
    for (size_t i = 0; rc == 0 && i < b->n; i++) {
        struct ch_redis_cmd cmd = {0};
        ch_redis_add(&cmd, "HMGET", 5);
        ch_redis_addf(&cmd, "%s%s%s", db->url.prefix, b->kind, b->keys[i]);
        ch_redis_add_words(&cmd, b->fields);
        rc = ch_redis_send(db, &cmd, err);
        ch_buf_release(&cmd.args);
    }
    for (size_t i = 0; rc == 0 && i < b->n; i++)
        rc = ch_redis_receive(db, &b->rows[i], err);
    if (rc < 0)
        ch_redis_drop(db); /* unread answers may be in transit */
    return rc;
}

/* --- sessions ---------------------------------------------------------------------- */

#define ROW \
    "agent title status parent created updated last window turns messages owner token until base"
enum { ROW_FIELDS = 14 };

static struct chela_store_session redis_read_session_of(const struct chela_store_db *db,
                                                        const char *key, const redisReply *r) {
    return (struct chela_store_session){
        .key = key,
        .agent = redis_read_str(r, 0),
        .title = redis_read_str(r, 1),
        .status = redis_read_str(r, 2),
        .parent = redis_read_str(r, 3),
        .created = num(r, 4),
        .updated = num(r, 5),
        .last = redis_read_count(r, 6),
        .window = redis_read_count(r, 7),
        .turns = redis_read_count(r, 8),
        .messages = redis_read_count(r, 9),
        .owner = redis_read_str(r, 10),
        .token = redis_read_count(r, 11),
        .until = ch_redis_local_time(db, num(r, 12)),
        .base = r->element[BASE]->str ? redis_read_count(r, BASE) : 0,
    };
}

int ch_redis_row(struct chela_store_db *db, const char *key, uint64_t token,
                 chela_store_session_fn *fn, void *user, struct chela_error *err) {
    char *keys[] = {(char *)key};
    redisReply *row = NULL;
    struct batch b = {"s:", ROW, ROW_FIELDS, keys, &row, 1};
    int rc = persist(db, redis_read_fetch, &b, err);

    if (rc == 0 && is_hash(row, ROW_FIELDS)) {
        struct chela_store_session s = redis_read_session_of(db, key, row);
        s.token = token ? token : s.token;
        fn(&s, user);
    } else if (rc == 0) {
        rc = ch_fail(err, CHELA_ENOENT, "there is no session '%s'", key);
    }
    drop_rows(&b);
    return rc;
}

int ch_redis_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                     void *user, struct chela_error *err) {
    ch_redis_start(db);
    return ch_redis_row(db, key, 0, fn, user, err);
}

/* --- queries over many rows -------------------------------------------------------------- */

struct names { /* the members of a sorted set, in order */
    const char *command, *set;
    const char *max; /* arguments after the set */
    char **list;     /* owned */
    size_t n;
};

static void drop_names(struct names *names) {
    for (size_t i = 0; i < names->n; i++)
        ch_free(names->list[i]);
    ch_free(names->list);
    names->list = NULL;
    names->n = 0;
}

static int fetch_names(struct chela_store_db *db, void *user, struct chela_error *err) {
    struct names *names = user;
    struct ch_redis_cmd cmd = {0};
    redisReply *r = NULL;

    ch_redis_add_words(&cmd, names->command);
    ch_redis_addf(&cmd, "%s%s", db->url.prefix, names->set);
    ch_redis_add_words(&cmd, names->max);
    int rc = ch_redis_call(db, &cmd, &r, err);
    if (rc < 0)
        return rc;
    if (r->type != REDIS_REPLY_ARRAY)
        rc = ch_redis_strange(db, err);
    names->list = ch_alloc((r->elements + 1) * sizeof(*names->list));
    for (size_t i = 0; rc == 0 && i < r->elements; i++)
        names->list[names->n++] = ch_strdup(r->element[i]->str ? r->element[i]->str : "");
    freeReplyObject(r);
    return rc;
}

/* fn returns non-zero to stop. */
typedef int row_fn(struct chela_store_db *db, const char *name, const redisReply *row, void *user);

static int redis_read_walk(struct chela_store_db *db, struct batch *b, char *const *names, size_t n,
                           row_fn *fn, void *user, struct chela_error *err) {
    redisReply *rows[CH_LIMIT_STORE_BATCH] = {NULL};
    bool stop = false;
    int rc = 0;

    b->rows = rows;
    for (size_t at = 0; rc == 0 && !stop && at < n; at += b->n) {
        ch_redis_start(db);
        b->keys = names + at;
        b->n = CH_MIN(n - at, (size_t)CH_LIMIT_STORE_BATCH);
        rc = persist(db, redis_read_fetch, b, err);
        for (size_t i = 0; rc == 0 && !stop && i < b->n; i++)
            if (is_hash(rows[i], b->nfields)) /* otherwise deleted meanwhile */
                stop = fn(db, b->keys[i], rows[i], user);
        drop_rows(b);
    }
    return rc;
}

struct listing {
    const struct chela_store_filter *filter;
    chela_store_session_fn *fn;
    void *user;
    size_t given;
};

static int redis_read_on_row(struct chela_store_db *db, const char *name, const redisReply *row,
                             void *user) {
    struct listing *l = user;
    const struct chela_store_filter *f = l->filter;
    struct chela_store_session s = redis_read_session_of(db, name, row);

    if ((f->status && strcmp(s.status, f->status) != 0) || (f->before && s.updated >= f->before))
        return 0;
    l->given++;
    return l->fn(&s, l->user) || l->given == f->limit;
}

static void keep_prefix(struct names *names, const char *prefix) {
    size_t kept = 0;

    for (size_t i = 0; i < names->n; i++) {
        if (strncmp(names->list[i], prefix, strlen(prefix)) == 0)
            names->list[kept++] = names->list[i];
        else
            ch_free(names->list[i]);
    }
    names->n = kept;
}

/* Read all names at once: a session that changes meanwhile would move in the
 * order. */
int ch_redis_list(struct chela_store_db *db, const struct chela_store_filter *filter,
                  chela_store_session_fn *fn, void *user, struct chela_error *err) {
    bool active = filter->status && strcmp(filter->status, "idle") != 0;
    struct names names = {
        .command = "ZREVRANGE", .set = active ? "active" : "sessions", .max = "0 -1"};
    struct batch b = {.kind = "s:", .fields = ROW, .nfields = ROW_FIELDS};
    struct listing l = {filter, fn, user, 0};
    CH_BUF_AUTO max = {0};

    if (filter->before) {
        ch_buf_addf(&max, "(%lld -inf", (long long)filter->before);
        names.command = "ZREVRANGEBYSCORE";
        names.max = ch_buf_str(&max);
    }
    ch_redis_start(db);
    int rc = persist(db, fetch_names, &names, err);
    if (rc == 0 && filter->prefix)
        keep_prefix(&names, filter->prefix);
    if (rc == 0)
        rc = redis_read_walk(db, &b, names.list, names.n, redis_read_on_row, &l, err);
    drop_names(&names);
    return rc;
}

/* --- inbox and outbox ------------------------------------------------------------------ */

struct items {
    chela_store_item_fn *fn;
    void *user;
};

static int redis_read_on_item(struct chela_store_db *db, const char *name, const redisReply *row,
                              void *user) {
    struct items *w = user;
    struct chela_store_item i = {
        .id = name,
        .key = redis_read_str(row, 0),
        .state = redis_read_str(row, 1),
        .data = redis_read_str(row, 2),
        .n = row->element[2]->len,
        .receipt = redis_read_str(row, 3),
        .ts = num(row, 4),
        .attempts = redis_read_count(row, 5),
    };

    (void)db;
    /* settled since its name was read: its data is gone */
    if (strcmp(i.state, "done") == 0 || strcmp(i.state, "sent") == 0)
        return 0;
    return w->fn(&i, w->user);
}

static const char *const item_fields = "key state data receipt ts attempts";

int ch_redis_items(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                   void *user, struct chela_error *err) {
    static const char *const sets[] = {"inbox", "outbox", "notes"};
    static const char *const kinds[] = {"i:", "o:", "n:"};
    struct names names = {.command = "ZRANGE", .set = sets[box], .max = "0 -1"};
    struct batch b = {.kind = kinds[box], .fields = item_fields, .nfields = 6};
    struct items w = {fn, user};

    ch_redis_start(db);
    int rc = persist(db, fetch_names, &names, err);
    CH_AUTOFREE char **ids = ch_alloc((names.n + 1) * sizeof(*ids));
    for (size_t i = 0; i < names.n; i++) { /* NUMBER:ID */
        char *colon = strchr(names.list[i], ':');
        ids[i] = colon ? colon + 1 : names.list[i];
    }
    if (rc == 0)
        rc = redis_read_walk(db, &b, ids, names.n, redis_read_on_item, &w, err);
    drop_names(&names);
    return rc;
}

int ch_redis_waiting(struct chela_store_db *db, const char *key, size_t limit,
                     chela_store_item_fn *fn, void *user, struct chela_error *err) {
    CH_BUF_AUTO set = {0}, range = {0};
    struct batch b = {.kind = "i:", .fields = item_fields, .nfields = 6};
    struct items w = {fn, user};

    ch_buf_addf(&set, "i-new:%s", key);
    ch_buf_addf(&range, "0 %zu", limit - 1);
    struct names names = {
        .command = "ZRANGE", .set = ch_buf_str(&set), .max = ch_buf_str(&range)};
    ch_redis_start(db);
    int rc = persist(db, fetch_names, &names, err);
    if (rc == 0)
        rc = redis_read_walk(db, &b, names.list, names.n, redis_read_on_item, &w, err);
    drop_names(&names);
    return rc;
}

struct kept {
    struct items items;
    bool seen;
};

static int redis_read_on_kept(struct chela_store_db *db, const char *name, const redisReply *row,
                              void *user) {
    struct kept *k = user;

    k->seen = true;
    return redis_read_on_item(db, name, row, &k->items);
}

int ch_redis_kept(struct chela_store_db *db, const char *id, chela_store_item_fn *fn, void *user,
                  struct chela_error *err) {
    struct batch b = {.kind = "k:", .fields = item_fields, .nfields = 6};
    struct kept k = {{fn, user}, false};
    CH_AUTOFREE char *name = ch_strdup(id);
    int rc = redis_read_walk(db, &b, &name, 1, redis_read_on_kept, &k, err);

    return rc == 0 && !k.seen ? ch_fail(err, CHELA_ENOENT, "nothing is kept under '%s'", id) : rc;
}

/* --- records ------------------------------------------------------------------------- */

struct piece {
    const char *key;
    uint64_t from, last, base;
    size_t n;
    redisReply *r; /* owned */
};

static int fetch_last(struct chela_store_db *db, void *user, struct chela_error *err) {
    struct piece *p = user;
    struct ch_redis_cmd cmd = {0};
    redisReply *r = NULL;

    ch_redis_add(&cmd, "HMGET", 5);
    ch_redis_addf(&cmd, "%ss:%s", db->url.prefix, p->key);
    ch_redis_add_words(&cmd, "last base");
    int rc = ch_redis_call(db, &cmd, &r, err);
    if (rc < 0)
        return rc;
    if (r->type == REDIS_REPLY_ARRAY && r->elements == 2 && r->element[0]->str) {
        p->last = redis_read_count(r, 0);
        p->base = r->element[1]->str ? redis_read_count(r, 1) : 0;
        p->from = CH_MAX(p->from, p->base + 1);
    } else
        rc = ch_fail(err, CHELA_ENOENT, "there is no session '%s'", p->key);
    freeReplyObject(r);
    return rc;
}

static int fetch_piece(struct chela_store_db *db, void *user, struct chela_error *err) {
    struct piece *p = user;
    struct ch_redis_cmd cmd = {0};

    ch_redis_add(&cmd, "LRANGE", 6);
    ch_redis_addf(&cmd, "%sr:%s", db->url.prefix, p->key);
    uint64_t first = p->from - p->base - 1;
    ch_redis_addf(&cmd, "%llu", (unsigned long long)first);
    ch_redis_addf(&cmd, "%llu", (unsigned long long)(first + p->n - 1));
    int rc = ch_redis_call(db, &cmd, &p->r, err);
    if (rc == CHELA_ELIMIT && p->n > 1) { /* continue one by one */
        p->n = 1;
        db->again = true;
    }
    return rc;
}

/* "SEQ TYPE TS SUM DATA" */
static bool redis_read_record(const redisReply *r, struct chela_store_record *out) {
    char *at = r->type == REDIS_REPLY_STRING ? r->str : NULL, *end;
    unsigned long long parts[4];

    for (size_t i = 0; at && i < CH_LEN(parts); i++) {
        parts[i] = strtoull(at, &end, 10); /* strtoull reads "-5" as its complement */
        at = end != at && *end == ' ' ? end + 1 : NULL;
    }
    if (!at)
        return false;
    *out = (struct chela_store_record){.seq = parts[0],
                                       .type = (uint32_t)parts[1],
                                       .ts = (int64_t)parts[2],
                                       .sum = (uint32_t)parts[3],
                                       .data = at,
                                       .n = r->len - (size_t)(at - r->str)};
    return true;
}

static int give_out(struct piece *p, chela_store_record_fn *fn, void *user, bool *stop,
                    struct chela_error *err) {
    size_t bytes = 0;

    if (p->r->type != REDIS_REPLY_ARRAY || p->r->elements == 0)
        return ch_fail(err, CHELA_EPARSE, "session '%s' is damaged: record %llu is missing",
                       p->key, (unsigned long long)p->from);
    for (size_t i = 0; !*stop && i < p->r->elements; i++) {
        struct chela_store_record record;
        if (!redis_read_record(p->r->element[i], &record))
            return ch_fail(err, CHELA_EPARSE, "session '%s' is damaged: record %llu was changed",
                           p->key, (unsigned long long)p->from);
        *stop = fn(&record, user);
        bytes += p->r->element[i]->len;
        p->from++;
    }
    p->n = bytes > LARGE ? 1 : RECORDS;
    return 0;
}

int ch_redis_records(struct chela_store_db *db, const char *key, uint64_t from,
                     chela_store_record_fn *fn, void *user, struct chela_error *err) {
    struct piece p = {.key = key, .from = from ? from : 1, .n = RECORDS};
    bool stop = false;

    ch_redis_start(db);
    int rc = persist(db, fetch_last, &p, err);
    while (rc == 0 && !stop && p.from <= p.last) {
        ch_redis_start(db);
        rc = persist(db, fetch_piece, &p, err);
        if (rc == 0)
            rc = give_out(&p, fn, user, &stop, err);
        freeReplyObject(p.r);
        p.r = NULL;
    }
    return rc;
}

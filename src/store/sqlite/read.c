/* read.c -- see read.h. */
#include "store/sqlite/read.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/sqlite/db.h"

static struct chela_store_session sqlite_read_session_of(sqlite3_stmt *s) {
    return (struct chela_store_session){
        .key = ch_sqlite_text(s, 0),
        .agent = ch_sqlite_text(s, 1),
        .title = ch_sqlite_text(s, 2),
        .status = ch_sqlite_text(s, 3),
        .parent = ch_sqlite_text(s, 4),
        .created = sqlite3_column_int64(s, 5),
        .updated = sqlite3_column_int64(s, 6),
        .last = (uint64_t)sqlite3_column_int64(s, 7),
        .window = (uint64_t)sqlite3_column_int64(s, 8),
        .turns = (uint64_t)sqlite3_column_int64(s, 9),
        .messages = (uint64_t)sqlite3_column_int64(s, 10),
        .owner = ch_sqlite_text(s, 11),
        .token = (uint64_t)sqlite3_column_int64(s, 12),
        .until = sqlite3_column_int64(s, 13),
        .base = (uint64_t)sqlite3_column_int64(s, 14),
    };
}

/* SQLITE_ROW: the caller stopped the query. */
static int sqlite_read_finish(struct chela_store_db *db, sqlite3_stmt *stmt, int rc,
                              struct chela_error *err) {
    sqlite3_reset(stmt);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : ch_sqlite_fail(db, rc, err);
}

static int walk_sessions(struct chela_store_db *db, sqlite3_stmt *stmt, size_t *n,
                         chela_store_session_fn *fn, void *user, struct chela_error *err) {
    int rc;

    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct chela_store_session s = sqlite_read_session_of(stmt);
        ++*n;
        if (fn(&s, user))
            break;
    }
    return sqlite_read_finish(db, stmt, rc, err);
}

int ch_sqlite_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                      void *user, struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_ROW, err);
    size_t n = 0;

    if (!stmt)
        return err->code;
    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    int rc = walk_sessions(db, stmt, &n, fn, user, err);
    return rc == 0 && n == 0 ? ch_fail(err, CHELA_ENOENT, "there is no session '%s'", key) : rc;
}

/* The first text after all texts with this prefix. Texts are compared byte by byte, and no
 * byte of UTF-8 is 0xff. */
static char *after_prefix(const char *prefix) {
    char *end = ch_strdup(prefix);

    end[strlen(end) - 1]++;
    return end;
}

int ch_sqlite_list(struct chela_store_db *db, const struct chela_store_filter *filter,
                   chela_store_session_fn *fn, void *user, struct chela_error *err) {
    bool active = filter->status && strcmp(filter->status, "idle") != 0;
    const char *prefix = filter->prefix && *filter->prefix ? filter->prefix : NULL;
    sqlite3_stmt *stmt =
        ch_sqlite_take(db, active ? S_LIST_ACTIVE : prefix ? S_LIST_PREFIX : S_LIST, err);
    CH_AUTOFREE char *end = prefix ? after_prefix(prefix) : NULL;
    size_t n = 0;

    if (!stmt)
        return err->code;
    sqlite3_bind_text(stmt, 1, prefix, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, filter->status, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 3, filter->before ? filter->before : INT64_MAX);
    sqlite3_bind_int64(stmt, 4, filter->limit ? (int64_t)filter->limit : -1);
    if (sqlite3_bind_parameter_count(stmt) >= 5)
        sqlite3_bind_text(stmt, 5, end, -1, SQLITE_STATIC);
    return walk_sessions(db, stmt, &n, fn, user, err);
}

static int find_id(struct chela_store_db *db, const char *key, int64_t *out,
                   struct chela_error *err) {
    sqlite3_stmt *stmt = ch_sqlite_take(db, S_FIND, err);

    if (!stmt)
        return err->code;
    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    int rc = sqlite3_step(stmt);
    *out = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_reset(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return ch_sqlite_fail(db, rc, err);
    return rc == SQLITE_ROW ? 0 : ch_fail(err, CHELA_ENOENT, "there is no session '%s'", key);
}

/* The columns of S_RECORDS and S_SCAN; id: the first one. */
static struct chela_store_record sqlite_read_record_of(sqlite3_stmt *s, int64_t id) {
    return (struct chela_store_record){
        .seq = (uint64_t)(id & SEQ_MAX),
        .type = (uint32_t)sqlite3_column_int64(s, 1),
        .ts = sqlite3_column_int64(s, 2),
        .sum = (uint32_t)sqlite3_column_int64(s, 3),
        .data = ch_sqlite_text(s, 4),
        .n = (size_t)sqlite3_column_bytes(s, 4),
    };
}

int ch_sqlite_records(struct chela_store_db *db, const char *key, uint64_t from,
                      chela_store_record_fn *fn, void *user, struct chela_error *err) {
    int64_t id;
    int rc = find_id(db, key, &id, err);
    sqlite3_stmt *stmt = rc == 0 ? ch_sqlite_take(db, S_RECORDS, err) : NULL;

    if (!stmt)
        return err->code;
    sqlite3_bind_int64(stmt, 1, id << SEQ_BITS | (int64_t)from);
    sqlite3_bind_int64(stmt, 2, id << SEQ_BITS | SEQ_MAX);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct chela_store_record r = sqlite_read_record_of(stmt, sqlite3_column_int64(stmt, 0));
        if (fn(&r, user))
            break;
    }
    return sqlite_read_finish(db, stmt, rc, err);
}

/* Both queries are in the order of sessions. One pass over the records costs less than a
 * search for the records of each session. At a record of a session that is not listed, the
 * records up to the next listed session are skipped. The end of the sessions ends the pass: an
 * end in the query of the records would be compared with each record. */
static int scan_records(sqlite3_stmt *records, sqlite3_stmt *sessions, chela_store_scan_fn *fn,
                        void *user) {
    const char *key = "", *agent = ""; /* of the listed session */
    int64_t listed = 0;
    int rc;

    while ((rc = sqlite3_step(records)) == SQLITE_ROW) {
        int64_t place = sqlite3_column_int64(records, 0), id = place >> SEQ_BITS;
        while (listed < id && (rc = sqlite3_step(sessions)) == SQLITE_ROW) {
            listed = sqlite3_column_int64(sessions, 0);
            key = ch_sqlite_text(sessions, 1);
            agent = ch_sqlite_text(sessions, 2);
        }
        if (rc != SQLITE_ROW)
            return rc;
        if (listed > id) {
            sqlite3_reset(records);
            sqlite3_bind_int64(records, 1, listed << SEQ_BITS);
            continue;
        }
        struct chela_store_record r = sqlite_read_record_of(records, place);
        if (fn(key, agent, &r, user))
            return rc;
    }
    return rc;
}

int ch_sqlite_scan(struct chela_store_db *db, int64_t since, uint64_t types, uint64_t *at,
                   chela_store_scan_fn *fn, void *user, struct chela_error *err) {
    sqlite3_stmt *records = ch_sqlite_take(db, S_SCAN, err);
    sqlite3_stmt *sessions = records ? ch_sqlite_take(db, S_SCAN_SESSIONS, err) : NULL;
    int64_t first = (int64_t)*at;

    if (!sessions)
        return err->code;
    *at += CH_LIMIT_SCAN_SESSIONS;
    sqlite3_bind_int64(sessions, 1, first);
    sqlite3_bind_int64(sessions, 2, (int64_t)*at);
    sqlite3_bind_int64(sessions, 3, since);
    sqlite3_bind_int64(records, 1, (first + 1) << SEQ_BITS);
    sqlite3_bind_int64(records, 2, (int64_t)types);
    int rc = scan_records(records, sessions, fn, user);
    /* The query of the records stands at a later session, unless all records were read. */
    bool left = rc == SQLITE_DONE && sqlite3_stmt_busy(records) &&
                (int64_t)*at < INT64_MAX >> SEQ_BITS;
    sqlite3_reset(sessions);
    rc = sqlite_read_finish(db, records, rc, err);
    return rc < 0 ? rc : left;
}

static int walk_items(struct chela_store_db *db, sqlite3_stmt *s, chela_store_item_fn *fn,
                      void *user, struct chela_error *err) {
    int rc;

    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct chela_store_item item = {
            .id = ch_sqlite_text(s, 0),
            .key = ch_sqlite_text(s, 1),
            .state = ch_sqlite_text(s, 2),
            .data = ch_sqlite_text(s, 3),
            .n = (size_t)sqlite3_column_bytes(s, 3),
            .receipt = ch_sqlite_text(s, 4),
            .ts = sqlite3_column_int64(s, 5),
            .attempts = (uint64_t)sqlite3_column_int64(s, 6),
        };
        if (fn(&item, user))
            break;
    }
    return sqlite_read_finish(db, s, rc, err);
}

int ch_sqlite_items(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                    void *user, struct chela_error *err) {
    static const enum statement which[] = {S_INBOX, S_OUTBOX, S_NOTES};
    sqlite3_stmt *s;

    if (box == CHELA_STORE_NOTES && db->read_only && db->version < 2)
        return 0;
    s = ch_sqlite_take(db, which[box], err);
    return s ? walk_items(db, s, fn, user, err) : err->code;
}

int ch_sqlite_waiting(struct chela_store_db *db, const char *key, size_t limit,
                      chela_store_item_fn *fn, void *user, struct chela_error *err) {
    sqlite3_stmt *s = ch_sqlite_take(db, S_WAITING, err);

    if (!s)
        return err->code;
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, (int64_t)limit);
    return walk_items(db, s, fn, user, err);
}

struct kept {
    chela_store_item_fn *fn;
    void *user;
    bool seen;
};

static int sqlite_read_pass_on(const struct chela_store_item *i, void *user) {
    struct kept *k = user;

    k->seen = true;
    return k->fn(i, k->user);
}

int ch_sqlite_kept(struct chela_store_db *db, const char *id, chela_store_item_fn *fn, void *user,
                   struct chela_error *err) {
    struct kept k = {fn, user, false};
    sqlite3_stmt *s = ch_sqlite_take(db, S_KEPT, err);

    if (!s)
        return err->code;
    sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
    int rc = walk_items(db, s, sqlite_read_pass_on, &k, err);
    return rc == 0 && !k.seen ? ch_fail(err, CHELA_ENOENT, "nothing is kept under '%s'", id) : rc;
}

/* read.c -- see read.h. A query that fails before its first row is repeated; a
 * later failure is an error, since no row may be delivered twice. */
#include "store/postgres/read.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/postgres/db.h"
#include "store/postgres/link.h"

static int postgres_read_attempt(struct chela_store_db *db, const struct ch_pg_reading *r,
                                 struct chela_error *err) {
    CH_BUF_AUTO begin = {0};
    int rc = ch_pg_connect(db, err);

    ch_buf_addf(&begin, "BEGIN READ ONLY; SET LOCAL statement_timeout = %d",
                CH_LIMIT_STORE_ANSWER_MS);
    if (rc == 0)
        rc = ch_pg_script(db, ch_buf_str(&begin), NULL, err);
    if (rc == 0)
        rc = ch_pg_walk(db, r->sql, r->args, r->nargs, r->row, r->user, err);
    if (rc == 0 && db->conn) /* NULL if the caller stopped the query */
        rc = ch_pg_script(db, "COMMIT", NULL, err);
    return rc;
}

int ch_pg_read(struct chela_store_db *db, const struct ch_pg_reading *r, const size_t *seen,
               struct chela_error *err) {
    ch_pg_start(db);
    for (unsigned i = 0;; i++) {
        struct chela_error why = {0};
        db->again = false;
        int rc = postgres_read_attempt(db, r, &why);
        if (rc == 0)
            return 0;
        if (*seen || !ch_pg_try_again(db, i)) {
            *err = why;
            return rc;
        }
    }
}

/* --- sessions ---------------------------------------------------------------- */

static uint64_t postgres_read_count(const PGresult *res, int column) {
    return (uint64_t)ch_pg_int(res, column);
}

struct chela_store_session ch_pg_session_of(const struct chela_store_db *db, const PGresult *res) {
    return (struct chela_store_session){
        .key = PQgetvalue(res, 0, 0),
        .agent = PQgetvalue(res, 0, 1),
        .title = PQgetvalue(res, 0, 2),
        .status = PQgetvalue(res, 0, 3),
        .parent = PQgetvalue(res, 0, 4),
        .created = ch_pg_int(res, 5),
        .updated = ch_pg_int(res, 6),
        .last = postgres_read_count(res, 7),
        .window = postgres_read_count(res, 8),
        .turns = postgres_read_count(res, 9),
        .messages = postgres_read_count(res, 10),
        .owner = PQgetvalue(res, 0, 11),
        .token = postgres_read_count(res, 12),
        .until = ch_pg_local_time(db, ch_pg_int(res, 13)),
        .base = postgres_read_count(res, 14),
    };
}

struct sessions {
    struct chela_store_db *db;
    chela_store_session_fn *fn;
    void *user;
    size_t seen;
};

static int postgres_read_on_session(const PGresult *row, void *user) {
    struct sessions *w = user;
    struct chela_store_session s = ch_pg_session_of(w->db, row);

    w->seen++;
    return w->fn(&s, w->user);
}

int ch_pg_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                  void *user, struct chela_error *err) {
    struct sessions w = {db, fn, user, 0};
    struct ch_pg_arg args[] = {ch_pg_text(key)};
    CH_BUF_AUTO sql = {0};

    ch_buf_addf(&sql, "%s FROM chela.sessions WHERE key = $1", CH_PG_ROW(db));
    struct ch_pg_reading r = {ch_buf_str(&sql), args, CH_LEN(args), postgres_read_on_session, &w};
    int rc = ch_pg_read(db, &r, &w.seen, err);

    return rc == 0 && w.seen == 0 ? ch_fail(err, CHELA_ENOENT, "there is no session '%s'", key)
                                  : rc;
}

int ch_pg_list(struct chela_store_db *db, const struct chela_store_filter *filter,
               chela_store_session_fn *fn, void *user, struct chela_error *err) {
    struct sessions w = {db, fn, user, 0};
    struct ch_pg_arg args[] = {ch_pg_text(filter->prefix), ch_pg_text(filter->status),
                               ch_pg_number(filter->before),
                               ch_pg_number(filter->limit ? (int64_t)filter->limit : INT64_MAX)};
    CH_BUF_AUTO sql = {0};

    ch_buf_addf(&sql,
                "%s FROM chela.sessions WHERE ($1 IS NULL OR starts_with(key, $1))"
                " AND ($2 IS NULL OR status = $2) AND ($3 = 0 OR updated < $3)"
                " ORDER BY updated DESC, id DESC LIMIT $4",
                CH_PG_ROW(db));
    struct ch_pg_reading r = {ch_buf_str(&sql), args, CH_LEN(args), postgres_read_on_session, &w};

    return ch_pg_read(db, &r, &w.seen, err);
}

/* --- records ------------------------------------------------------------------ */

struct records {
    chela_store_record_fn *fn;
    void *user;
    size_t seen;
};

/* The columns seq, type, ts, sum and data. */
static struct chela_store_record postgres_read_record_of(const PGresult *row) {
    return (struct chela_store_record){
        .seq = postgres_read_count(row, 0),
        .type = (uint32_t)ch_pg_int(row, 1),
        .ts = ch_pg_int(row, 2),
        .sum = (uint32_t)ch_pg_int(row, 3),
        .data = PQgetvalue(row, 0, 4),
        .n = (size_t)PQgetlength(row, 0, 4),
    };
}

/* A session without records from that seq on gives one row of nulls. */
static int postgres_read_on_record(const PGresult *row, void *user) {
    struct records *w = user;
    struct chela_store_record r = postgres_read_record_of(row);

    w->seen++;
    return PQgetisnull(row, 0, 0) ? 0 : w->fn(&r, w->user);
}

int ch_pg_records(struct chela_store_db *db, const char *key, uint64_t from,
                  chela_store_record_fn *fn, void *user, struct chela_error *err) {
    struct records w = {fn, user, 0};
    struct ch_pg_arg args[] = {ch_pg_text(key), ch_pg_number((int64_t)from)};
    struct ch_pg_reading r = {
        "SELECT r.seq, r.type, r.ts, r.sum, r.data FROM chela.sessions s LEFT JOIN chela.records r"
        " ON r.session = s.id AND r.seq >= $2 WHERE s.key = $1 ORDER BY r.seq",
        args, CH_LEN(args), postgres_read_on_record, &w};
    int rc = ch_pg_read(db, &r, &w.seen, err);

    return rc == 0 && w.seen == 0 ? ch_fail(err, CHELA_ENOENT, "there is no session '%s'", key)
                                  : rc;
}

/* --- records of many sessions ------------------------------------------------------- */

struct scan {
    chela_store_scan_fn *fn;
    void *user;
    size_t seen;
    bool stopped;
};

static int postgres_read_on_newest(const PGresult *row, void *user) {
    *(int64_t *)user = PQgetisnull(row, 0, 0) ? 0 : ch_pg_int(row, 0);
    return 0;
}

static int postgres_read_on_scanned(const PGresult *row, void *user) {
    struct scan *w = user;
    struct chela_store_record r = postgres_read_record_of(row);

    w->seen++;
    w->stopped = w->fn(PQgetvalue(row, 0, 5), PQgetvalue(row, 0, 6), &r, w->user) != 0;
    return w->stopped;
}

int ch_pg_scan(struct chela_store_db *db, int64_t since, uint64_t types, uint64_t *at,
               chela_store_scan_fn *fn, void *user, struct chela_error *err) {
    struct scan w = {.fn = fn, .user = user};
    size_t none = 0;
    int64_t first = (int64_t)*at, newest = 0;
    struct ch_pg_reading last = {.sql = "SELECT max(id) FROM chela.sessions",
                                 .row = postgres_read_on_newest,
                                 .user = &newest};
    int rc = ch_pg_read(db, &last, &none, err);

    *at += CH_LIMIT_SCAN_SESSIONS;
    struct ch_pg_arg args[] = {ch_pg_number(first), ch_pg_number((int64_t)*at),
                               ch_pg_number(since), ch_pg_number((int64_t)types)};
    struct ch_pg_reading r = {
        "SELECT r.seq, r.type, r.ts, r.sum, r.data, s.key, s.agent FROM chela.sessions s"
        " JOIN chela.records r ON r.session = s.id WHERE s.id > $1 AND s.id <= $2"
        " AND s.updated >= $3 AND $4 >> r.type::int & 1 = 1 ORDER BY s.id, r.seq",
        args, CH_LEN(args), postgres_read_on_scanned, &w};
    if (rc == 0)
        rc = ch_pg_read(db, &r, &w.seen, err);
    return rc < 0 ? rc : !w.stopped && (int64_t)*at < newest;
}

/* --- inbox and outbox ------------------------------------------------------------ */

struct items {
    chela_store_item_fn *fn;
    void *user;
    size_t seen;
};

static int postgres_read_on_item(const PGresult *row, void *user) {
    struct items *w = user;
    struct chela_store_item item = {
        .id = PQgetvalue(row, 0, 0),
        .key = PQgetvalue(row, 0, 1),
        .state = PQgetvalue(row, 0, 2),
        .data = PQgetvalue(row, 0, 3),
        .n = (size_t)PQgetlength(row, 0, 3),
        .receipt = PQgetvalue(row, 0, 4),
        .ts = ch_pg_int(row, 5),
        .attempts = postgres_read_count(row, 6),
    };

    w->seen++;
    return w->fn(&item, w->user);
}

int ch_pg_items(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                void *user, struct chela_error *err) {
    struct items w = {fn, user, 0};
    static const char *const sql[] = {
        [CHELA_STORE_INBOX] = "SELECT id, key, state, data, '', ts, 0 FROM chela.inbox"
                              " WHERE state <> 'done' ORDER BY number",
        [CHELA_STORE_OUTBOX] = "SELECT id, key, state, data, receipt, ts, attempts FROM"
                               " chela.outbox WHERE state <> 'sent' ORDER BY number",
        [CHELA_STORE_NOTES] = "SELECT id, key, '', data, '', ts, 0 FROM chela.notes ORDER BY id",
    };
    struct ch_pg_reading r = {.sql = sql[box], .row = postgres_read_on_item, .user = &w};

    if (box == CHELA_STORE_NOTES && db->read_only && db->version < 2)
        return 0;
    return ch_pg_read(db, &r, &w.seen, err);
}

int ch_pg_waiting(struct chela_store_db *db, const char *key, size_t limit,
                  chela_store_item_fn *fn, void *user, struct chela_error *err) {
    struct items w = {fn, user, 0};
    struct ch_pg_arg args[] = {ch_pg_text(key), ch_pg_number((int64_t)limit)};
    struct ch_pg_reading r = {"SELECT id, key, state, data, '', ts, 0 FROM chela.inbox"
                              " WHERE key = $1 AND state <> 'done' ORDER BY number LIMIT $2",
                              args, CH_LEN(args), postgres_read_on_item, &w};

    return ch_pg_read(db, &r, &w.seen, err);
}

int ch_pg_kept(struct chela_store_db *db, const char *id, chela_store_item_fn *fn, void *user,
               struct chela_error *err) {
    struct items w = {fn, user, 0};
    struct ch_pg_arg arg = ch_pg_text(id);
    struct ch_pg_reading r = {"SELECT id, '', '', data, '', until, 0 FROM chela.kept"
                              " WHERE id = $1",
                              &arg, 1, postgres_read_on_item, &w};
    int rc = ch_pg_read(db, &r, &w.seen, err);

    return rc == 0 && w.seen == 0 ? ch_fail(err, CHELA_ENOENT, "nothing is kept under '%s'", id)
                                  : rc;
}

/* change.c -- see change.h.
 *
 * A guard is part of the statement that writes: a refused change has written
 * nothing, and the other changes of the transaction remain. The reason for a
 * refusal is queried afterwards. */
#include "store/postgres/change.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/past.h"
#include "store/postgres/db.h"
#include "store/postgres/feed.h"
#include "store/postgres/link.h"
#include "store/postgres/read.h"

/* Run a statement; returns the number of changed rows, negative on error (see
 * err). */
static int postgres_change_exec(struct chela_store_db *db, const char *sql,
                                const struct ch_pg_arg *args, size_t n, bool *changed,
                                struct chela_error *err) {
    PGresult *res;
    int rc = ch_pg_query(db, sql, args, n, &res, err);

    if (rc < 0)
        return rc;
    *changed = strcmp(PQcmdTuples(res), "0") != 0;
    PQclear(res);
    return 0;
}

#define CHANGE(db, sql, changed, err, ...)                                                     \
    postgres_change_exec(db, sql, (struct ch_pg_arg[]){__VA_ARGS__},                           \
                         sizeof((struct ch_pg_arg[]){__VA_ARGS__}) / sizeof(struct ch_pg_arg), \
                         changed, err)

/* --- changes: return 0 or an error of the database; c->rc is the change's own -------- */

static int postgres_change_why_not(struct chela_store_db *db, struct chela_store_change *c,
                                   struct chela_error *err) {
    struct ch_pg_arg args[] = {ch_pg_text(c->key), ch_pg_number((int64_t)c->token)};
    PGresult *res;
    int rc = ch_pg_query(db, "SELECT token = $2 FROM chela.sessions WHERE key = $1", args, 2, &res,
                         err);

    if (rc < 0)
        return rc;
    c->rc = PQntuples(res) == 0                ? CHELA_ENOENT
            : PQgetvalue(res, 0, 0)[0] == 'f' ? CHELA_EPERM
                                              : CHELA_ESTATE;
    PQclear(res);
    return 0;
}

static int add_records(struct chela_store_db *db, int64_t session,
                       const struct chela_store_record *r, size_t n, struct chela_error *err) {
    CH_AUTOFREE struct ch_pg_arg *args = ch_malloc((5 * n + 1) * sizeof(*args));
    CH_BUF_AUTO sql = {0};

    ch_buf_add_str(&sql, "INSERT INTO chela.records(session, seq, type, ts, sum, data) VALUES");
    args[0] = ch_pg_number(session);
    for (size_t i = 0; i < n; i++) {
        size_t at = 5 * i + 1;
        ch_buf_addf(&sql, "%s($1, $%zu, $%zu, $%zu, $%zu, $%zu)", i ? ", " : " ", at + 1, at + 2,
                    at + 3, at + 4, at + 5);
        args[at] = ch_pg_number((int64_t)r[i].seq);
        args[at + 1] = ch_pg_number(r[i].type);
        args[at + 2] = ch_pg_number(r[i].ts);
        args[at + 3] = ch_pg_number(r[i].sum);
        args[at + 4] = ch_pg_data(r[i].data, r[i].n);
    }
    return ch_pg_query(db, ch_buf_str(&sql), args, 5 * n + 1, NULL, err);
}

/* The number of records for one statement: at least one. */
static size_t batch_of(const struct chela_store_record *r, size_t n) {
    size_t bytes = 0, i = 0;

    while (i < n && i < CH_LIMIT_STORE_BATCH && (i == 0 || bytes + r[i].n <= CH_LIMIT_RECORD))
        bytes += r[i++].n;
    return i;
}

static int postgres_change_settle(struct chela_store_db *db, struct chela_store_change *c,
                                  struct chela_error *err);
static int intent(struct chela_store_db *db, struct chela_store_change *c,
                  struct chela_error *err);

/* Lock the events that the change takes up; c->rc if one does not wait for its session. */
static int postgres_change_lock_takes(struct chela_store_db *db, struct chela_store_change *c,
                                      struct chela_error *err) {
    int rc = 0;

    c->rc = 0;
    for (size_t i = 0; rc == 0 && c->rc == 0 && i < c->ntakes; i++) {
        bool there = false;
        rc = CHANGE(db,
                    "SELECT FROM chela.inbox WHERE id = $1 AND key = $2 AND state <> 'done'"
                    " FOR UPDATE",
                    &there, err, ch_pg_text(c->takes[i]), ch_pg_text(c->key));
        c->rc = there ? 0 : CHELA_EEXIST;
    }
    return rc;
}

static int postgres_change_mail(struct chela_store_db *db, const struct chela_store_change *c,
                                struct chela_error *err) {
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->ntakes; i++) {
        struct chela_store_change settle = {.id = c->takes[i]};
        rc = postgres_change_settle(db, &settle, err);
    }
    for (size_t i = 0; rc == 0 && i < c->nsends; i++) {
        struct chela_store_send *m = &c->sends[i];
        struct chela_store_change send = {
            .id = m->id, .key = c->key, .data = m->data, .n = m->n, .now = c->now};
        rc = intent(db, &send, err);
        m->rc = send.rc;
    }
    return rc;
}

/* Update the row first: the update locks the row, and its guard checks the
 * token. An update that changes no indexed column is a HOT update. */
static int postgres_change_append(struct chela_store_db *db, struct chela_store_change *c,
                                  struct chela_error *err) {
    const struct ch_pg_arg args[] = {
        ch_pg_text(c->key),
        ch_pg_number((int64_t)c->token),
        ch_pg_number(c->nrecords ? (int64_t)c->records[0].seq - 1 : -1),
        ch_pg_number((int64_t)c->nrecords),
        ch_pg_number(c->now),
        ch_pg_text(c->head.status),
        ch_pg_text(c->head.title),
        ch_pg_number((int64_t)c->head.window),
        ch_pg_number((int64_t)c->head.turns),
        ch_pg_number((int64_t)c->head.messages),
        ch_pg_number(CHELA_STORE_FRESH_MS),
    };
    PGresult *res;
    int rc = postgres_change_lock_takes(db, c, err);

    if (rc < 0 || c->rc < 0)
        return rc;
    rc = ch_pg_query(db,
                     "UPDATE chela.sessions SET last = last + $4,"
                     " updated = CASE WHEN $6::text IS NULL AND $7::text IS NULL AND"
                     " $5 - updated BETWEEN 0 AND $11 - 1 THEN updated ELSE $5 END,"
                     " status = coalesce($6, status), title = coalesce($7, title),"
                     " needed = greatest(needed, $8), turns = turns + $9,"
                     " messages = messages + $10"
                     " WHERE key = $1 AND token = $2 AND $3 IN (-1, last) RETURNING id",
                     args, CH_LEN(args), &res, err);
    if (rc < 0)
        return rc;
    int64_t id = PQntuples(res) ? ch_pg_int(res, 0) : 0;
    PQclear(res);
    if (!id)
        return postgres_change_why_not(db, c, err);
    rc = postgres_change_mail(db, c, err);
    for (size_t i = 0, n; rc == 0 && i < c->nrecords; i += n) {
        n = batch_of(c->records + i, c->nrecords - i);
        rc = add_records(db, id, c->records + i, n, err);
    }
    return rc;
}

static int postgres_change_lease(struct chela_store_db *db, struct chela_store_change *c,
                                 struct chela_error *err) {
    bool done = false;
    struct ch_pg_arg key = ch_pg_text(c->key), token = ch_pg_number((int64_t)c->token);
    int rc = c->kind == CHELA_STORE_RENEW
                 ? CHANGE(db, "UPDATE chela.sessions SET until = $3 WHERE key = $1 AND token = $2",
                          &done, err, key, token, ch_pg_number(ch_pg_server_time(db, c->until)))
                 : CHANGE(db,
                          "WITH r AS (UPDATE chela.sessions SET until = 0, owner = ''"
                          " WHERE key = $1 AND token = $2 RETURNING key)"
                          " SELECT CASE WHEN EXISTS(SELECT FROM chela.inbox i WHERE i.key = $1"
                          " AND i.state <> 'done') THEN pg_notify('" CH_PG_CHANNEL
                          "', 'r ' || $1) END FROM r",
                          &done, err, key, token);

    c->rc = done ? 0 : CHELA_EPERM;
    return rc;
}

static int postgres_change_insert_session(struct chela_store_db *db, const char *key,
                                          struct ch_pg_arg agent, const char *parent, int64_t now,
                                          bool *made, struct chela_error *err) {
    char past[CH_PAST_NAME];
    bool ignored;
    int rc = CHANGE(db,
                    "INSERT INTO chela.sessions(key, agent, parent, created, updated)"
                    " VALUES($1, $2, $3, $4, $4) ON CONFLICT DO NOTHING",
                    made, err, ch_pg_text(key), agent, ch_pg_text(parent ? parent : ""),
                    ch_pg_number(now));

    if (rc < 0 || !*made)
        return rc;
    /* A statement of its own sees a deletion for which the insertion waited. */
    ch_past_name(key, past);
    return CHANGE(db,
                  "UPDATE chela.sessions SET base = p.n, last = p.n, needed = p.n + 1 FROM"
                  " (SELECT max(data::bigint) AS n FROM chela.kept WHERE id IN ($2, '" CH_PAST
                  "')) AS p WHERE key = $1 AND p.n > 0",
                  &ignored, err, ch_pg_text(key), ch_pg_text(past));
}

static int postgres_change_create(struct chela_store_db *db, struct chela_store_change *c,
                                  struct chela_error *err) {
    bool made = false;
    int rc = postgres_change_insert_session(db, c->key, ch_pg_data(c->data, c->n), c->id, c->now,
                                            &made, err);

    c->rc = made ? 0 : CHELA_EEXIST;
    return rc;
}

static int postgres_change_set_title(struct chela_store_db *db, struct chela_store_change *c,
                                     struct chela_error *err) {
    bool done = false;
    int rc = CHANGE(db, "UPDATE chela.sessions SET title = $2 WHERE key = $1", &done, err,
                    ch_pg_text(c->key), ch_pg_data(c->data, c->n));

    c->rc = done ? 0 : CHELA_ENOENT;
    return rc;
}

/* The id of an event whose session was deleted is a name in `kept` without a text. */
#define GONE(id) "'gone/' || encode(sha256(convert_to(" id ", 'UTF8')), 'hex')"
#define IS_GONE "id >= 'gone/' AND id < 'gone0'"

static int forget_events(struct chela_store_db *db, const char *key, struct chela_error *err) {
    bool any = false;
    int rc = CHANGE(db,
                    "WITH i AS (DELETE FROM chela.inbox WHERE key = $1 RETURNING id, ts)"
                    " INSERT INTO chela.kept SELECT " GONE("id") ", '', ts + $2::bigint FROM i"
                    " ON CONFLICT(id) DO UPDATE SET until = excluded.until",
                    &any, err, ch_pg_text(key), ch_pg_number(CH_DEFAULT_DONE_MS));

    if (rc < 0 || !any)
        return rc;
    return CHANGE(db,
                  "DELETE FROM chela.kept WHERE id IN (SELECT id FROM chela.kept WHERE " IS_GONE
                  " ORDER BY until LIMIT greatest(0, (SELECT count(*) FROM chela.kept WHERE "
                  IS_GONE ") - $1::bigint) FOR UPDATE SKIP LOCKED)",
                  &any, err, ch_pg_number(CH_LIMIT_GONE_EVENTS));
}

/* A text of a session has a link: the name "of KEY\nID" in `kept`, with the text's time. */
static int empty_kept(struct chela_store_db *db, const char *key, struct chela_error *err) {
    CH_BUF_AUTO from = {0}, to = {0};
    bool any = false;

    ch_buf_addf(&from, "of %s\n", key);
    ch_buf_addf(&to, "of %s\v", key);
    struct ch_pg_arg first = ch_pg_text(ch_buf_str(&from)), end = ch_pg_text(ch_buf_str(&to));
    return CHANGE(db,
                  "WITH l AS (DELETE FROM chela.kept WHERE id >= $1 AND id < $2"
                  " RETURNING substr(id, length($1) + 1) AS id, until)"
                  " UPDATE chela.kept AS k SET data = '' FROM l"
                  " WHERE k.id = l.id AND k.until = l.until",
                  &any, err, first, end);
}

/* The deletion takes the number after the last record. */
static int remember_number(struct chela_store_db *db, const char *key, int64_t last,
                           struct chela_error *err) {
    char name[CH_PAST_NAME];
    bool ignored;

    ch_past_name(key, name);
    return CHANGE(db,
                  "INSERT INTO chela.kept VALUES($1, $2::bigint::text, $3) ON CONFLICT(id) DO"
                  " UPDATE SET data = excluded.data, until = excluded.until",
                  &ignored, err, ch_pg_text(name), ch_pg_number(last + 1),
                  ch_pg_number(ch_past_until()));
}

static int drop_rest(struct chela_store_db *db, const char *key, int64_t id, bool items,
                     struct chela_error *err) {
    bool ignored;
    int rc = CHANGE(db, "DELETE FROM chela.records WHERE session = $1", &ignored, err,
                    ch_pg_number(id));

    if (rc == 0)
        rc = empty_kept(db, key, err);
    if (rc == 0 && items)
        rc = forget_events(db, key, err);
    if (rc == 0 && items)
        rc = CHANGE(db, "DELETE FROM chela.outbox WHERE key = $1", &ignored, err, ch_pg_text(key));
    if (rc == 0)
        rc = CHANGE(db, "DELETE FROM chela.notes WHERE key = $1", &ignored, err, ch_pg_text(key));
    return rc;
}

static int postgres_change_drop(struct chela_store_db *db, struct chela_store_change *c,
                                struct chela_error *err) {
    const struct ch_pg_arg args[] = {ch_pg_text(c->key),
                                     ch_pg_number(ch_pg_server_time(db, c->now)),
                                     ch_pg_number(c->until), ch_pg_number((int64_t)c->token)};
    PGresult *res;
    int rc = ch_pg_query(db,
                         "DELETE FROM chela.sessions WHERE key = $1 AND"
                         " (owner = '' OR until <= $2) AND ($3 = 0 OR updated < $3) AND"
                         " ($4 <> 1 OR NOT (EXISTS(SELECT FROM chela.inbox WHERE key = $1 AND"
                         " state <> 'done') OR EXISTS(SELECT FROM chela.outbox WHERE key = $1 AND"
                         " state <> 'sent' AND state <> 'failed'))) RETURNING id, last, base",
                         args, CH_LEN(args), &res, err);

    if (rc < 0)
        return rc;
    int64_t id = PQntuples(res) ? ch_pg_int(res, 0) : 0;
    int64_t last = id && ch_pg_int(res, 1) > ch_pg_int(res, 2) ? ch_pg_int(res, 1) : 0;
    PQclear(res);
    c->rc = 0;
    rc = last ? remember_number(db, c->key, last, err) : 0;
    if (id)
        return rc < 0 ? rc : drop_rest(db, c->key, id, c->token != 2, err);
    rc = postgres_change_why_not(db, c, err);
    if (rc == 0 && c->rc != CHELA_ENOENT)
        c->rc = CHELA_EBUSY;
    return rc;
}

static int postgres_change_insert_item(struct chela_store_db *db, struct chela_store_change *c,
                                       const char *sql, struct chela_error *err) {
    bool done = false;
    int rc = CHANGE(db, sql, &done, err, ch_pg_text(c->id), ch_pg_text(c->key ? c->key : ""),
                    ch_pg_data(c->data, c->n), ch_pg_number(c->now));

    c->rc = done ? 0 : CHELA_EEXIST;
    return rc;
}

/* Accepts an event. The process that holds the session is notified, if it is another one. */
static int postgres_change_accept(struct chela_store_db *db, struct chela_store_change *c,
                                  struct chela_error *err) {
    bool done = false;
    int rc = CHANGE(db,
                    "WITH i AS (INSERT INTO chela.inbox(id, key, data, ts)"
                    " SELECT $1::text, $2::text, $3::text, $4::bigint WHERE NOT EXISTS(SELECT FROM"
                    " chela.kept WHERE id = " GONE("$1::text") " AND until > $4::bigint)"
                    " ON CONFLICT DO NOTHING RETURNING key)"
                    " SELECT CASE WHEN EXISTS(SELECT FROM chela.sessions s WHERE s.key = $2"
                    " AND s.owner <> '' AND s.owner <> $5)"
                    " THEN pg_notify('" CH_PG_CHANNEL "', 'i ' || $2) END FROM i",
                    &done, err, ch_pg_text(c->id), ch_pg_text(c->key ? c->key : ""),
                    ch_pg_data(c->data, c->n), ch_pg_number(c->now),
                    ch_pg_text(db->owner ? db->owner : ""));

    c->rc = done ? 0 : CHELA_EEXIST;
    return rc;
}

static int intent(struct chela_store_db *db, struct chela_store_change *c,
                  struct chela_error *err) {
    return postgres_change_insert_item(
        db, c,
        "INSERT INTO chela.outbox(id, key, data, ts) VALUES($1, $2, $3, $4)"
        " ON CONFLICT DO NOTHING",
        err);
}

static int postgres_change_settle(struct chela_store_db *db, struct chela_store_change *c,
                                  struct chela_error *err) {
    bool done = false;
    int rc = CHANGE(db, "UPDATE chela.inbox SET state = 'done', data = '' WHERE id = $1", &done,
                    err, ch_pg_text(c->id));

    c->rc = done ? 0 : CHELA_ENOENT;
    return rc;
}

static int postgres_change_receipt(struct chela_store_db *db, struct chela_store_change *c,
                                   struct chela_error *err) {
    bool done = false, there = false;
    int rc = CHANGE(db,
                    "UPDATE chela.outbox SET state = $2, receipt = $3, attempts = attempts + 1"
                    " WHERE id = $1 AND state <> 'sent'",
                    &done, err, ch_pg_text(c->id), ch_pg_text(c->state),
                    ch_pg_data(c->data, c->n));

    c->rc = 0;
    if (rc < 0 || done)
        return rc;
    rc = CHANGE(db, "SELECT FROM chela.outbox WHERE id = $1", &there, err, ch_pg_text(c->id));
    c->rc = there ? CHELA_EEXIST : CHELA_ENOENT;
    return rc;
}

static int postgres_change_note(struct chela_store_db *db, struct chela_store_change *c,
                                struct chela_error *err) {
    return postgres_change_insert_item(
        db, c,
        c->token ? "INSERT INTO chela.notes(id, key, data, ts)"
                   " VALUES($1, $2, $3, $4) ON CONFLICT DO NOTHING"
                 : "INSERT INTO chela.notes(id, key, data, ts)"
                   " VALUES($1, $2, $3, $4) ON CONFLICT(id) DO UPDATE SET"
                   " key = excluded.key, data = excluded.data, ts = excluded.ts",
        err);
}

static int postgres_change_forget(struct chela_store_db *db, struct chela_store_change *c,
                                  struct chela_error *err) {
    bool done = false;
    int rc = CHANGE(db, "DELETE FROM chela.notes WHERE id = $1", &done, err, ch_pg_text(c->id));

    c->rc = done ? 0 : CHELA_ENOENT;
    return rc;
}

static int postgres_change_keep(struct chela_store_db *db, struct chela_store_change *c,
                                struct chela_error *err) {
    bool done = false;
    int rc = c->until ? CHANGE(db,
                               "INSERT INTO chela.kept AS k VALUES($1, $2, $3) ON CONFLICT(id) DO"
                               " UPDATE SET data = excluded.data, until = excluded.until"
                               " WHERE $4 = 0 OR k.until <= $5",
                               &done, err, ch_pg_text(c->id), ch_pg_data(c->data, c->n),
                               ch_pg_number(c->until), ch_pg_number((int64_t)c->token),
                               ch_pg_number(c->now))
                      : CHANGE(db, "DELETE FROM chela.kept WHERE id = $1", &done, err,
                               ch_pg_text(c->id));

    c->rc = done ? 0 : c->until ? CHELA_EEXIST : CHELA_ENOENT;
    if (rc < 0 || c->rc < 0 || !c->until || !c->key)
        return rc;
    CH_BUF_AUTO link = {0};
    ch_buf_addf(&link, "of %s\n%s", c->key, c->id);
    return CHANGE(db,
                  "INSERT INTO chela.kept VALUES($1, '', $2) ON CONFLICT(id) DO UPDATE"
                  " SET until = excluded.until",
                  &done, err, ch_pg_text(ch_buf_str(&link)), ch_pg_number(c->until));
}

#define EXPIRE(box, state)                                                     \
    "DELETE FROM chela." box " WHERE id IN (SELECT id FROM chela." box         \
    " WHERE state = '" state "' AND ts < $1 LIMIT $2)"

#define IS_PAST "id > '" CH_PAST "' AND id < '" CH_PAST_END "'"

/* Forgets keys of deleted sessions, if there are too many. */
static int trim_past(struct chela_store_db *db, bool *any, struct chela_error *err) {
    return CHANGE(db,
                  "WITH o AS (DELETE FROM chela.kept WHERE id IN (SELECT id FROM chela.kept"
                  " WHERE " IS_PAST " ORDER BY until, id LIMIT greatest(0, least($2::bigint,"
                  " (SELECT count(*) FROM chela.kept WHERE " IS_PAST ") - $1::bigint))"
                  " FOR UPDATE SKIP LOCKED) RETURNING data::bigint AS n)"
                  " INSERT INTO chela.kept AS k SELECT '" CH_PAST "', max(n)::text, $3::bigint"
                  " FROM o HAVING count(*) > 0 ON CONFLICT(id) DO UPDATE SET data ="
                  " greatest(k.data::bigint, excluded.data::bigint)::text",
                  any, err, ch_pg_number(CH_LIMIT_PAST), ch_pg_number(CH_LIMIT_EXPIRED),
                  ch_pg_number(ch_past_until()));
}

static int postgres_change_expire(struct chela_store_db *db, struct chela_store_change *c,
                                  struct chela_error *err) {
    struct ch_pg_arg before = ch_pg_number(c->until), most = ch_pg_number(CH_LIMIT_EXPIRED);
    bool in = false, out = false, kept = false, past = false;
    int rc = CHANGE(db, EXPIRE("inbox", "done"), &in, err, before, most);

    if (rc == 0)
        rc = CHANGE(db, EXPIRE("outbox", "sent"), &out, err, before, most);
    if (rc == 0)
        rc = CHANGE(db,
                    "DELETE FROM chela.kept WHERE id IN (SELECT id FROM chela.kept"
                    " WHERE until < $1 LIMIT $2)",
                    &kept, err, ch_pg_number(c->now), most);
    if (rc == 0)
        rc = trim_past(db, &past, err);
    c->rc = in || out || kept || past ? 0 : CHELA_ENOENT;
    return rc;
}

static int postgres_change_apply(struct chela_store_db *db, struct chela_store_change *c,
                                 struct chela_error *err) {
    switch (c->kind) {
    case CHELA_STORE_APPEND:
        return postgres_change_append(db, c, err);
    case CHELA_STORE_RENEW:
    case CHELA_STORE_RELEASE:
        return postgres_change_lease(db, c, err);
    case CHELA_STORE_CREATE:
        return postgres_change_create(db, c, err);
    case CHELA_STORE_TITLE:
        return postgres_change_set_title(db, c, err);
    case CHELA_STORE_DELETE:
        return postgres_change_drop(db, c, err);
    case CHELA_STORE_ACCEPT:
        return postgres_change_accept(db, c, err);
    case CHELA_STORE_SETTLE:
        return postgres_change_settle(db, c, err);
    case CHELA_STORE_INTENT:
        return intent(db, c, err);
    case CHELA_STORE_RECEIPT:
        return postgres_change_receipt(db, c, err);
    case CHELA_STORE_NOTE:
        return postgres_change_note(db, c, err);
    case CHELA_STORE_FORGET:
        return postgres_change_forget(db, c, err);
    case CHELA_STORE_EXPIRE:
        return postgres_change_expire(db, c, err);
    case CHELA_STORE_KEEP:
        return postgres_change_keep(db, c, err);
    }
    return ch_fail(err, CHELA_EINVAL, "store %s: unknown change", db->shown);
}

struct batch {
    struct chela_store_change *changes;
    size_t n;
    bool apart; /* a change that waits for a lock fails alone */
};

static int postgres_change_apply_apart(struct chela_store_db *db, struct chela_store_change *c,
                                       struct chela_error *err) {
    int rc = ch_pg_script(db, "SAVEPOINT change", NULL, err);

    if (rc == 0)
        rc = postgres_change_apply(db, c, err);
    if (rc != CHELA_EBUSY)
        return rc == 0 ? ch_pg_script(db, "RELEASE change", NULL, err) : rc;
    *err = (struct chela_error){0};
    c->rc = CHELA_ETIMEOUT;
    ch_pg_set_wary(db);
    return ch_pg_script(db, "ROLLBACK TO change", NULL, err);
}

static bool postgres_change_needs_clock(const struct batch *b) {
    for (size_t i = 0; i < b->n; i++)
        if (b->changes[i].kind == CHELA_STORE_RENEW || b->changes[i].kind == CHELA_STORE_DELETE)
            return true;
    return false;
}

static int postgres_change_apply_all(struct chela_store_db *db, void *user,
                                     struct chela_error *err) {
    struct batch *b = user;
    int rc = postgres_change_needs_clock(b) ? ch_pg_set_clock(db, err) : 0;

    for (size_t i = 0; rc == 0 && i < b->n; i++)
        rc = b->apart ? postgres_change_apply_apart(db, &b->changes[i], err)
                      : postgres_change_apply(db, &b->changes[i], err);
    return rc;
}

/* Locks of chela last for milliseconds. If a change waits longer, another program has locked
 * its row: the other changes must not wait for it. */
int ch_pg_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n, int sync,
                 struct chela_error *err) {
    struct batch b = {changes, n, ch_pg_is_wary(db)};
    if (n == 0)
        return ch_pg_verify(db, err);
    int rc = ch_pg_transact(db, sync, postgres_change_apply_all, &b, err);

    if (rc != CHELA_EBUSY || b.apart)
        return rc;
    ch_pg_set_wary(db);
    b.apart = true;
    *err = (struct chela_error){0};
    return ch_pg_transact(db, sync, postgres_change_apply_all, &b, err);
}

/* --- opening a session -------------------------------------------------------- */

struct claiming {
    const struct chela_store_claim *claim;
    PGresult *row; /* owned: current row, read in the same transaction */
    bool busy;
};

static int postgres_change_take_lease(struct chela_store_db *db, struct claiming *k,
                                      struct chela_error *err) {
    const struct chela_store_claim *c = k->claim;
    const struct ch_pg_arg args[] = {
        ch_pg_text(c->key),
        ch_pg_text(c->owner),
        ch_pg_number(ch_pg_server_time(db, c->until)),
        ch_pg_number(ch_pg_server_time(db, c->now)),
        ch_pg_number((int64_t)c->steal),
        ch_pg_number(c->judge ? 1 : 0),
    };

    /* A row that another transaction has locked is not waited for: its holder is at work. */
    return ch_pg_query(db,
                       "UPDATE chela.sessions SET owner = $2, until = $3, token = token + 1"
                       " WHERE id = (SELECT id FROM chela.sessions WHERE key = $1 AND (owner = ''"
                       " OR ($6 = 0 AND until <= $4) OR ($5 <> 0 AND token = $5))"
                       " FOR UPDATE SKIP LOCKED) RETURNING " CH_PG_COLUMNS ", base",
                       args, CH_LEN(args), &k->row, err);
}

static int postgres_change_claim_it(struct chela_store_db *db, void *user,
                                    struct chela_error *err) {
    struct claiming *k = user;
    const struct chela_store_claim *c = k->claim;
    struct ch_pg_arg key = ch_pg_text(c->key);
    bool ignored;
    int rc = ch_pg_set_clock(db, err);

    PQclear(k->row); /* left by a failed attempt */
    k->row = NULL;
    if (rc == 0 && c->create)
        rc = postgres_change_insert_session(db, c->key, ch_pg_text(c->agent), "", c->now, &ignored,
                                            err);
    if (rc == 0)
        rc = postgres_change_take_lease(db, k, err);
    k->busy = rc == 0 && PQntuples(k->row) == 0;
    if (!k->busy)
        return rc;
    PQclear(k->row);
    k->row = NULL;
    rc = ch_pg_query(db, "SELECT " CH_PG_COLUMNS ", base FROM chela.sessions WHERE key = $1", &key,
                     1, &k->row, err);
    if (rc == 0 && PQntuples(k->row) == 0)
        rc = ch_fail(err, CHELA_ENOENT, "there is no session '%s'", c->key);
    return rc;
}

int ch_pg_open_session(struct chela_store_db *db, const struct chela_store_claim *claim,
                       chela_store_session_fn *fn, void *user, struct chela_error *err) {
    struct claiming k = {.claim = claim};

    if (!db->owner || strcmp(db->owner, claim->owner) != 0) {
        ch_free(db->owner);
        db->owner = ch_strdup(claim->owner);
    }
    int rc = ch_pg_transact(db, true, postgres_change_claim_it, &k, err);

    if (rc == CHELA_EBUSY)
        ch_pg_set_wary(db);
    if (rc == 0) {
        struct chela_store_session row = ch_pg_session_of(db, k.row);
        fn(&row, user);
    }
    PQclear(k.row);
    if (rc == 0 && k.busy)
        rc = ch_fail(err, CHELA_EBUSY, "session '%s' is in use", claim->key);
    return rc;
}

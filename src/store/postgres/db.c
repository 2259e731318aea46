/* db.c -- open the database, check its version, run transactions.
 *
 * A transaction begins by storing its number in this store's row of `writers`,
 * and locks that row until it ends. This settles a COMMIT whose answer was
 * lost: the next attempt waits for the row. If the row has the number, the
 * transaction was committed; otherwise nothing was, and the transaction runs
 * again. A connection lost before COMMIT was sent means a rolled back
 * transaction.
 *
 * Changes that need not survive a power failure are committed with
 * synchronous_commit off. A crash of the server, which this process survives,
 * may then undo them: the next append does not fit and fails. The end of a run,
 * which is reported to users, is always durable (see CHELA_STORE_LAZY). A token
 * must never be issued twice, so leases are always taken with
 * synchronous_commit on. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/postgres/db.h"
#include "store/postgres/link.h"
#include "store/writer.h" /* CH_LEASE_ENDED */

#define STATEMENT_MS 8000 /* the server's timeout for a statement */
#define LOCK_MS 250       /* the server's timeout for a lock: chela holds locks for a short time */
#define WARY_LOCK_MS 20   /* timeout for a lock while another program holds one for long */
#define WARY_MS 5000
#define IDLE_MS 5000      /* server's timeout for a transaction whose client is gone */
#define CLOCK_SLACK_MS 1000 /* smaller differences between clocks are ignored */
#define MIGRATION_LOCK 0x63686c61 /* "chla" */

/* One step per version: steps[0] creates version 1. */
static const char *const steps[] = {
    "CREATE TABLE chela.format(version integer NOT NULL);"
    "INSERT INTO chela.format VALUES(0);"
    "CREATE TABLE chela.sessions(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " key text COLLATE \"C\" NOT NULL UNIQUE, agent text NOT NULL DEFAULT '',"
    " title text NOT NULL DEFAULT '', status text NOT NULL DEFAULT 'idle',"
    " parent text NOT NULL DEFAULT '', created bigint NOT NULL, updated bigint NOT NULL,"
    " last bigint NOT NULL DEFAULT 0, needed bigint NOT NULL DEFAULT 1,"
    " turns bigint NOT NULL DEFAULT 0, messages bigint NOT NULL DEFAULT 0,"
    " owner text NOT NULL DEFAULT '', token bigint NOT NULL DEFAULT 0,"
    " until bigint NOT NULL DEFAULT 0) WITH (fillfactor = 70);"
    "CREATE TABLE chela.records(session bigint NOT NULL, seq bigint NOT NULL,"
    " type bigint NOT NULL, ts bigint NOT NULL, sum bigint NOT NULL, data text NOT NULL,"
    " PRIMARY KEY(session, seq));"
    "CREATE TABLE chela.inbox(id text COLLATE \"C\" PRIMARY KEY,"
    " number bigint GENERATED ALWAYS AS IDENTITY, key text NOT NULL,"
    " state text NOT NULL DEFAULT 'new', data text NOT NULL, ts bigint NOT NULL);"
    "CREATE INDEX ON chela.inbox(ts, number) WHERE state <> 'done';"
    "CREATE INDEX ON chela.inbox(key);"
    "CREATE TABLE chela.outbox(id text COLLATE \"C\" PRIMARY KEY,"
    " number bigint GENERATED ALWAYS AS IDENTITY, key text NOT NULL,"
    " state text NOT NULL DEFAULT 'intent', data text NOT NULL,"
    " receipt text NOT NULL DEFAULT '', ts bigint NOT NULL, attempts bigint NOT NULL DEFAULT 0);"
    "CREATE INDEX ON chela.outbox(ts, number) WHERE state <> 'sent';"
    "CREATE INDEX ON chela.outbox(key);"
    "CREATE TABLE chela.writers(id text COLLATE \"C\" PRIMARY KEY, number bigint NOT NULL,"
    " seen timestamptz NOT NULL) WITH (fillfactor = 50);",
    "CREATE TABLE chela.notes(id text COLLATE \"C\" PRIMARY KEY, key text NOT NULL,"
    " data text NOT NULL, ts bigint NOT NULL);"
    "CREATE INDEX ON chela.notes(key);",
    /* A partial index on status leaves an append that keeps the status a HOT update. */
    "DROP INDEX IF EXISTS chela.inbox_ts_number_idx, chela.outbox_ts_number_idx;"
    "CREATE INDEX ON chela.inbox(number) WHERE state <> 'done';"
    "CREATE INDEX ON chela.inbox(key, number) WHERE state <> 'done';"
    "CREATE INDEX ON chela.outbox(number) WHERE state <> 'sent';"
    "CREATE INDEX ON chela.sessions(status) WHERE status <> 'idle';",
    "CREATE TABLE IF NOT EXISTS chela.kept(id text COLLATE \"C\" PRIMARY KEY, data text NOT NULL,"
    " until bigint NOT NULL);"
    "CREATE INDEX ON chela.kept(until);",
    "CREATE INDEX ON chela.sessions(updated);"
    "CREATE INDEX ON chela.inbox(ts) WHERE state = 'done';"
    "CREATE INDEX ON chela.outbox(ts) WHERE state = 'sent';",
    "CREATE TABLE IF NOT EXISTS chela.identity(store text NOT NULL, epoch bigint NOT NULL);"
    "INSERT INTO chela.identity SELECT md5(random()::text || clock_timestamp()::text ||"
    " pg_backend_pid()::text), 1 WHERE NOT EXISTS (SELECT FROM chela.identity);",
    /* Processes that know format 6 end. */
    ("ALTER TABLE chela.sessions ADD COLUMN IF NOT EXISTS base bigint NOT NULL DEFAULT 0;"
     "UPDATE chela.identity SET epoch = epoch + 1;"),
};
_Static_assert(CH_LEN(steps) == CHELA_STORE_VERSION, "a step for each version");

/* --- transactions ---------------------------------------------------------------- */

/* The identity is checked by the statement that raises the mark: no further round trip. A mark that
 * was durable cannot be missing, unless the database is an older copy. */
static int postgres_db_begin(struct chela_store_db *db, bool sync, long *fresh,
                             struct chela_error *err) {
    CH_BUF_AUTO sql = {0};

    ch_buf_addf(&sql,
                "BEGIN; SET LOCAL statement_timeout = %d; SET LOCAL lock_timeout = %d;"
                "SET LOCAL idle_in_transaction_session_timeout = %d;"
                "SET LOCAL synchronous_commit = %s;"
                "INSERT INTO chela.writers AS w SELECT '%s', %llu, now() FROM chela.identity"
                " WHERE store = '%s' AND epoch = %lld AND (%llu = 0 OR EXISTS(SELECT FROM"
                " chela.writers WHERE id = '%s' AND number >= %llu)) ON CONFLICT(id) DO"
                " UPDATE SET number = excluded.number, seen = now()"
                " WHERE w.number < excluded.number",
                STATEMENT_MS, db->lock_ms, IDLE_MS, sync ? "on" : "off", db->id,
                (unsigned long long)db->number, db->store, (long long)db->epoch,
                (unsigned long long)db->durable, db->id, (unsigned long long)db->durable);
    return ch_pg_script(db, ch_buf_str(&sql), fresh, err);
}

/* --- identity */

static int postgres_db_lose(struct chela_store_db *db, struct chela_error *err) {
    db->lost = true;
    return ch_fail(err, CHELA_EPROTO,
                   "store %s is not the one that this process opened: the database was emptied, "
                   "replaced, restored or converted, or it lost committed data. Nothing more is "
                   "written. Restart the program if this is the right store",
                   db->shown);
}

/* Has the database the identity, and this writer's mark the number at least? */
static int postgres_db_is_same(struct chela_store_db *db, uint64_t number, bool *same,
                               struct chela_error *err) {
    const struct ch_pg_arg args[] = {ch_pg_text(db->store), ch_pg_number(db->epoch),
                                     ch_pg_number((int64_t)number), ch_pg_text(db->id)};
    PGresult *res;
    int rc = ch_pg_query(db,
                         "SELECT FROM chela.identity WHERE store = $1 AND epoch = $2 AND ($3 = 0"
                         " OR EXISTS(SELECT FROM chela.writers WHERE id = $4 AND number >= $3))",
                         args, CH_LEN(args), &res, err);

    if (rc < 0)
        return rc == CHELA_EPROTO ? postgres_db_lose(db, err) : rc; /* there are no tables */
    *same = PQntuples(res) == 1;
    PQclear(res);
    return 0;
}

static int postgres_db_verify(struct chela_store_db *db, struct chela_error *err) {
    bool same = false;
    int rc = ch_pg_connect(db, err);

    if (rc == 0)
        rc = postgres_db_is_same(db, db->durable, &same, err);
    return rc < 0 || same ? rc : postgres_db_lose(db, err);
}

int ch_pg_verify(struct chela_store_db *db, struct chela_error *err) {
    if (db->lost)
        return postgres_db_lose(db, err);
    if (!*db->store)
        return 0;
    ch_pg_start(db);
    for (unsigned i = 0;; i++) {
        struct chela_error why = {0};
        db->again = false;
        int rc = postgres_db_verify(db, &why);
        if (rc == 0)
            return 0;
        if (db->lost || !ch_pg_try_again(db, i)) {
            *err = why;
            return rc;
        }
    }
}

static int read_identity(struct chela_store_db *db, char store[40], int64_t *epoch,
                         struct chela_error *err) {
    PGresult *res;
    int rc = ch_pg_query(db, "SELECT epoch, store FROM chela.identity", NULL, 0, &res, err);

    if (rc < 0)
        return rc;
    if (PQntuples(res) == 1) {
        *epoch = ch_pg_int(res, 0);
        for (const char *c = PQgetvalue(res, 0, 1); *c; c++) /* is part of statements */
            if (strlen(store) < 39 && strchr("0123456789abcdef", *c))
                strncat(store, c, 1);
    } else {
        rc = ch_fail(err, CHELA_EPARSE, "store %s is damaged: it has no identity", db->shown);
    }
    PQclear(res);
    return rc;
}

static int raise_epoch(struct chela_store_db *db, void *user, struct chela_error *err) {
    (void)user;
    return ch_pg_script(db, "UPDATE chela.identity SET epoch = epoch + 1", NULL, err);
}

int ch_pg_identity(struct chela_store_db *db, int raise, struct chela_store_identity *inout,
                   struct chela_error *err) {
    const struct ch_pg_arg id = ch_pg_text(*inout->writer ? inout->writer : db->id);
    char store[40] = "";
    PGresult *res;
    int rc = raise ? ch_pg_transact(db, true, raise_epoch, NULL, err) : 0;

    ch_pg_start(db);
    if (rc == 0)
        rc = ch_pg_connect(db, err);
    if (rc == 0)
        rc = read_identity(db, store, &db->epoch, err);
    if (rc == 0)
        rc = ch_pg_query(db, "SELECT coalesce(max(number), 0) FROM chela.writers WHERE id = $1",
                         &id, 1, &res, err);
    if (rc < 0)
        return rc;
    inout->mark = (uint64_t)ch_pg_int(res, 0);
    PQclear(res);
    memcpy(inout->store, store, sizeof(store));
    inout->epoch = (uint64_t)db->epoch;
    inout->format = db->version;
    memcpy(inout->writer, db->id, sizeof(db->id));
    return 0;
}

static void roll_back(struct chela_store_db *db) {
    struct chela_error ignored = {0}; /* err holds the first error */
    bool again = db->again;

    if (db->conn)
        ch_pg_script(db, "ROLLBACK", NULL, &ignored);
    db->again = again;
}

static int postgres_db_attempt(struct chela_store_db *db, bool sync,
                               int (*body)(struct chela_store_db *db, void *user,
                                           struct chela_error *err),
                               void *user, struct chela_error *err) {
    long fresh = 0;
    int rc = ch_pg_connect(db, err);

    if (rc == 0)
        rc = postgres_db_begin(db, sync, &fresh, err);
    if (rc == CHELA_EPROTO)
        rc = postgres_db_lose(db, err); /* there are no tables */
    if (rc == 0 && !fresh) {
        bool committed = false; /* the previous attempt was committed, or the identity differs */
        rc = postgres_db_is_same(db, db->number, &committed, err);
        roll_back(db);
        return rc < 0 || committed ? rc : postgres_db_lose(db, err);
    }
    if (rc == 0)
        rc = body(db, user, err);
    if (rc == 0)
        rc = ch_pg_script(db, "COMMIT", NULL, err);
    if (rc < 0)
        roll_back(db);
    return rc;
}

int ch_pg_transact(struct chela_store_db *db, bool sync,
                   int (*body)(struct chela_store_db *db, void *user, struct chela_error *err),
                   void *user, struct chela_error *err) {
    if (db->read_only)
        return ch_fail(err, CHELA_EPERM, "store %s was opened for reading only", db->shown);
    if (db->lost)
        return postgres_db_lose(db, err);
    db->number++;
    db->lock_ms = ch_pg_is_wary(db) ? WARY_LOCK_MS : LOCK_MS;
    ch_pg_start(db);
    for (unsigned i = 0;; i++) {
        struct chela_error why = {0};
        db->again = false;
        int rc = postgres_db_attempt(db, sync, body, user, &why);
        if (rc == 0) {
            if (sync)
                db->durable = db->number;
            return 0;
        }
        if (db->lost || !ch_pg_try_again(db, i)) {
            *err = why;
            return rc;
        }
    }
}

bool ch_pg_is_wary(const struct chela_store_db *db) {
    return ch_mono_ms(&ch_clock_system) < db->wary;
}

void ch_pg_set_wary(struct chela_store_db *db) {
    db->wary = ch_mono_ms(&ch_clock_system) + WARY_MS;
}

/* VACUUM makes the space of deleted rows free; the bytes stay in the pages. */
int ch_pg_purge(struct chela_store_db *db, int whole, const char **remains,
                struct chela_error *err) {
    static const char *const tables[] = {"records", "sessions", "inbox", "outbox", "notes", "kept"};
    int rc = 0;
    char sql[64];

    *remains = "deleted text in pages of PostgreSQL's tables and indexes until VACUUM FULL of the "
               "schema chela and a CHECKPOINT, in segments of the WAL until the server recycles "
               "them, and in archived WAL, replicas and backups";
    ch_pg_start(db);
    rc = ch_pg_connect(db, err);
    for (size_t i = 0; rc == 0 && whole && i < CH_LEN(tables); i++) {
        snprintf(sql, sizeof(sql), "VACUUM chela.%s", tables[i]);
        rc = ch_pg_script(db, sql, NULL, err);
    }
    return rc;
}

/* --- clocks ------------------------------------------------------------------------ */

int ch_pg_set_clock(struct chela_store_db *db, struct chela_error *err) {
    int64_t before = ch_now_ms(&ch_clock_system);
    PGresult *res;
    int rc = ch_pg_query(db, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", NULL,
                         0, &res, err);

    if (rc < 0)
        return rc;
    int64_t ours = before + (ch_now_ms(&ch_clock_system) - before) / 2;
    int64_t skew = ch_pg_int(res, 0) - ours;
    if (llabs(skew - db->skew) >= CLOCK_SLACK_MS)
        db->skew = skew;
    PQclear(res);
    return 0;
}

/* CH_LEASE_ENDED and less are no times. */
int64_t ch_pg_server_time(const struct chela_store_db *db, int64_t ours) {
    int64_t theirs;
    bool none = ours <= CH_LEASE_ENDED || __builtin_add_overflow(ours, db->skew, &theirs);

    return none ? ours : theirs;
}

int64_t ch_pg_local_time(const struct chela_store_db *db, int64_t theirs) {
    int64_t ours;
    bool none = theirs <= CH_LEASE_ENDED || __builtin_sub_overflow(theirs, db->skew, &ours);

    return none ? theirs : ours;
}

/* --- the version -------------------------------------------------------------------- */

static int postgres_db_check_version(struct chela_store_db *db, int64_t version,
                                     struct chela_error *err) {
    if (version > CHELA_STORE_VERSION)
        return ch_fail(err, CHELA_EPROTO,
                       "store %s has format %lld, this chela knows up to %d: use a newer chela",
                       db->shown, (long long)version, CHELA_STORE_VERSION);
    if (version < 0)
        return ch_fail(err, CHELA_EPARSE, "store %s is damaged: it has no format", db->shown);
    return 0;
}

/* Query the tables: to_regclass() uses a cache, which in a transaction may not
 * include what another transaction has created meanwhile. */
static int exists(struct chela_store_db *db, const char *sql, bool *there,
                  struct chela_error *err) {
    PGresult *res;
    int rc = ch_pg_query(db, sql, NULL, 0, &res, err);

    if (rc < 0)
        return rc;
    *there = PQntuples(res) > 0;
    PQclear(res);
    return 0;
}

/* *version 0: the store does not exist yet. */
static int postgres_db_read_version(struct chela_store_db *db, int64_t *version,
                                    struct chela_error *err) {
    PGresult *res;
    bool there;
    int rc = exists(db,
                    "SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n"
                    " ON n.oid = c.relnamespace WHERE n.nspname = 'chela' AND"
                    " c.relname = 'format'",
                    &there, err);

    *version = 0;
    if (rc < 0 || !there)
        return rc;
    rc = ch_pg_query(db, "SELECT version FROM chela.format", NULL, 0, &res, err);
    if (rc < 0)
        return rc;
    *version = PQntuples(res) == 1 ? ch_pg_int(res, 0) : -1;
    PQclear(res);
    return postgres_db_check_version(db, *version, err);
}

static int make_schema(struct chela_store_db *db, struct chela_error *err) {
    bool there;
    int rc = exists(db, "SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'chela'", &there,
                    err);

    return rc < 0 || there ? rc : ch_pg_script(db, "CREATE SCHEMA chela", NULL, err);
}

static int foreign(struct chela_store_db *db, struct chela_error *err) {
    CH_AUTOFREE char *words = ch_strdup(err->message);

    return ch_fail(err, CHELA_EPROTO, "store %s: its schema chela is no store of chela (%s)",
                   db->shown, words);
}

static int climb(struct chela_store_db *db, int64_t version, struct chela_error *err) {
    char sql[80];
    int rc = version == 0 ? make_schema(db, err) : 0;

    for (; rc == 0 && version < CHELA_STORE_VERSION; version++)
        rc = ch_pg_script(db, steps[version], NULL, err);
    snprintf(sql, sizeof(sql), "UPDATE chela.format SET version = %d", CHELA_STORE_VERSION);
    if (rc == CHELA_EPROTO) /* the server's message follows */
        return foreign(db, err);
    return rc == 0 ? ch_pg_script(db, sql, NULL, err) : rc;
}

/* In one transaction, and by one process at a time. */
static int postgres_db_migrate(struct chela_store_db *db, struct chela_error *err) {
    char sql[160];
    int64_t version;

    snprintf(sql, sizeof(sql), "BEGIN; SET LOCAL lock_timeout = %d; SELECT"
             " pg_advisory_xact_lock(%d)", STATEMENT_MS, MIGRATION_LOCK);
    int rc = ch_pg_script(db, sql, NULL, err);
    if (rc == 0)
        rc = postgres_db_read_version(db, &version, err); /* another process may have been first */
    if (rc == 0)
        rc = climb(db, version, err);
    if (rc == 0)
        rc = ch_pg_script(db, "COMMIT", NULL, err);
    if (rc < 0)
        roll_back(db);
    return rc;
}

/* --- opening ------------------------------------------------------------------------- */

/* A password with an unescaped '@' or '/' ends up in another part of the URL,
 * which messages would show. */
static bool postgres_db_holds(const char *text, const char *stops) {
    return text && strpbrk(text, stops);
}

static int postgres_db_describe(struct chela_store_db *db, struct chela_error *err) {
    PQconninfoOption *all = PQconninfoParse(db->url, NULL);
    const char *host = NULL, *port = NULL, *name = NULL;
    CH_BUF_AUTO out = {0};

    for (PQconninfoOption *o = all; o && o->keyword; o++) {
        if (strcmp(o->keyword, "host") == 0)
            host = o->val;
        else if (strcmp(o->keyword, "port") == 0)
            port = o->val;
        else if (strcmp(o->keyword, "dbname") == 0)
            name = o->val;
    }
    bool bad = !all || postgres_db_holds(host, "@") || postgres_db_holds(port, "@/:") ||
               postgres_db_holds(name, "@/");
    ch_buf_addf(&out, "postgres://%s%s%s/%s", host ? host : "", port ? ":" : "", port ? port : "",
                name ? name : "");
    PQconninfoFree(all);
    if (bad)
        return ch_fail(err, CHELA_EINVAL,
                       "store postgres://...: expected postgres://USER@HOST:PORT/DATABASE, with "
                       "special characters in a password written as %%XX");
    db->shown = ch_buf_take(&out);
    return 0;
}

static int postgres_db_check_server(struct chela_store_db *db, const char **note,
                                    struct chela_error *err) {
    PGresult *res;
    int rc = ch_pg_query(db,
                         "SELECT current_setting('server_encoding'),"
                         " current_setting('transaction_read_only'), current_setting('fsync')",
                         NULL, 0, &res, err);

    if (rc < 0)
        return rc;
    if (strcmp(PQgetvalue(res, 0, 0), "UTF8") != 0)
        rc = ch_fail(err, CHELA_EPROTO, "store %s: the database's encoding is %s, not UTF8",
                     db->shown, PQgetvalue(res, 0, 0));
    else if (!db->read_only && strcmp(PQgetvalue(res, 0, 1), "on") == 0)
        rc = ch_fail(err, CHELA_EPERM, "store %s cannot be written: the server is read-only",
                     db->shown);
    else if (strcmp(PQgetvalue(res, 0, 2), "off") == 0)
        *note = "the PostgreSQL server has fsync = off: a power failure may lose accepted "
                "messages (P1), let a once tool start again (P2), or damage the whole database";
    PQclear(res);
    return rc;
}

static int postgres_db_prepare(struct chela_store_db *db, const char **note,
                               struct chela_error *err) {
    int64_t version = 0;
    int rc = ch_pg_connect(db, err);

    if (rc == 0)
        rc = postgres_db_check_server(db, note, err);
    if (rc == 0)
        rc = postgres_db_read_version(db, &version, err);
    if (rc == 0 && version == 0 && db->read_only)
        rc = ch_fail(err, CHELA_ENOENT, "store %s: there is none yet", db->shown);
    if (rc == 0 && version < CHELA_STORE_VERSION && !db->read_only)
        rc = postgres_db_migrate(db, err);
    db->version = version < CHELA_STORE_VERSION && !db->read_only ? CHELA_STORE_VERSION : version;
    if (rc == 0 && !db->read_only) /* rows of processes that ended long ago */
        rc = ch_pg_script(db, "DELETE FROM chela.writers WHERE seen < now() - interval '30 days'",
                          NULL, err);
    if (rc == 0 && !db->read_only)
        rc = read_identity(db, db->store, &db->epoch, err);
    return rc;
}

/* If no server answers, fail at once: the address may be wrong. Wait for a
 * server that is starting or recovering from a crash. */
static int postgres_db_open_when_ready(struct chela_store_db *db, const char **note,
                                       struct chela_error *err) {
    for (unsigned i = 0;; i++) {
        struct chela_error why = {0};
        db->starting = false;
        int rc = postgres_db_prepare(db, note, &why);
        if (rc == 0)
            return 0;
        if (!db->starting || !ch_pg_try_again(db, i)) {
            *err = why;
            return rc;
        }
    }
}

static void postgres_db_make_id(char out[33]) {
    unsigned char raw[16];

    if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
        abort();
    for (size_t i = 0; i < sizeof(raw); i++)
        snprintf(out + 2 * i, 3, "%02x", raw[i]);
}

int ch_pg_open(const char *target, int read_only, struct chela_store_db **out, const char **note,
               struct chela_error *err) {
    struct chela_store_db *db = ch_alloc(sizeof(*db));

    db->url = ch_strdup(target);
    db->read_only = read_only;
    postgres_db_make_id(db->id);
    ch_pg_start(db);
    int rc = postgres_db_describe(db, err);
    if (rc == 0)
        rc = postgres_db_open_when_ready(db, note, err);
    if (rc < 0)
        ch_pg_close(db);
    else
        *out = db;
    return rc;
}

void ch_pg_close(struct chela_store_db *db) {
    if (!db)
        return;
    ch_pg_drop(db);
    ch_free(db->url);
    ch_free(db->shown);
    ch_free(db->owner);
    ch_free(db);
}

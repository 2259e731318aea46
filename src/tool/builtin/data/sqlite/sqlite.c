/* sqlite.c -- the module libchela-sqlite.so: one query of an SQLite file.
 *
 * Four independent measures prevent changes: the file is opened read-only; the connection
 * is set to query_only; every statement is compiled under an authorizer that permits a
 * short list of read actions and denies all others (no ATTACH, no PRAGMA that sets a value,
 * no load_extension); the compiled statement must be read-only according to SQLite. Time,
 * memory, the size of values and the number of statements are bounded.
 *
 * A database in WAL mode needs its -shm file, which SQLite may create beside the database.
 * No other file is created. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "chela/sys/database.h"
#include "chela/sys/module.h"
#include "tool/builtin/data/sqlite/sqlite_search.h"

#define STEPS_PER_LOOK 100 /* virtual machine steps between two checks of the deadline */
#define BUSY_MS 5000        /* how long to wait for a writer's lock */

struct run {
    sqlite3 *db;        /* owned */
    sqlite3_stmt *stmt; /* owned */
    const struct chela_db_query *q;
    int64_t due;
    sqlite3_int64 memory; /* memory in use at the start */
    int ended;            /* CHELA_E* if this module ended the statement */
    uint64_t rows;
};

/* --- permitted actions ------------------------------------------------------ */

static bool sqlite_among(const char *name, const char *const *list) {
    for (; name && *list; list++)
        if (sqlite3_stricmp(name, *list) == 0)
            return true;
    return false;
}

/* Authorizer callback: called while a statement is compiled, for each access. */
static int authorize(void *user, int action, const char *a, const char *b, const char *db,
                     const char *trigger) {
    static const char *const pragmas[] = {
        "table_info", "table_xinfo", "table_list",       "index_list",
        "index_info", "index_xinfo", "foreign_key_list", NULL,
    };
    /* Full text search reads these pragmas; they only read when used without a value. */
    static const char *const questions[] = {"data_version", "page_size", NULL};
    static const char *const functions[] = {"load_extension", "fts3_tokenizer", NULL};

    (void)user, (void)db, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_UPDATE: /* compiled but never run, on first use of a virtual table */
        return sqlite3_stricmp(a, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
        return sqlite_among(b, functions) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
        return sqlite_among(a, pragmas) || (!b && sqlite_among(a, questions)) ? SQLITE_OK
                                                                              : SQLITE_DENY;
    }
    return SQLITE_DENY;
}

static void harden(sqlite3 *db, const struct chela_db_query *q) {
    static const struct {
        int option, value;
    } switches[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}, /* the database file may be hostile */
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
    };
    const struct {
        int id, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, (int)q->max_value},
        {SQLITE_LIMIT_SQL_LENGTH, (int)(CH_LIMIT_SQL + CH_KB)},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_EXPR_DEPTH, 500},
        {SQLITE_LIMIT_COMPOUND_SELECT, 200},
        {SQLITE_LIMIT_VDBE_OP, 1000000},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
        {SQLITE_LIMIT_VARIABLE_NUMBER, CH_LIMIT_SQL_PARAMS},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };

    for (size_t i = 0; i < CH_LEN(switches); i++)
        sqlite3_db_config(db, switches[i].option, switches[i].value, (int *)NULL);
    for (size_t i = 0; i < CH_LEN(limits); i++)
        sqlite3_limit(db, limits[i].id, limits[i].value);
}

/* --- limits ----------------------------------------------------------------- */

/* Progress handler: non-zero ends the statement. */
static int sqlite_look(void *user) {
    struct run *r = user;

    if (r->q->stop && r->q->stop(r->q->user))
        r->ended = CHELA_ECANCELED;
    else if (ch_mono_ms(&ch_clock_system) >= r->due)
        r->ended = CHELA_ETIMEOUT;
    else if (sqlite3_memory_used() - r->memory > (sqlite3_int64)CH_LIMIT_SQL_MEMORY)
        r->ended = CHELA_ELIMIT;
    return r->ended != 0;
}

/* Busy handler: zero stops waiting for the lock. */
static int wait_for_lock(void *user, int times) {
    struct run *r = user;

    if (sqlite_look(r) || times > BUSY_MS / 10)
        return 0;
    sqlite3_sleep(10);
    return 1;
}

/* --- errors ------------------------------------------------------------------ */

static int explain_end(const struct run *r, struct chela_error *err) {
    switch (r->ended) {
    case CHELA_ETIMEOUT:
        return ch_fail(err, CHELA_ETIMEOUT, "the query took longer than %.3g seconds",
                       (double)r->q->timeout_ms / 1000);
    case CHELA_ELIMIT:
        return ch_fail(err, CHELA_ELIMIT, "the query needs more than %zu MB of memory",
                       CH_LIMIT_SQL_MEMORY / CH_MB);
    }
    return ch_fail(err, CHELA_ECANCELED, "the query was cancelled");
}

static int sqlite_code_of(int rc) {
    switch (rc & 0xff) {
    case SQLITE_AUTH:
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return CHELA_EPERM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return CHELA_EBUSY;
    case SQLITE_TOOBIG:
    case SQLITE_NOMEM:
    case SQLITE_FULL:
        return CHELA_ELIMIT;
    case SQLITE_CANTOPEN:
        return CHELA_ENOENT;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
        return CHELA_EIO;
    }
    return CHELA_EINVAL;
}

static int sqlite_explain(const struct run *r, int rc, struct chela_error *err) {
    int code = sqlite_code_of(rc);

    if (r->ended)
        return explain_end(r, err);
    if (code == CHELA_EPERM)
        return ch_fail(err, code, "%s: only SELECT works here, nothing can be changed",
                       sqlite3_errmsg(r->db));
    return ch_fail(err, code, "%s", sqlite3_errmsg(r->db));
}

/* --- the query ---------------------------------------------------------------- */

static int sqlite_open_file(struct run *r, const char *target, struct chela_error *err) {
    /* SQLite treats a name like "file:x?mode=rw" as a URI; a name with a directory is
     * always a path. */
    CH_AUTOFREE char *path = ch_malloc(strlen(target) + 3);

    snprintf(path, strlen(target) + 3, "%s%s", target[0] == '/' ? "" : "./", target);
    int rc = sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_extended_result_codes(r->db, 1);
        harden(r->db, r->q);
        sqlite3_busy_handler(r->db, wait_for_lock, r);
        sqlite3_progress_handler(r->db, STEPS_PER_LOOK, sqlite_look, r);
        rc = sqlite3_exec(r->db, "PRAGMA query_only=1; PRAGMA temp_store=2; PRAGMA mmap_size=0",
                          NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK)
        rc = ch_sqlite_search_add(r->db, sqlite_look, r);
    if (rc == SQLITE_OK)
        rc = sqlite3_set_authorizer(r->db, authorize, r);
    return rc == SQLITE_OK ? 0 : sqlite_explain(r, rc, err);
}

/* Reject texts with more than one statement, because only the first would run. */
static int check_alone(struct run *r, const char *tail, struct chela_error *err) {
    sqlite3_stmt *next = NULL;

    int rc = sqlite3_prepare_v2(r->db, tail, -1, &next, NULL);
    sqlite3_finalize(next);
    if (rc != SQLITE_OK || next)
        return ch_fail(err, CHELA_EINVAL, "there is more than one statement in the query");
    return 0;
}

static int sqlite_prepare(struct run *r, struct chela_error *err) {
    const char *tail;
    int rc = sqlite3_prepare_v2(r->db, r->q->sql, -1, &r->stmt, &tail);

    if (rc != SQLITE_OK)
        return sqlite_explain(r, rc, err);
    if (!r->stmt)
        return ch_fail(err, CHELA_EINVAL, "the query is empty");
    if (check_alone(r, tail, err) < 0)
        return err->code;
    if (!sqlite3_stmt_readonly(r->stmt))
        return ch_fail(err, CHELA_EPERM, "only SELECT works here, nothing can be changed");
    return 0;
}

static int bind_one(sqlite3_stmt *stmt, int at, const struct chela_db_value *v) {
    switch (v->type) {
    case CHELA_DB_NULL:
        return sqlite3_bind_null(stmt, at);
    case CHELA_DB_INT:
    case CHELA_DB_BOOL:
        return sqlite3_bind_int64(stmt, at, v->integer);
    case CHELA_DB_REAL:
    case CHELA_DB_NUMBER:
        return sqlite3_bind_double(stmt, at, v->real);
    case CHELA_DB_TEXT:
        return sqlite3_bind_text64(stmt, at, v->text, v->length, SQLITE_STATIC, SQLITE_UTF8);
    case CHELA_DB_BLOB:
        return sqlite3_bind_blob64(stmt, at, v->text, v->length, SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
}

static int bind_all(struct run *r, struct chela_error *err) {
    int wanted = sqlite3_bind_parameter_count(r->stmt);

    if ((size_t)wanted != r->q->nparams)
        return ch_fail(err, CHELA_EINVAL,
                       "the query has %d placeholders, but params has %zu values", wanted,
                       r->q->nparams);
    for (int i = 0; i < wanted; i++) {
        int rc = bind_one(r->stmt, i + 1, &r->q->params[i]);
        if (rc != SQLITE_OK)
            return sqlite_explain(r, rc, err);
    }
    return 0;
}

static struct chela_db_value sqlite_value_of(sqlite3_stmt *stmt, int i) {
    struct chela_db_value v = {.type = CHELA_DB_NULL};

    switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_INTEGER:
        v.type = CHELA_DB_INT;
        v.integer = sqlite3_column_int64(stmt, i);
        break;
    case SQLITE_FLOAT:
        v.type = CHELA_DB_REAL;
        v.real = sqlite3_column_double(stmt, i);
        break;
    case SQLITE_TEXT:
        v.type = CHELA_DB_TEXT;
        v.text = (const char *)sqlite3_column_text(stmt, i);
        v.length = (size_t)sqlite3_column_bytes(stmt, i);
        break;
    case SQLITE_BLOB:
        v.type = CHELA_DB_BLOB;
        v.text = sqlite3_column_blob(stmt, i);
        v.length = (size_t)sqlite3_column_bytes(stmt, i);
        break;
    }
    return v;
}

static void sqlite_tell_columns(const struct run *r, size_t n) {
    CH_AUTOFREE const char **names = ch_malloc((n + 1) * sizeof(*names));

    for (size_t i = 0; i < n; i++)
        names[i] = sqlite3_column_name(r->stmt, (int)i);
    r->q->columns(names, n, r->q->user);
}

static void tell_row(const struct run *r, struct chela_db_value *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        values[i] = sqlite_value_of(r->stmt, (int)i);
    r->q->row(values, n, r->q->user);
}

/* Rows beyond the last wanted one are only counted. On a timeout the total is reported as
 * "more", and the rows delivered so far remain valid. */
static int step_all(struct run *r, struct chela_db_outcome *out, struct chela_error *err) {
    size_t n = (size_t)sqlite3_column_count(r->stmt);
    CH_AUTOFREE struct chela_db_value *values = ch_malloc((n + 1) * sizeof(*values));
    int rc;

    sqlite_tell_columns(r, n);
    while ((rc = sqlite3_step(r->stmt)) == SQLITE_ROW && r->rows < r->q->max_count)
        if (r->rows++ < r->q->max_rows)
            tell_row(r, values, n);
    bool late = r->ended == CHELA_ETIMEOUT && r->rows >= r->q->max_rows;
    if (rc != SQLITE_DONE && rc != SQLITE_ROW && !late)
        return sqlite_explain(r, rc, err);
    out->rows = r->rows;
    out->more = rc == SQLITE_ROW || late;
    return 0;
}

static int sqlite_query(const char *target, const struct chela_db_query *q,
                        struct chela_db_outcome *out, struct chela_error *err) {
    struct chela_error why = {0}, *to = err ? err : &why;
    struct run r = {.q = q,
                    .due = ch_mono_ms(&ch_clock_system) + q->timeout_ms,
                    .memory = sqlite3_memory_used()};

    int rc = sqlite_open_file(&r, target, to);
    if (rc == 0)
        rc = sqlite_prepare(&r, to);
    if (rc == 0)
        rc = bind_all(&r, to);
    if (rc == 0)
        rc = step_all(&r, out, to);
    sqlite3_finalize(r.stmt);
    sqlite3_close(r.db);
    return rc;
}

static const struct chela_database_ops ops = {.name = "sqlite", .query = sqlite_query};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "sqlite", "database", &ops};

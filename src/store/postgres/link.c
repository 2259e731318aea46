/* link.c -- see link.h.
 *
 * libpq is used asynchronously, so that every wait is bounded. The connection
 * is closed if an answer takes longer than CH_LIMIT_STORE_ANSWER_MS, and a call
 * ends CH_LIMIT_STORE_CALL_MS after it began, whatever the server does. There
 * is no state between transactions: nothing is prepared, and settings are local
 * to a transaction, so a connection pooler may be used. */
#include "store/postgres/link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/postgres/db.h"

#define PAUSE_MS 50 /* before the second attempt; doubled each time, up to */
#define PAUSE_MAX_MS 1000

enum { INT8_OID = 20, TEXT_OID = 25 };
enum { AS_TEXT = 0, AS_BYTES = 1 };

static int64_t postgres_link_now(void) {
    return ch_mono_ms(&ch_clock_system);
}

void ch_pg_start(struct chela_store_db *db) {
    db->due = postgres_link_now() + CH_LIMIT_STORE_CALL_MS;
}

void ch_pg_drop(struct chela_store_db *db) {
    PQfinish(db->conn);
    db->conn = NULL;
    db->hears = false;
}

bool ch_pg_try_again(struct chela_store_db *db, unsigned attempt) {
    int64_t ms = attempt < 5 ? PAUSE_MS << attempt : PAUSE_MAX_MS;

    if (!db->again || postgres_link_now() + ms >= db->due)
        return false;
    poll(NULL, 0, (int)ms);
    return true;
}

/* --- errors ------------------------------------------------------------------ */

static const struct {
    const char *state; /* SQLSTATE, or the start of it */
    int code;
    bool again;
} states[] = {
    {"08", CHELA_ENET, true},      /* connection_exception */
    {"40", CHELA_EBUSY, true},     /* deadlock_detected, serialization_failure */
    {"57P", CHELA_ENET, true},     /* shutting down, starting up, crashed */
    {"25P03", CHELA_ENET, true},   /* idle_in_transaction_session_timeout */
    {"57014", CHELA_EBUSY, false}, /* statement_timeout */
    {"55P03", CHELA_EBUSY, false}, /* lock_timeout */
    {"53300", CHELA_EBUSY, true},  /* too_many_connections */
    {"53", CHELA_ELIMIT, false},   /* disk full, out of memory */
    {"54", CHELA_ELIMIT, false},   {"25006", CHELA_EPERM, false}, {"42501", CHELA_EPERM, false},
    {"28", CHELA_EAUTH, false},    {"3D", CHELA_ENOENT, false},   {"42P0", CHELA_EPROTO, false},
    {"42703", CHELA_EPROTO, false}, {"XX001", CHELA_EPARSE, false}, {"XX002", CHELA_EPARSE, false},
};

static int postgres_link_code_of(const char *state, bool *again) {
    for (size_t i = 0; state && i < CH_LEN(states); i++)
        if (strncmp(state, states[i].state, strlen(states[i].state)) == 0) {
            *again = states[i].again;
            return states[i].code;
        }
    *again = false;
    return CHELA_EIO;
}

/* Fail with libpq's message, reduced to one line. */
static int postgres_link_lost(struct chela_store_db *db, struct chela_error *err) {
    const char *text = db->conn ? PQerrorMessage(db->conn) : "no connection";
    int rc = ch_fail(err, CHELA_ENET, "store %s: the connection was lost: %.*s", db->shown,
                     (int)strcspn(text, "\n"), text);

    db->again = true;
    ch_pg_drop(db);
    return rc;
}

static int postgres_link_explain(struct chela_store_db *db, const PGresult *res,
                                 struct chela_error *err) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    if (!state) /* an error of libpq, not of the server */
        return postgres_link_lost(db, err);
    int code = postgres_link_code_of(state, &db->again);
    ch_fail(err, code, "store %s: %s", db->shown, text ? text : state);
    if (code == CHELA_ENET)
        ch_pg_drop(db);
    return code;
}

/* In this version of libpq a failure to connect has no SQLSTATE. */
static int postgres_link_explain_connect(struct chela_store_db *db, struct chela_error *err) {
    const char *text = PQerrorMessage(db->conn);
    bool auth = strstr(text, "authentication") || strstr(text, "no password") ||
                (strstr(text, "role \"") && strstr(text, "does not exist"));
    bool absent = !auth && strstr(text, "database \"") && strstr(text, "does not exist");
    int code = auth ? CHELA_EAUTH : absent ? CHELA_ENOENT : CHELA_ENET;

    ch_fail(err, code, "store %s: %.*s", db->shown, (int)strcspn(text, "\n"), text);
    db->again = code == CHELA_ENET;
    db->starting = strstr(text, "starting up") || strstr(text, "in recovery mode") ||
                   strstr(text, "not yet accepting connections");
    ch_pg_drop(db);
    return code;
}

/* --- waiting ------------------------------------------------------------------ */

/* Wait until the socket is ready: 0, or the connection is closed and an error
 * returned. */
static int postgres_link_await(struct chela_store_db *db, short events, int64_t until,
                               struct chela_error *err) {
    struct pollfd p = {.fd = PQsocket(db->conn), .events = events};

    for (;;) {
        int64_t ms = CH_MIN(until, db->due) - postgres_link_now();
        int n = ms > 0 ? poll(&p, 1, (int)ms) : 0;
        if (n > 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        ch_pg_drop(db);
        db->again = true;
        return ch_fail(err, CHELA_ENET, "store %s: the server does not answer", db->shown);
    }
}

/* Wait until the next result is available. */
static int postgres_link_receive(struct chela_store_db *db, struct chela_error *err) {
    int64_t until = postgres_link_now() + CH_LIMIT_STORE_ANSWER_MS;
    int unsent;

    while ((unsent = PQflush(db->conn)) > 0 || PQisBusy(db->conn)) {
        int rc = postgres_link_await(db, unsent > 0 ? POLLIN | POLLOUT : POLLIN, until, err);
        if (rc < 0)
            return rc;
        if (!PQconsumeInput(db->conn))
            return postgres_link_lost(db, err);
    }
    return unsent < 0 ? postgres_link_lost(db, err) : 0;
}

static void postgres_link_hush(void *user, const PGresult *notice) {
    (void)user, (void)notice; /* "already exists, skipping": a library prints nothing */
}

int ch_pg_connect(struct chela_store_db *db, struct chela_error *err) {
    /* Parameters after dbname override those of the URL. */
    static const char *const keys[] = {"tcp_user_timeout", "fallback_application_name", "dbname",
                                       "client_encoding", NULL};
    const char *const values[] = {"15000", "chela", db->url, "UTF8", NULL};
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    int64_t until = postgres_link_now() + CH_LIMIT_STORE_ANSWER_MS;

    if (db->conn)
        return 0;
    db->conn = PQconnectStartParams(keys, values, 1);
    if (!db->conn || PQstatus(db->conn) == CONNECTION_BAD)
        return postgres_link_explain_connect(db, err);
    PQsetNoticeReceiver(db->conn, postgres_link_hush, NULL);
    while (state != PGRES_POLLING_OK) {
        int rc =
            postgres_link_await(db, state == PGRES_POLLING_WRITING ? POLLOUT : POLLIN, until, err);
        if (rc < 0)
            return rc;
        state = PQconnectPoll(db->conn);
        if (state == PGRES_POLLING_FAILED)
            return postgres_link_explain_connect(db, err);
    }
    return PQsetnonblocking(db->conn, 1) == 0 ? 0 : postgres_link_lost(db, err);
}

/* --- statements ---------------------------------------------------------------- */

static bool went_well(const PGresult *res) {
    ExecStatusType status = PQresultStatus(res);

    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
           status == PGRES_SINGLE_TUPLE;
}

/* Receive all results: the last one, or the first failure. */
static int postgres_link_collect(struct chela_store_db *db, PGresult **out,
                                 struct chela_error *err) {
    PGresult *kept = NULL, *next;
    int rc = postgres_link_receive(db, err);

    while (rc == 0 && (next = PQgetResult(db->conn))) {
        if (!kept || went_well(kept)) {
            PQclear(kept);
            kept = next;
        } else {
            PQclear(next);
        }
        rc = postgres_link_receive(db, err);
    }
    if (rc == 0 && !kept)
        rc = postgres_link_lost(db, err);
    if (rc == 0 && !went_well(kept))
        rc = postgres_link_explain(db, kept, err);
    if (rc == 0 && out)
        *out = kept;
    else
        PQclear(kept);
    return rc;
}

static void put_int64(char *to, int64_t v) { /* in network byte order */
    for (int i = 0; i < 8; i++)
        to[i] = (char)((uint64_t)v >> (56 - 8 * i) & 0xff);
}

static int postgres_link_send(struct chela_store_db *db, const char *sql,
                              const struct ch_pg_arg *args, size_t n, struct chela_error *err) {
    CH_AUTOFREE const char **values = ch_alloc((n + 1) * sizeof(*values));
    CH_AUTOFREE int *lengths = ch_alloc((n + 1) * sizeof(*lengths));
    CH_AUTOFREE int *formats = ch_alloc((n + 1) * sizeof(*formats));
    CH_AUTOFREE Oid *types = ch_alloc((n + 1) * sizeof(*types));
    CH_AUTOFREE char *numbers = ch_malloc(8 * (n + 1));

    if (!db->conn)
        return postgres_link_lost(db, err);
    for (size_t i = 0; i < n; i++) {
        put_int64(numbers + 8 * i, args[i].number);
        values[i] = args[i].is_number ? numbers + 8 * i : args[i].p;
        lengths[i] = args[i].is_number ? 8 : (int)args[i].n;
        formats[i] = AS_BYTES;
        types[i] = args[i].is_number ? INT8_OID : TEXT_OID;
    }
    bool sent = PQsendQueryParams(db->conn, sql, (int)n, types, values, lengths, formats, AS_TEXT);
    return sent ? 0 : postgres_link_lost(db, err);
}

int ch_pg_query(struct chela_store_db *db, const char *sql, const struct ch_pg_arg *args, size_t n,
                PGresult **out, struct chela_error *err) {
    int rc = postgres_link_send(db, sql, args, n, err);

    return rc == 0 ? postgres_link_collect(db, out, err) : rc;
}

int ch_pg_script(struct chela_store_db *db, const char *sql, long *count,
                 struct chela_error *err) {
    PGresult *res;

    if (!db->conn || !PQsendQuery(db->conn, sql))
        return postgres_link_lost(db, err);
    int rc = postgres_link_collect(db, &res, err);
    if (rc < 0)
        return rc;
    if (count)
        *count = strtol(PQcmdTuples(res), NULL, 10);
    PQclear(res);
    return 0;
}

/* --- rows ------------------------------------------------------------------------- */

int ch_pg_walk(struct chela_store_db *db, const char *sql, const struct ch_pg_arg *args, size_t n,
               ch_pg_row_fn *fn, void *user, struct chela_error *err) {
    int rc = postgres_link_send(db, sql, args, n, err);
    PGresult *res;

    if (rc == 0 && !PQsetSingleRowMode(db->conn))
        return postgres_link_lost(db, err);
    while (rc == 0 && (rc = postgres_link_receive(db, err)) == 0 && (res = PQgetResult(db->conn))) {
        bool stop = false;
        if (!went_well(res))
            rc = postgres_link_explain(db, res, err);
        else if (PQntuples(res) == 1)
            stop = fn(res, user);
        PQclear(res);
        if (stop || rc < 0) {
            ch_pg_drop(db);
            break;
        }
    }
    return rc;
}

int64_t ch_pg_int(const PGresult *res, int column) {
    return strtoll(PQgetvalue(res, 0, column), NULL, 10);
}

/* postgres.c -- the module libchela-postgres.so: one query of a PostgreSQL server.
 *
 * The model's text is sent as the body of DECLARE CURSOR, in the extended protocol, inside
 * a READ ONLY transaction. Therefore the server's grammar accepts only one SELECT, VALUES,
 * TABLE or WITH (no COPY, DO, SET, CALL, EXPLAIN ANALYZE, no second statement), and the
 * transaction cannot change a table. FETCH and MOVE limit the transferred data: rows that
 * are only counted stay on the server. All settings are local to the transaction, because a
 * pooler may give the connection to another client afterwards.
 *
 * Not prevented: functions with side effects that the role may call (dblink, pg_notify,
 * pg_terminate_backend, pg_read_file, lo_export of a superuser), because the server does
 * not treat them as changes of the database. Operators should use a role with only the
 * necessary read permissions.
 *
 * Operations are asynchronous, so that a query can be cancelled and a slow network cannot
 * block a thread past its deadline. Exceptions are the look-up of the host name and the
 * request to cancel, in which libpq blocks the worker thread. */
#include <libpq-fe.h>

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "chela/sys/database.h"
#include "chela/sys/module.h"

#define LOOK_MS 50 /* interval of checks for cancellation */

struct run {
    PGconn *conn; /* owned */
    const struct chela_db_query *q;
    int64_t due;
};

static int64_t left(const struct run *r) {
    return r->due - ch_mono_ms(&ch_clock_system);
}

/* --- errors ------------------------------------------------------------------ */

static const struct {
    const char *state; /* SQLSTATE or a prefix of it */
    int code;
} codes[] = {
    {"25006", CHELA_EPERM}, /* read_only_sql_transaction */
    {"42501", CHELA_EPERM}, {"57014", CHELA_ETIMEOUT}, {"28", CHELA_EAUTH},  {"3D", CHELA_ENOENT},
    {"55P03", CHELA_EBUSY}, {"53", CHELA_EBUSY},       {"57P", CHELA_EBUSY}, {"08", CHELA_ENET},
    {"54", CHELA_ELIMIT},   {"58", CHELA_EIO},         {"XX", CHELA_EIO},
};

static int postgres_code_of(const char *state) {
    for (size_t i = 0; state && i < CH_LEN(codes); i++)
        if (strncmp(state, codes[i].state, strlen(codes[i].state)) == 0)
            return codes[i].code;
    return CHELA_EINVAL;
}

static int late(const struct run *r, struct chela_error *err) {
    return ch_fail(err, CHELA_ETIMEOUT, "the query took longer than %.3g seconds",
                   (double)r->q->timeout_ms / 1000);
}

/* Convert the server's error. Its position refers to the wrapped statement, so only the
 * message is passed on. */
static int postgres_explain(const struct run *r, const PGresult *res, struct chela_error *err) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
    const char *hint = PQresultErrorField(res, PG_DIAG_MESSAGE_HINT);
    int code = postgres_code_of(state);

    if (code == CHELA_ETIMEOUT)
        return late(r, err);
    if (state && strcmp(state, "42601") == 0)
        hint = "Only one SELECT, VALUES, TABLE or WITH statement works here.";
    return ch_fail(err, code, "%s%s%s", text ? text : PQerrorMessage(r->conn), hint ? ". " : "",
                   hint ? hint : "");
}

static int postgres_broken(const struct run *r, struct chela_error *err) {
    return ch_fail(err, CHELA_ENET, "%s", PQerrorMessage(r->conn));
}

/* --- waiting ------------------------------------------------------------------ */

/* True if the server sent too many bytes. libpq buffers a row as a whole, however large, so
 * the bytes received are read from the socket. (A Unix socket does not count: see
 * docs/internals/webtools.md.) */
static bool too_much(const struct run *r) {
    struct tcp_info info = {0};
    socklen_t n = sizeof(info);

    if (getsockopt(PQsocket(r->conn), IPPROTO_TCP, TCP_INFO, &info, &n) < 0 ||
        n < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received))
        return false;
    return info.tcpi_bytes_received > CH_LIMIT_SQL_MEMORY;
}

/* Ask the server to cancel the running statement; closing the connection does not cancel
 * it. */
static void call_off(const struct run *r) {
    PGcancel *cancel = PQstatus(r->conn) == CONNECTION_OK ? PQgetCancel(r->conn) : NULL;
    char ignored[256];

    if (cancel)
        PQcancel(cancel, ignored, sizeof(ignored));
    PQfreeCancel(cancel);
}

/* Wait a short time until the socket is readable (or writable): 1 if ready, 0 if not yet. */
static int postgres_await(const struct run *r, bool writable, struct chela_error *err) {
    struct pollfd p = {.fd = PQsocket(r->conn), .events = writable ? POLLOUT : POLLIN};

    if (r->q->stop && r->q->stop(r->q->user)) {
        call_off(r);
        return ch_fail(err, CHELA_ECANCELED, "the query was cancelled");
    }
    int64_t ms = left(r);
    if (ms <= 0) {
        call_off(r);
        return late(r, err);
    }
    int n = poll(&p, 1, (int)CH_MIN(ms, LOOK_MS));
    if (n < 0 && errno != EINTR)
        return ch_fail(err, CHELA_ENET, "poll: %s", strerror(errno));
    return n > 0;
}

static int postgres_receive(const struct run *r, struct chela_error *err) {
    while (PQflush(r->conn) > 0 || PQisBusy(r->conn)) {
        int rc = postgres_await(r, PQflush(r->conn) > 0, err);
        if (rc < 0)
            return rc;
        if (!PQconsumeInput(r->conn))
            return postgres_broken(r, err);
        if (PQisBusy(r->conn) && too_much(r)) {
            call_off(r);
            return ch_fail(err, CHELA_ELIMIT, "the rows are larger than %zu MB; select less",
                           CH_LIMIT_SQL_MEMORY / CH_MB);
        }
    }
    return 0;
}

/* --- statements ---------------------------------------------------------------- */

/* Read all results of the statement; the first one decides. */
static int postgres_collect(const struct run *r, PGresult **out, struct chela_error *err) {
    PGresult *first = NULL, *next;
    int rc = postgres_receive(r, err);

    while (rc == 0 && (next = PQgetResult(r->conn))) {
        if (first)
            PQclear(next);
        else
            first = next;
        rc = postgres_receive(r, err);
    }
    ExecStatusType status = PQresultStatus(first); /* for NULL: fatal */
    if (rc == 0 && !first)
        rc = postgres_broken(r, err);
    else if (rc == 0 && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        rc = postgres_explain(r, first, err);
    if (rc < 0)
        PQclear(first);
    else
        *out = first;
    return rc;
}

/* Run one statement in the extended protocol, which rejects several statements in one text. */
static int run_statement(const struct run *r, const char *sql, const char *const *params, size_t n,
                         PGresult **out, struct chela_error *err) {
    if (!PQsendQueryParams(r->conn, sql, (int)n, NULL, params, NULL, NULL, 0))
        return postgres_broken(r, err);
    return postgres_collect(r, out, err);
}

static int postgres_command(const struct run *r, const char *sql, struct chela_error *err) {
    PGresult *res;
    int rc = run_statement(r, sql, NULL, 0, &res, err);

    if (rc == 0)
        PQclear(res);
    return rc;
}

/* --- connecting ------------------------------------------------------------------ */

static int postgres_explain_connect(const struct run *r, struct chela_error *err) {
    const char *text = PQerrorMessage(r->conn);
    bool auth = strstr(text, "authentication") || strstr(text, "no password");
    bool absent = strstr(text, "database \"") && strstr(text, "does not exist");

    return ch_fail(err, auth ? CHELA_EAUTH : absent ? CHELA_ENOENT : CHELA_ENET, "%s", text);
}

static int open_connection(struct run *r, const char *url, struct chela_error *err) {
    /* Keywords after dbname override the URL. */
    static const char *const keys[] = {"tcp_user_timeout", "dbname", "client_encoding",
                                       "fallback_application_name", NULL};
    const char *const values[] = {"10000", url, "UTF8", "chela", NULL};
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;

    r->conn = PQconnectStartParams(keys, values, 1);
    if (!r->conn || PQstatus(r->conn) == CONNECTION_BAD)
        return postgres_explain_connect(r, err);
    while (state != PGRES_POLLING_OK) {
        int rc = postgres_await(r, state == PGRES_POLLING_WRITING, err);
        if (rc < 0)
            return rc;
        if (rc > 0) /* PQconnectPoll may only be called when the socket is ready */
            state = PQconnectPoll(r->conn);
        if (state == PGRES_POLLING_FAILED)
            return postgres_explain_connect(r, err);
    }
    return PQsetnonblocking(r->conn, 1) == 0 ? 0 : postgres_broken(r, err);
}

static int postgres_begin(const struct run *r, struct chela_error *err) {
    CH_BUF_AUTO timeout = {0};

    ch_buf_addf(&timeout, "SET LOCAL statement_timeout = %lld", (long long)CH_MAX(left(r), 1));
    int rc = postgres_command(r, "BEGIN TRANSACTION READ ONLY", err);
    if (rc == 0)
        rc = postgres_command(r, ch_buf_str(&timeout), err);
    return rc;
}

static int declare(const struct run *r, struct chela_error *err) {
    const struct chela_db_query *q = r->q;
    CH_AUTOFREE const char **params = ch_alloc((q->nparams + 1) * sizeof(*params));
    CH_BUF_AUTO sql = {0};
    PGresult *res;

    for (size_t i = 0; i < q->nparams; i++)
        params[i] = q->params[i].type == CHELA_DB_NULL ? NULL : q->params[i].text;
    ch_buf_addf(&sql, "DECLARE chela NO SCROLL CURSOR FOR\n%s", q->sql);
    int rc = run_statement(r, ch_buf_str(&sql), params, q->nparams, &res, err);
    if (rc == 0)
        PQclear(res);
    return rc;
}

/* --- rows --------------------------------------------------------------------------- */

enum { BOOL_OID = 16, INT8_OID = 20, INT2_OID = 21, INT4_OID = 23, OID_OID = 26 };
enum { FLOAT4_OID = 700, FLOAT8_OID = 701, NUMERIC_OID = 1700 };

/* NaN and Infinity are not JSON numbers. */
static bool postgres_is_number(Oid type, const char *text) {
    bool numeric = type == INT8_OID || type == INT2_OID || type == INT4_OID || type == OID_OID ||
                   type == FLOAT4_OID || type == FLOAT8_OID || type == NUMERIC_OID;
    text += *text == '-';
    return numeric && *text >= '0' && *text <= '9';
}

static struct chela_db_value postgres_value_of(const PGresult *res, int row, int i) {
    struct chela_db_value v = {.type = CHELA_DB_NULL};

    if (PQgetisnull(res, row, i))
        return v;
    v.text = PQgetvalue(res, row, i);
    v.length = (size_t)PQgetlength(res, row, i);
    v.integer = v.text[0] == 't';
    v.type = PQftype(res, i) == BOOL_OID                   ? CHELA_DB_BOOL
             : postgres_is_number(PQftype(res, i), v.text) ? CHELA_DB_NUMBER
                                                           : CHELA_DB_TEXT;
    return v;
}

static void postgres_tell_columns(const struct run *r, const PGresult *res) {
    size_t n = (size_t)PQnfields(res);
    CH_AUTOFREE const char **names = ch_malloc((n + 1) * sizeof(*names));

    for (size_t i = 0; i < n; i++)
        names[i] = PQfname(res, (int)i);
    r->q->columns(names, n, r->q->user);
}

static void tell_rows(const struct run *r, const PGresult *res) {
    size_t n = (size_t)PQnfields(res);
    CH_AUTOFREE struct chela_db_value *values = ch_malloc((n + 1) * sizeof(*values));

    for (int row = 0; row < PQntuples(res); row++) {
        for (size_t i = 0; i < n; i++)
            values[i] = postgres_value_of(res, row, (int)i);
        r->q->row(values, n, r->q->user);
    }
}

static int postgres_fetch(const struct run *r, struct chela_db_outcome *out,
                          struct chela_error *err) {
    CH_BUF_AUTO sql = {0};
    PGresult *res;

    ch_buf_addf(&sql, "FETCH FORWARD %zu FROM chela", r->q->max_rows);
    int rc = run_statement(r, ch_buf_str(&sql), NULL, 0, &res, err);
    if (rc < 0)
        return rc;
    postgres_tell_columns(r, res);
    tell_rows(r, res);
    out->rows = (uint64_t)PQntuples(res);
    PQclear(res);
    return 0;
}

/* Skip the remaining rows, up to one more than the count limit. On a timeout the total is
 * reported as "more", and the rows fetched so far remain valid. */
static int postgres_count(const struct run *r, struct chela_db_outcome *out,
                          struct chela_error *err) {
    CH_BUF_AUTO sql = {0};
    PGresult *res;

    if (out->rows < r->q->max_rows)
        return 0;
    uint64_t most = r->q->max_count - CH_MIN(r->q->max_count, out->rows);
    ch_buf_addf(&sql, "MOVE FORWARD %llu IN chela", (unsigned long long)most + 1);
    int rc = run_statement(r, ch_buf_str(&sql), NULL, 0, &res, err);
    if (rc == CHELA_ETIMEOUT) {
        out->more = 1;
        return 0;
    }
    if (rc < 0)
        return rc;
    uint64_t moved = strtoull(PQcmdTuples(res), NULL, 10);
    out->rows += CH_MIN(moved, most);
    out->more = moved > most;
    PQclear(res);
    return 0;
}

static void postgres_hush(void *user, const PGresult *res) {
    (void)user, (void)res; /* suppress notices, which libpq would write to standard error */
}

static int postgres_query(const char *target, const struct chela_db_query *q,
                          struct chela_db_outcome *out, struct chela_error *err) {
    struct run r = {.q = q, .due = ch_mono_ms(&ch_clock_system) + q->timeout_ms};
    struct chela_error why = {0}, *to = err ? err : &why;

    int rc = open_connection(&r, target, to);
    if (rc == 0) {
        PQsetNoticeReceiver(r.conn, postgres_hush, NULL);
        rc = postgres_begin(&r, to);
    }
    if (rc == 0)
        rc = declare(&r, to);
    if (rc == 0)
        rc = postgres_fetch(&r, out, to);
    if (rc == 0)
        rc = postgres_count(&r, out, to);
    PQfinish(r.conn); /* also ends the transaction */
    return rc;
}

static const struct chela_database_ops ops = {.name = "postgres", .query = postgres_query};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "postgres", "database", &ops};

/* db.h -- the parts of libchela-store-postgres.so share one connection.
 *
 * Everything is in the schema `chela` of the database that the URL names:
 * `format` (the version), `sessions`, `records`, `inbox`, `outbox`, and
 * `writers`, where each open store notes the number of its newest transaction.
 * Times are milliseconds; those of leases are of the server's clock. */
#ifndef CH_STORE_POSTGRES_DB_H
#define CH_STORE_POSTGRES_DB_H
#include <libpq-fe.h>
#include <stdbool.h>
#include <string.h>

#include "chela/sys/store.h"

struct chela_store_db {
    PGconn *conn; /* owned; NULL after a loss, until the next call */
    char *url;    /* owned; may hold a password */
    char *shown;  /* owned: the same for messages, without it */
    bool read_only;
    bool again;      /* the last failure may pass: worth another attempt */
    bool starting;   /* the server says that it is not ready yet */
    char id[33];     /* in `writers` */
    uint64_t number; /* of the newest transaction */
    int64_t skew;    /* add it to our time to get the server's, ms */
    int64_t due;     /* monotonic: when the call under way gives up */
};

/* A parameter of a statement; text may be NULL. */
struct ch_pg_arg {
    const char *p; /* borrowed */
    size_t n;
    int64_t number;
    bool is_number;
};

static inline struct ch_pg_arg ch_pg_data(const char *p, size_t n) {
    return (struct ch_pg_arg){.p = p ? p : "", .n = n};
}
static inline struct ch_pg_arg ch_pg_text(const char *text) {
    return (struct ch_pg_arg){.p = text, .n = text ? strlen(text) : 0};
}
static inline struct ch_pg_arg ch_pg_number(int64_t number) {
    return (struct ch_pg_arg){.number = number, .is_number = true};
}

/* --- link.c: one connection, and no wait without an end */
void ch_pg_start(struct chela_store_db *db); /* a call begins: set due */
int ch_pg_connect(struct chela_store_db *db, struct chela_error *err);
void ch_pg_drop(struct chela_store_db *db);
/* May the failed call be tried once more? Waits a little first. */
bool ch_pg_try_again(struct chela_store_db *db, unsigned attempt);
/* One statement; *out, unless out is NULL, is the caller's to PQclear. */
int ch_pg_query(struct chela_store_db *db, const char *sql, const struct ch_pg_arg *args, size_t n,
                PGresult **out, struct chela_error *err);
/* Several statements without parameters; *count, unless NULL: the rows that the
 * last one changed. */
int ch_pg_script(struct chela_store_db *db, const char *sql, long *count, struct chela_error *err);
/* Rows one by one, whatever their number; fn returns non-zero to stop. */
typedef int ch_pg_row_fn(const PGresult *row, void *user);
int ch_pg_walk(struct chela_store_db *db, const char *sql, const struct ch_pg_arg *args, size_t n,
               ch_pg_row_fn *fn, void *user, struct chela_error *err);
int64_t ch_pg_int(const PGresult *res, int row, int column);

/* --- db.c: the database, and transactions in it */
int ch_pg_open(const char *target, int read_only, struct chela_store_db **out, const char **note,
               struct chela_error *err);
void ch_pg_close(struct chela_store_db *db);
/* body may run more than once; what it did counts once. */
int ch_pg_transact(struct chela_store_db *db, bool sync,
                   int (*body)(struct chela_store_db *db, void *user, struct chela_error *err),
                   void *user, struct chela_error *err);
/* Learn how far the server's clock is from ours. */
int ch_pg_set_clock(struct chela_store_db *db, struct chela_error *err);
int64_t ch_pg_server_time(const struct chela_store_db *db, int64_t ours);

/* --- change.c */
int ch_pg_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n, int sync,
                 struct chela_error *err);
int ch_pg_open_session(struct chela_store_db *db, const struct chela_store_claim *claim,
                       chela_store_session_fn *fn, void *user, struct chela_error *err);

/* --- read.c */
#define CH_PG_COLUMNS                                                                       \
    "key, agent, title, status, parent, created, updated, last, needed, turns, messages, " \
    "owner, token, until"
struct ch_pg_reading {
    const char *sql;
    const struct ch_pg_arg *args;
    size_t nargs;
    ch_pg_row_fn *row;
    void *user;
};
/* A walk in a transaction of its own; *seen: rows that were handed on. */
int ch_pg_read(struct chela_store_db *db, const struct ch_pg_reading *r, const size_t *seen,
               struct chela_error *err);
struct chela_store_session ch_pg_session_of(const struct chela_store_db *db, const PGresult *res);
int ch_pg_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                  void *user, struct chela_error *err);
int ch_pg_list(struct chela_store_db *db, const struct chela_store_filter *filter,
               chela_store_session_fn *fn, void *user, struct chela_error *err);
int ch_pg_records(struct chela_store_db *db, const char *key, uint64_t from,
                  chela_store_record_fn *fn, void *user, struct chela_error *err);
int ch_pg_items(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                void *user, struct chela_error *err);

/* --- search.c */
int ch_pg_search(struct chela_store_db *db, const struct chela_store_query *q,
                 chela_store_hit_fn *fn, void *user, struct chela_error *err);

#endif

/* db.h -- the connection shared by the files of libchela-store-postgres.so.
 *
 * All tables are in the schema `chela` of the URL's database: `format` (the
 * version), `identity`, `sessions`, `records`, `inbox`, `outbox`, and `writers`, where each
 * open store records the number of its newest transaction. Times are
 * milliseconds; times of leases are of the server's clock. */
#ifndef CH_STORE_POSTGRES_DB_H
#define CH_STORE_POSTGRES_DB_H
#include <libpq-fe.h>
#include <stdbool.h>
#include <string.h>

#include "chela/sys/store.h"

struct chela_store_db {
    PGconn *conn; /* owned; NULL after a lost connection, until the next call */
    char *url;    /* owned; may hold a password */
    char *shown;  /* owned: the URL for messages, without the password */
    bool read_only;
    bool hears; /* the connection listens for news */
    int64_t version; /* version of the format, when the store was opened */
    bool again;      /* the last failure may be temporary: worth a retry */
    bool starting;   /* the server reports that it is not ready yet */
    char id[33];     /* this writer's id in `writers` */
    char store[40];  /* identity of the database; "": opened for reading only */
    int64_t epoch;
    uint64_t durable; /* number of the newest transaction that survives the death of the server */
    bool lost;        /* the database was found to be another one: this is final */
    char *owner;     /* owned: of the leases that this store took; NULL: none yet */
    uint64_t number; /* number of the newest transaction */
    int64_t skew;    /* server time minus local time, ms */
    int64_t due;     /* monotonic: when the current call gives up */
    int64_t wary;    /* monotonic: until then rows may be locked for long */
    int lock_ms;     /* time that the current transaction waits for a lock */
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

/* Called for each row; returns non-zero to stop. Rows are not collected in
 * memory. */
typedef int ch_pg_row_fn(const PGresult *row, void *user);

int ch_pg_open(const char *target, int read_only, struct chela_store_db **out, const char **note,
               struct chela_error *err);
void ch_pg_close(struct chela_store_db *db);
/* body may run more than once; its changes take effect once. */
int ch_pg_transact(struct chela_store_db *db, bool sync,
                   int (*body)(struct chela_store_db *db, void *user, struct chela_error *err),
                   void *user, struct chela_error *err);
/* See the vtable. */
int ch_pg_identity(struct chela_store_db *db, int raise, struct chela_store_identity *inout,
                   struct chela_error *err);
/* See the vtable: plain VACUUM of the tables. */
int ch_pg_purge(struct chela_store_db *db, int whole, const char **remains,
                struct chela_error *err);
/* Examines whether the database is still the one that was opened: CHELA_EPROTO. */
int ch_pg_verify(struct chela_store_db *db, struct chela_error *err);
/* Was a row locked for long a short while ago? Then transactions wait less for locks. */
bool ch_pg_is_wary(const struct chela_store_db *db);
void ch_pg_set_wary(struct chela_store_db *db);
/* Measure the difference between the server's clock and the local one. */
int ch_pg_set_clock(struct chela_store_db *db, struct chela_error *err);
int64_t ch_pg_server_time(const struct chela_store_db *db, int64_t ours);
int64_t ch_pg_local_time(const struct chela_store_db *db, int64_t theirs);

#define CH_PG_COLUMNS                                                                       \
    "key, agent, title, status, parent, created, updated, last, needed, turns, messages, " \
    "owner, token, until"
/* The same, for a store that may have an earlier format. */
#define CH_PG_ROW(db) \
    ((db)->version < 7 ? "SELECT " CH_PG_COLUMNS ", 0" : "SELECT " CH_PG_COLUMNS ", base")
struct ch_pg_reading {
    const char *sql;
    const struct ch_pg_arg *args;
    size_t nargs;
    ch_pg_row_fn *row;
    void *user;
};

#endif

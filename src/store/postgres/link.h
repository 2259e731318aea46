/* link.h -- the connection to the server: statements, rows, errors.
 *
 * All functions block, for one caller at a time (chela/sys/store.h). A call of the store begins
 * with ch_pg_start, which sets the time by which the call ends. A function that fails sets
 * db->again if the failure may be temporary; after a lost connection db->conn is NULL, and
 * ch_pg_connect opens a new one. */
#ifndef CH_STORE_POSTGRES_LINK_H
#define CH_STORE_POSTGRES_LINK_H
#include "store/postgres/db.h"

void ch_pg_start(struct chela_store_db *db);
/* Connect, unless the connection is open. */
int ch_pg_connect(struct chela_store_db *db, struct chela_error *err);
/* Close the connection. */
void ch_pg_drop(struct chela_store_db *db);

/* Wait before the call that failed is repeated. False, at once: the call must not be repeated,
 * because the failure will last or too little time is left. */
bool ch_pg_try_again(struct chela_store_db *db, unsigned attempt);

/* Run one statement. *out, unless out is NULL, belongs to the caller (PQclear). */
int ch_pg_query(struct chela_store_db *db, const char *sql, const struct ch_pg_arg *args, size_t n,
                PGresult **out, struct chela_error *err);

/* Run several statements without parameters. *count, unless NULL, receives the
 * number of rows that the last one changed. */
int ch_pg_script(struct chela_store_db *db, const char *sql, long *count, struct chela_error *err);
/* Run a query and pass each row to fn. If fn stops early, the connection is closed instead of
 * reading the remaining rows; the next call opens a new one. */
int ch_pg_walk(struct chela_store_db *db, const char *sql, const struct ch_pg_arg *args, size_t n,
               ch_pg_row_fn *fn, void *user, struct chela_error *err);
/* A number in the first row. */
int64_t ch_pg_int(const PGresult *res, int column);

#endif

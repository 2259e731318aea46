/* read.h -- read rows one by one, each query in a read-only transaction. */
#ifndef CH_STORE_POSTGRES_READ_H
#define CH_STORE_POSTGRES_READ_H
#include "store/postgres/db.h"

/* Run a query in its own transaction; *seen is the number of rows delivered. */
int ch_pg_read(struct chela_store_db *db, const struct ch_pg_reading *r, const size_t *seen,
               struct chela_error *err);
struct chela_store_session ch_pg_session_of(const struct chela_store_db *db, const PGresult *res);
/* Members of struct chela_store_ops (chela/sys/store.h), which states their contracts. */
int ch_pg_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                  void *user, struct chela_error *err);
int ch_pg_list(struct chela_store_db *db, const struct chela_store_filter *filter,
               chela_store_session_fn *fn, void *user, struct chela_error *err);
int ch_pg_records(struct chela_store_db *db, const char *key, uint64_t from,
                  chela_store_record_fn *fn, void *user, struct chela_error *err);
int ch_pg_scan(struct chela_store_db *db, int64_t since, uint64_t types, uint64_t *at,
               chela_store_scan_fn *fn, void *user, struct chela_error *err);

int ch_pg_items(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                void *user, struct chela_error *err);
int ch_pg_waiting(struct chela_store_db *db, const char *key, size_t limit,
                  chela_store_item_fn *fn, void *user, struct chela_error *err);

int ch_pg_kept(struct chela_store_db *db, const char *id, chela_store_item_fn *fn, void *user,
               struct chela_error *err);

#endif

/* read.h -- read rows, delivered one by one. */
#ifndef CH_STORE_SQLITE_READ_H
#define CH_STORE_SQLITE_READ_H
#include "store/sqlite/db.h"

/* Members of struct chela_store_ops (chela/sys/store.h), which states their contracts. */
int ch_sqlite_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                      void *user, struct chela_error *err);

int ch_sqlite_list(struct chela_store_db *db, const struct chela_store_filter *filter,
                   chela_store_session_fn *fn, void *user, struct chela_error *err);

int ch_sqlite_records(struct chela_store_db *db, const char *key, uint64_t from,
                      chela_store_record_fn *fn, void *user, struct chela_error *err);

int ch_sqlite_scan(struct chela_store_db *db, int64_t since, uint64_t types, uint64_t *at,
                   chela_store_scan_fn *fn, void *user, struct chela_error *err);

int ch_sqlite_items(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                    void *user, struct chela_error *err);

int ch_sqlite_waiting(struct chela_store_db *db, const char *key, size_t limit,
                      chela_store_item_fn *fn, void *user, struct chela_error *err);

int ch_sqlite_kept(struct chela_store_db *db, const char *id, chela_store_item_fn *fn, void *user,
                   struct chela_error *err);

#endif

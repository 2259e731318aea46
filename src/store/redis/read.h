/* read.h -- read rows and records, delivered one by one and requested in
 * batches. */
#ifndef CH_STORE_REDIS_READ_H
#define CH_STORE_REDIS_READ_H
#include "store/redis/db.h"

/* token, unless 0, replaces the row's token. */
int ch_redis_row(struct chela_store_db *db, const char *key, uint64_t token,
                 chela_store_session_fn *fn, void *user, struct chela_error *err);

/* Members of struct chela_store_ops (chela/sys/store.h), which states their contracts. */
int ch_redis_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                     void *user, struct chela_error *err);

int ch_redis_list(struct chela_store_db *db, const struct chela_store_filter *filter,
                  chela_store_session_fn *fn, void *user, struct chela_error *err);

int ch_redis_records(struct chela_store_db *db, const char *key, uint64_t from,
                     chela_store_record_fn *fn, void *user, struct chela_error *err);

int ch_redis_items(struct chela_store_db *db, enum chela_store_box box, chela_store_item_fn *fn,
                   void *user, struct chela_error *err);

int ch_redis_waiting(struct chela_store_db *db, const char *key, size_t limit,
                     chela_store_item_fn *fn, void *user, struct chela_error *err);

int ch_redis_kept(struct chela_store_db *db, const char *id, chela_store_item_fn *fn, void *user,
                  struct chela_error *err);

#endif

/* change.h -- write: encode changes for the script, and decode its answers. */
#ifndef CH_STORE_REDIS_CHANGE_H
#define CH_STORE_REDIS_CHANGE_H
#include "store/redis/db.h"

int ch_redis_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                    int sync, struct chela_error *err);

int ch_redis_open_session(struct chela_store_db *db, const struct chela_store_claim *claim,
                          chela_store_session_fn *fn, void *user, struct chela_error *err);

#endif

/* change.h -- write: one transaction with many changes. */
#ifndef CH_STORE_SQLITE_CHANGE_H
#define CH_STORE_SQLITE_CHANGE_H
#include "store/sqlite/db.h"

int ch_sqlite_commit(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                     int sync, struct chela_error *err);

int ch_sqlite_open_session(struct chela_store_db *db, const struct chela_store_claim *claim,
                           chela_store_session_fn *fn, void *user, struct chela_error *err);

#endif

/* search.h -- search the texts of sessions for words. */
#ifndef CH_STORE_SQLITE_SEARCH_H
#define CH_STORE_SQLITE_SEARCH_H
#include "store/sqlite/db.h"

int ch_sqlite_search(struct chela_store_db *db, const struct chela_store_query *q,
                     chela_store_hit_fn *fn, void *user, struct chela_error *err);

#endif

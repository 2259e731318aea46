/* search.h -- search the texts of sessions for words. */
#ifndef CH_STORE_POSTGRES_SEARCH_H
#define CH_STORE_POSTGRES_SEARCH_H
#include "store/postgres/db.h"

int ch_pg_search(struct chela_store_db *db, const struct chela_store_query *q,
                 chela_store_hit_fn *fn, void *user, struct chela_error *err);

#endif

/* search.h -- search the texts of sessions for words. */
#ifndef CH_STORE_SQLITE_SEARCH_H
#define CH_STORE_SQLITE_SEARCH_H
#include "store/sqlite/db.h"

/* Brings a part of the index up to date; see the vtable. */
int ch_sqlite_index(struct chela_store_db *db, const struct chela_store_query *q, uint64_t *at,
                    struct chela_error *err);

/* Remove a session from the index, if there is one. Part of a transaction. */
void ch_sqlite_unindex(struct chela_store_db *db, int64_t session);

/* Free a part of the space that removed sessions left in the index. Part of a transaction.
 * Returns whether something was done. */
bool ch_sqlite_tidy_index(struct chela_store_db *db);

int ch_sqlite_search(struct chela_store_db *db, const struct chela_store_query *q,
                     chela_store_hit_fn *fn, void *user, struct chela_error *err);

#endif

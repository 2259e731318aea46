/* search.h -- find texts of sessions by words or by age, with their turns. */
#ifndef CH_STORE_SEARCH_H
#define CH_STORE_SEARCH_H
#include "store/store.h"

int ch_store_recall(chela_store *store, const struct ch_recall_query *q, ch_recall_fn *fn, void *to,
                    struct chela_error *err);

#endif

/* search.h -- what was said: found by words, or the newest, and in which turn. */
#ifndef CH_STORE_SEARCH_H
#define CH_STORE_SEARCH_H
#include "store/store.h"

int ch_store_recall(chela_store *store, const struct ch_recall_query *q, ch_recall_fn *fn, void *to,
                    struct chela_error *err);

#endif

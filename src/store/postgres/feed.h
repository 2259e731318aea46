/* feed.h -- news of other processes by LISTEN and NOTIFY. */
#ifndef CH_STORE_POSTGRES_FEED_H
#define CH_STORE_POSTGRES_FEED_H
#include "chela/sys/store.h"

#define CH_PG_CHANNEL "chela" /* payload: "i KEY" an event was accepted, "r KEY" a release */

int ch_pg_hear(struct chela_store_db *db, int stop, chela_store_news_fn *fn, void *user,
               struct chela_error *err);

#endif

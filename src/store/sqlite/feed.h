/* feed.h -- news of a file: what other processes put into it. */
#ifndef CH_STORE_SQLITE_FEED_H
#define CH_STORE_SQLITE_FEED_H
#include "chela/sys/store.h"

struct ch_sqlite_feed;

/* See the vtable. */
int ch_sqlite_hear(struct chela_store_db *db, int stop, chela_store_news_fn *fn, void *user,
                   struct chela_error *err);
void ch_sqlite_feed_free(struct ch_sqlite_feed *f); /* NULL is allowed */

#endif

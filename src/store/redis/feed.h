/* feed.h -- news of other processes by PUBLISH and SUBSCRIBE. */
#ifndef CH_STORE_REDIS_FEED_H
#define CH_STORE_REDIS_FEED_H
#include "chela/sys/store.h"

int ch_redis_hear(struct chela_store_db *db, int stop, chela_store_news_fn *fn, void *user,
                  struct chela_error *err);

#endif

/* url.h -- redis://[USER[:PASSWORD]@]HOST[:PORT][/NUMBER][?ttl=30d&...]. */
#ifndef CH_STORE_REDIS_URL_H
#define CH_STORE_REDIS_URL_H
#include "store/redis/db.h"

int ch_redis_url_parse(const char *text, struct ch_redis_url *out, struct chela_error *err);

void ch_redis_url_release(struct ch_redis_url *url);

#endif

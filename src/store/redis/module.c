/* module.c -- libchela-store-redis.so: sessions in a Redis server. */
#include "chela/sys/module.h"
#include "store/redis/change.h"
#include "store/redis/db.h"
#include "store/redis/feed.h"
#include "store/redis/read.h"

static const struct chela_store_ops ops = {
    .name = "redis",
    .flags = CHELA_STORE_SHARED,
    .open = ch_redis_open,
    .close = ch_redis_close,
    .commit = ch_redis_commit,
    .open_session = ch_redis_open_session,
    .session = ch_redis_session,
    .list = ch_redis_list,
    .records = ch_redis_records,
    .items = ch_redis_items,
    .waiting = ch_redis_waiting,
    .hear = ch_redis_hear,
    .kept = ch_redis_kept,
    .identity = ch_redis_identity,
    .purge = ch_redis_purge,
};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "store-redis", "store", &ops};

/* module.c -- libchela-store-postgres.so: sessions in a PostgreSQL database. */
#include "chela/sys/module.h"
#include "store/postgres/change.h"
#include "store/postgres/db.h"
#include "store/postgres/feed.h"
#include "store/postgres/read.h"
#include "store/postgres/search.h"

static const struct chela_store_ops ops = {
    .name = "postgres",
    .flags = CHELA_STORE_LAZY | CHELA_STORE_SHARED,
    .open = ch_pg_open,
    .close = ch_pg_close,
    .commit = ch_pg_commit,
    .open_session = ch_pg_open_session,
    .session = ch_pg_session,
    .list = ch_pg_list,
    .records = ch_pg_records,
    .items = ch_pg_items,
    .waiting = ch_pg_waiting,
    .kept = ch_pg_kept,
    .search = ch_pg_search,
    .hear = ch_pg_hear,
    .scan = ch_pg_scan,
    .identity = ch_pg_identity,
    .purge = ch_pg_purge,
};

CHELA_API const struct chela_module chela_module;
const struct chela_module chela_module = {CHELA_MODULE_ABI, "store-postgres", "store", &ops};
